"""Multi-head attention, in the fastest implementation for each framework."""

from zoo.models.compat.tensors import (  # noqa: I001
    MASKED, PLAIDML, TORCH, causal_mask, concatenate, matmul, module, reshape, shape, softmax, split, transpose,
)  # fmt: skip

if TORCH:
    import torch

# Number of query-key pairs that PyTorch computes at a time without fused attention.
PAIRS_TOGETHER = 2**22


def attention(q, k, v, heads, keep, causal, drop):
    """Apply multi-head attention (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2).

    Args:
        q, k, v: queries (batch, length, width), keys and values (batch, keys, width). The result is like q.
        heads: number of heads; must divide the width.
        keep: (batch, keys) mask, 1 for tokens, 0 for padding; None without padding.
        causal: let each position attend only to itself and earlier positions; needs as many keys as queries.
        drop: function that applies dropout to the attention weights; None without dropout.
    """
    _, length, width = shape(q)
    size = int(width) // heads
    if PLAIDML:
        return _by_head(q, k, v, heads, size, keep, causal, drop)
    if TORCH:
        q, k, v = (each.unflatten(-1, (heads, size)).transpose(1, 2) for each in (q, k, v))
    else:
        q, k, v = (transpose(reshape(each, (-1, shape(each)[1], heads, size)), (0, 2, 1, 3)) for each in (q, k, v))
    fused = TORCH and drop is None and not _faster_by_products(q, k)
    bias = _bias(keep, causal, length, q, fused)
    if fused:
        # A third of the CPU time of the plain products (8 heads of 64, length 1024, PyTorch 2.13, one thread).
        # On JAX, dot_product_attention of Keras 3.15 took 2.4 times as long as these products.
        attend = torch.nn.functional.scaled_dot_product_attention
        attended = attend(q, k, v, attn_mask=bias, is_causal=causal and bias is None)
    elif TORCH and drop is None:
        attended = _some_at_a_time(q * (size**-0.5), k, v, bias)
    else:
        attended = _by_products(q * (size**-0.5), k, v, bias, drop)
    if TORCH:
        return attended.transpose(1, 2).flatten(2)
    return reshape(transpose(attended, (0, 2, 1, 3)), (-1, length, heads * size))


def _by_products(q, k, v, bias, drop=None):
    scores = matmul(q, transpose(k, (0, 1, 3, 2)))
    weights = softmax(scores if bias is None else scores + bias)
    return matmul(weights if drop is None else drop(weights), v)


def _some_at_a_time(q, k, v, bias):
    """Compute attention with matrix products for a few texts at a time, so that the memory of the scores is reused.

    This saves a tenth of the training time on film reviews, with up to 1,024 tokens in batches of 64.
    """
    texts = max(1, PAIRS_TOGETHER // max(1, q.shape[1] * q.shape[2] * k.shape[2]))
    parts = [each.split(texts) for each in (q, k, v)]
    of_all = bias is None or bias.dim() == 2  # a causal mask is the same for each text
    biases = [bias] * len(parts[0]) if of_all else bias.split(texts)
    attended = [_by_products(*some) for some in zip(*parts, biases)]
    return attended[0] if len(attended) == 1 else torch.cat(attended)


def _has(*instructions):
    known = [getattr(torch.cpu, "_is_%s_supported" % name, None) for name in instructions]
    return all(has is not None and has() for has in known)


# CPUs on which attention in bfloat16 was measured.
MEASURED = TORCH and _has("avx512_bf16") and not _has("amx_tile")


def _faster_by_products(q, k):
    """Return whether matrix products are faster than PyTorch's fused attention, as in bfloat16 on some CPUs.

    scripts/benchmarks/attention.py measures it. In float32 there is no such difference.
    """
    pairs = q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2]  # scores kept in memory
    if q.device.type != "cpu" or q.dtype != torch.bfloat16 or pairs > 2**26:
        return False
    # CPUs that were not measured, such as those with AMX: only where fused attention is slowest on measured ones.
    return MEASURED or (q.requires_grad and q.shape[2] <= 512 and pairs <= 2**25)


def _bias(keep, causal, length, like, fused):
    """Return the term added to scores (batch, heads, queries, keys), or None if nothing is masked."""
    if keep is None:
        if not causal or fused:  # PyTorch's fused attention applies the causal mask itself
            return None
        return (causal_mask(length, like) - 1.0) * -MASKED
    keep = keep.to(like.dtype) if TORCH else keep
    keep = reshape(keep, (-1, 1, 1, shape(keep)[1]))
    return ((keep * causal_mask(length, like) if causal else keep) - 1.0) * -MASKED


def _by_head(q, k, v, heads, size, keep, causal, drop):
    """Compute one head at a time, because PlaidML multiplies only tensors of three axes."""
    bias = None if keep is None else module.expand_dims(keep, 1)
    if causal:
        past = module.expand_dims(causal_mask(shape(q)[1], q), 0)
        bias = past if bias is None else bias * past
    bias = None if bias is None else (bias - 1.0) * -MASKED
    attended = []
    for q_part, k_part, v_part in zip(split(q, heads), split(k, heads), split(v, heads)):
        scores = module.batch_dot(q_part * (size**-0.5), k_part, axes=(2, 2))
        weights = softmax(scores if bias is None else scores + bias)
        attended.append(module.batch_dot(weights if drop is None else drop(weights), v_part, axes=(2, 1)))
    return concatenate(attended, 2) if heads > 1 else attended[0]

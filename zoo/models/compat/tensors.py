"""Operations on tensors for custom layers and losses, the same on every Keras.

Keras 3 has ``keras.ops``, Keras 2 its ``backend``, and PlaidML's backend lacks some operations. On PyTorch the
framework's own fused functions are called where they are faster.
"""

import math

import numpy as np

from zoo.models.compat import random_state
from zoo.models.compat.version import MAJOR, backend_name, keras

TORCH = MAJOR >= 3 and backend_name() == "torch"
PLAIDML = backend_name() == "plaidml"

if TORCH:
    import torch
if MAJOR < 3:
    module = K = keras.backend
    power = K.pow
else:
    module = ops = keras.ops
    power = ops.power

# Functions that have the same name in every Keras.
mean, reshape, sqrt, square, tanh = module.mean, module.reshape, module.sqrt, module.square, module.tanh

# Added to the scores of masked keys: within the range of float16, and finite, so that a row whose keys are all masked
# yields numbers rather than NaN.
MASKED = -3e4
# Attention by products on PyTorch takes so many pairs of tokens at a time.
PAIRS_TOGETHER = 2**22


def rank(x):
    """Return the number of axes of a tensor."""
    return len(x.shape) if MAJOR >= 3 else K.ndim(x)


def shape(x):
    """Return the sizes of a tensor: integers where they are known, tensors or -1 where not."""
    if MAJOR >= 3:
        return list(ops.shape(x))
    known = list(K.int_shape(x))
    if None in known and not PLAIDML:
        sizes = K.shape(x)
        return [sizes[axis] if size is None else size for axis, size in enumerate(known)]
    return [-1 if size is None else size for size in known]


def first_shape(shapes):
    """Return the shape of the first input, from what a layer's ``build`` receives for one input or several."""
    several = isinstance(shapes[0], (list, tuple)) or hasattr(shapes[0], "as_list")
    return tuple(shapes[0] if several else shapes)


def weight(variable):
    """Return a layer's variable as a tensor, in the precision that the layer computes in."""
    return variable.value if MAJOR >= 3 else variable


def linear(x, kernel, bias):
    """Compute ``x @ kernel + bias`` over the last axis."""
    if TORCH:
        return torch.nn.functional.linear(x, weight(kernel).t(), weight(bias))
    if MAJOR >= 3:
        return ops.add(ops.matmul(x, kernel), bias)
    return K.dot(x, kernel) + bias


def layer_norm(x, gamma, beta, epsilon):
    """Normalize over the last axis (Ba et al. 2016, https://arxiv.org/abs/1607.06450)."""
    if TORCH:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], weight(gamma), weight(beta), epsilon)
    if MAJOR >= 3:
        wide = to_full_precision(x)
        offset = wide - ops.mean(wide, axis=-1, keepdims=True)
        scale = ops.rsqrt(ops.mean(ops.square(offset), axis=-1, keepdims=True) + epsilon)
        return ops.cast(offset * scale, x.dtype) * gamma + beta
    kind = K.dtype(x)
    wide = K.cast(x, "float32") if kind == "float16" else x
    offset = wide - K.mean(wide, axis=-1, keepdims=True)
    normal = offset / K.sqrt(K.mean(K.square(offset), axis=-1, keepdims=True) + epsilon)
    return (K.cast(normal, kind) if kind == "float16" else normal) * gamma + beta


def activation(x, name):
    """Apply ``relu`` or ``gelu`` (the exact one, by the error function)."""
    if TORCH:
        return getattr(torch.nn.functional, name)(x)
    if MAJOR >= 3:
        return ops.relu(x) if name == "relu" else ops.gelu(x, approximate=False)
    return K.relu(x) if name == "relu" else x * (1.0 + _erf(x / math.sqrt(2.0))) / 2.0


def _erf(x):
    """Compute the error function; on PlaidML by Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7."""
    if not PLAIDML:
        import tensorflow

        return tensorflow.math.erf(x) if hasattr(tensorflow.math, "erf") else tensorflow.erf(x)
    size = K.abs(x)
    t = 1.0 / (1.0 + 0.3275911 * size)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return K.sign(x) * (1.0 - series * K.exp(-size * size))


def dropout(x, rate, generator, training, name):
    """Drop a share of the values in training and scale up the rest.

    Args:
        x: the tensor.
        rate: share of values dropped; 0 returns the tensor itself.
        generator: from :func:`zoo.models.compat.layers.seed_generator`.
        training: as a layer's ``call`` receives it.
        name: a name that no other dropout of the model has.
    """
    if not rate:
        return x
    if MAJOR >= 3:
        return keras.random.dropout(x, rate, seed=generator) if training else x
    return K.in_train_phase(lambda: random_state.dropout(x, rate, name), x, training=training)


def is_inference(training):
    """Return whether a layer certainly computes no training step; Keras 2 often decides that later."""
    return MAJOR >= 3 and not training


def take(table, indices):
    """Return rows of a table, or the values of a list, by their indices."""
    if TORCH:
        table = weight(table) if hasattr(table, "value") else table
        return torch.nn.functional.embedding(indices.long(), table) if table.dim() == 2 else table[indices.long()]
    if MAJOR >= 3:
        return ops.take(table, indices, axis=0)
    return K.gather(table, indices if K.dtype(indices) == "int32" else K.cast(indices, "int32"))


def modulo(x, divisor):
    """Return the remainder of whole numbers from 0 on, below 2 to the 24th."""
    if PLAIDML:
        import plaidml.op

        x = K.cast(x, "float32")
        return x - plaidml.op.floor(x / float(divisor)) * float(divisor)
    return x % divisor


def take_values(column, indices):
    """Return values of a table of one column by their indices: (batch, count, 1)."""
    if not TORCH or column.value.device.type != "cpu":
        return take(column, indices)
    # An embedding's gradient takes four times as long, 10 ms for 64 texts of 1,500 features out of a million.
    values = torch.gather(weight(column)[:, 0], 0, indices.long().flatten())
    return values.reshape(*indices.shape, 1)


def weighted_sum(rows, weights, keep):
    """Sum rows (batch, count, columns) by weights (batch, count, 1) where ``keep`` is 1: (batch, columns)."""
    return module.sum(rows * (weights * module.expand_dims(keep, -1)), axis=1)


def first_rows(table, count):
    """Return the first rows of a table."""
    return weight(table)[:count]


def matmul_transposed(x, table):
    """Multiply (batch, length, width) with every row of a table, giving (batch, length, rows)."""
    if TORCH:
        return torch.nn.functional.linear(x, weight(table))
    return ops.matmul(x, ops.transpose(table)) if MAJOR >= 3 else K.dot(x, K.transpose(table))


def not_equal(x, number):
    """Return 1 where a value differs from the number, else 0, as float32."""
    if MAJOR >= 3:
        return ops.cast(ops.not_equal(x, number), "float32")
    return K.cast(K.not_equal(x, number), "float32")


def to_full_precision(x):
    """Convert to float32, or to float64 where everything is."""
    return ops.cast(x, keras.config.floatx()) if MAJOR >= 3 else K.cast(x, "float32")


def pool(x, keep, kind):
    """Reduce (batch, length, width) to (batch, width).

    Args:
        x: the tensor.
        keep: (batch, length), 1 for positions that count, 0 for padding.
        kind: ``mean`` or ``max`` over the positions that count, or ``first``, the first position.
    """
    if kind == "first":
        return x[:, 0]
    x, keep = to_full_precision(x), module.expand_dims(to_full_precision(keep), -1)
    if kind == "mean":
        return module.sum(x * keep, axis=1) / module.maximum(module.sum(keep, axis=1), 1.0)
    any_kept = module.max(keep, axis=1)
    return module.max(x * keep + (keep - 1.0) * -MASKED, axis=1) * any_kept


def split(x, count):
    """Split the last axis in equal parts."""
    if TORCH:
        return x.chunk(count, -1)
    if MAJOR >= 3:
        return ops.split(x, count, axis=-1)
    size = K.int_shape(x)[-1] // count
    return [x[:, :, begin : begin + size] for begin in range(0, count * size, size)]


def concatenate(tensors, axis):
    """Concatenate tensors along an axis."""
    if MAJOR >= 3:
        return ops.concatenate(tensors, axis=axis)
    return K.concatenate(tensors, axis=axis)


def joined(pairs):
    """Concatenate pairs of (batch, count) to one; PlaidML keeps them, whose whole numbers would end as others."""
    return pairs if PLAIDML else [[concatenate(parts, axis=1) for parts in zip(*pairs)]]


def reflected(x, edge):
    """Continue (batch, height, width, channels) by its reflection, ``edge`` rows and columns on each side."""
    if TORCH and x.device.type != "meta":
        maps = torch.nn.functional.pad(x.permute(0, 3, 1, 2), (edge,) * 4, mode="reflect")
        return maps.permute(0, 2, 3, 1)
    if PLAIDML:
        for axis in (1, 2):
            x = _reflected_by_slices(x, edge, axis)
        return x
    widths = ((0, 0), (edge, edge), (edge, edge), (0, 0))
    if MAJOR >= 3:
        return ops.pad(x, widths, mode="reflect")
    import tensorflow

    return tensorflow.pad(x, widths, mode="REFLECT")


def _reflected_by_slices(x, edge, axis):
    def row(number):
        cut = slice(number, number + 1 if number != -1 else None)
        return x[:, cut] if axis == 1 else x[:, :, cut]

    before = [row(number) for number in range(edge, 0, -1)]
    return K.concatenate([*before, x, *(row(-1 - number) for number in range(1, edge + 1))], axis=axis)


def mean_over_places(x):
    """Reduce (batch, height, width, channels) to (batch, 1, 1, channels)."""
    return mean(x, axis=(1, 2), keepdims=True)


def sum_rows(x):
    """Reduce (batch, n) to (batch, 1)."""
    return module.sum(x, axis=1, keepdims=True)


def channel_products(a, b):
    """Multiply (batch, places, m) with (batch, places, n), summed over places: (batch, m, n)."""
    if MAJOR >= 3:
        return ops.matmul(ops.transpose(a, (0, 2, 1)), b)
    return K.batch_dot(K.permute_dimensions(a, (0, 2, 1)), b, axes=[2, 1])


def attention(q, k, v, heads, keep, causal, drop):
    """Let queries attend to keys (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2).

    Args:
        q: queries (batch, length, width).
        k: keys (batch, keys, width).
        v: values (batch, keys, width).
        heads: number of heads; it divides the width.
        keep: (batch, keys), 1 for keys that count, 0 for padding; None if all count.
        causal: let a position attend only to itself and those before it; needs as many keys as queries.
        drop: applies dropout to the attention weights; None if there is none in any phase.

    Returns:
        (batch, length, width).
    """
    size = int(q.shape[-1] if MAJOR >= 3 else K.int_shape(q)[-1]) // heads
    if PLAIDML:
        return _attention_by_head(q, k, v, heads, size, keep, causal, drop)
    length = shape(q)[1]
    if TORCH:
        q, k, v = (each.unflatten(-1, (heads, size)).transpose(1, 2) for each in (q, k, v))
    else:
        q, k, v = (_transpose(reshape(each, (-1, shape(each)[1], heads, size)), (0, 2, 1, 3)) for each in (q, k, v))
    fused = TORCH and drop is None and not _faster_by_products(q, k)
    bias = _bias(keep, causal, length, q, fused)
    if fused:
        # A third of the processor time of the plain products (8 heads of 64, length 1024, PyTorch 2.13, one thread).
        # What Keras 3.15 calls dot_product_attention took 2.4 times theirs on JAX, so these do the work there.
        attend = torch.nn.functional.scaled_dot_product_attention
        attended = attend(q, k, v, attn_mask=bias, is_causal=causal and bias is None)
    elif TORCH and drop is None:
        attended = _some_at_a_time(q * (size**-0.5), k, v, bias)
    else:
        attended = _by_products(q * (size**-0.5), k, v, bias, drop)
    if TORCH:
        return attended.transpose(1, 2).flatten(2)
    return reshape(_transpose(attended, (0, 2, 1, 3)), (-1, length, heads * size))


def _by_products(q, k, v, bias, drop=None):
    scores = _matmul(q, _transpose(k, (0, 1, 3, 2)))
    weights = _softmax(scores if bias is None else scores + bias)
    return _matmul(weights if drop is None else drop(weights), v)


def _some_at_a_time(q, k, v, bias):
    """Attend by products, so many texts together that what holds all pairs of their tokens is found in memory again.

    It saves a tenth of the time of a training on film reviews, with up to 1,024 tokens in batches of 64.
    """
    texts = max(1, PAIRS_TOGETHER // max(1, q.shape[1] * q.shape[2] * k.shape[2]))
    parts = [each.split(texts) for each in (q, k, v)]
    of_all = bias is None or bias.dim() == 2  # a mask of those before is the same for each text
    biases = [bias] * len(parts[0]) if of_all else bias.split(texts)
    attended = [_by_products(*some) for some in zip(*parts, biases)]
    return attended[0] if len(attended) == 1 else torch.cat(attended)


def _has(*instructions):
    known = [getattr(torch.cpu, "_is_%s_supported" % name, None) for name in instructions]
    return all(has is not None and has() for has in known)


# Processors on which attention in bfloat16 was measured.
MEASURED = TORCH and _has("avx512_bf16") and not _has("amx_tile")


def _faster_by_products(q, k):
    """Whether PyTorch's fused attention is the slower one: on processors it is in bfloat16.

    Milliseconds of PyTorch 2.13 on two cores of an AMD EPYC with AVX-512 and its bfloat16, fused and by products,
    forwards and backwards: 92.9 and 44.1 (64 x 2 heads of 16, length 512), 158 and 96 (64 x 1 of 32, 1024), 253 and
    121 (8 x 8 of 64, 1024), 3.5 and 0.7 (12 x 4 of 32, 64); forwards alone 27.2 and 18.8, 62.5 and 37.6, 101 and 45,
    0.4 and 0.2. In float32 there is no such difference. scripts/benchmarks/attention.py measures it.
    """
    pairs = q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2]  # which the products keep a value of
    if q.device.type != "cpu" or q.dtype != torch.bfloat16 or pairs > 2**26:
        return False
    # On others, such as those with AMX, which fused attention makes use of, only where it loses most on these.
    return MEASURED or (q.requires_grad and q.shape[2] <= 512 and pairs <= 2**25)


def _bias(keep, causal, length, like, fused):
    """Return what is added to scores (batch, heads, queries, keys); None if nothing is masked."""
    if keep is None:
        if not causal or fused:  # PyTorch's fused attention masks by itself
            return None
        return (_causal_mask(length, like) - 1.0) * -MASKED
    keep = keep.to(like.dtype) if TORCH else keep
    keep = reshape(keep, (-1, 1, 1, shape(keep)[1]))
    return ((keep * _causal_mask(length, like) if causal else keep) - 1.0) * -MASKED


def _causal_mask(length, like):
    """Return (length, length): 1 where a row may attend to a column, its own and those before it, else 0."""
    if MAJOR >= 3:
        place = ops.arange(length)
        return ops.cast(ops.expand_dims(place, 1) >= ops.expand_dims(place, 0), like.dtype)
    if isinstance(length, int):
        return K.constant(np.tril(np.ones((length, length))), dtype=K.dtype(like))
    import tensorflow

    place = tensorflow.range(length)
    return tensorflow.cast(tensorflow.expand_dims(place, 1) >= tensorflow.expand_dims(place, 0), K.dtype(like))


def _attention_by_head(q, k, v, heads, size, keep, causal, drop):
    """Compute one head after the other, in products of three axes: PlaidML multiplies no others."""
    bias = None if keep is None else K.expand_dims(keep, 1)
    if causal:
        past = K.expand_dims(_causal_mask(shape(q)[1], q), 0)
        bias = past if bias is None else bias * past
    bias = None if bias is None else (bias - 1.0) * -MASKED
    attended = []
    for q_part, k_part, v_part in zip(split(q, heads), split(k, heads), split(v, heads)):
        scores = K.batch_dot(q_part * (size**-0.5), k_part, axes=(2, 2))
        weights = K.softmax(scores if bias is None else scores + bias)
        attended.append(K.batch_dot(weights if drop is None else drop(weights), v_part, axes=(2, 1)))
    return concatenate(attended, 2) if heads > 1 else attended[0]


def _transpose(x, axes):
    return ops.transpose(x, axes) if MAJOR >= 3 else K.permute_dimensions(x, axes)


def _matmul(x, y):
    if MAJOR >= 3:
        return ops.matmul(x, y)
    import tensorflow

    return tensorflow.matmul(x, y)


def _softmax(x):
    if TORCH:
        return torch.softmax(x, -1)
    if MAJOR >= 3:
        return ops.softmax(x, axis=-1)
    return K.softmax(x)

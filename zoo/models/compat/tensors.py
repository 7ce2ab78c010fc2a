"""Operations on tensors, which no two generations of Keras spell alike: the half of ``compat`` for layers.

Keras 3 has ``keras.ops``, Keras 2 its ``backend``, and PlaidML's backend lacks some of that. On PyTorch the
framework's own fused functions are called where they are faster.
"""

import math

import numpy as np

from zoo.models import compat

keras = compat.keras
BACKEND = compat.backend_name()
TORCH = compat.MAJOR >= 3 and BACKEND == "torch"
PLAIDML = BACKEND == "plaidml"

if TORCH:
    import torch
if compat.MAJOR < 3:
    K = keras.backend
else:
    ops = keras.ops

# Added to the scores of keys that are masked: small enough for float16, and finite, so that a row whose keys are
# all masked gives numbers rather than NaN.
MASKED = -3e4


def rank(x):
    """Number of axes of a tensor."""
    return len(x.shape) if compat.MAJOR >= 3 else K.ndim(x)


def shape(x):
    """Sizes of a tensor: integers where they are known, tensors or -1 where not."""
    if compat.MAJOR >= 3:
        return list(ops.shape(x))
    known = list(K.int_shape(x))
    if None in known and not PLAIDML:
        told = K.shape(x)
        return [told[axis] if size is None else size for axis, size in enumerate(known)]
    return [-1 if size is None else size for size in known]


def first_shape(shapes):
    """Shape of the first of several inputs, or of the only one, as a layer's ``build`` gets them."""
    several = isinstance(shapes[0], (list, tuple)) or hasattr(shapes[0], "as_list")
    return tuple(shapes[0] if several else shapes)


def weight(variable):
    """A layer's variable as the tensor to compute with, in the precision that the layer computes in."""
    return variable.value if compat.MAJOR >= 3 else variable


def linear(x, kernel, bias):
    """``x @ kernel + bias`` over the last axis."""
    if TORCH:
        return torch.nn.functional.linear(x, weight(kernel).t(), weight(bias))
    if compat.MAJOR >= 3:
        return ops.add(ops.matmul(x, kernel), bias)
    return K.dot(x, kernel) + bias


def normalise(x, gamma, beta, epsilon):
    """Layer normalisation over the last axis (Ba et al. 2016, https://arxiv.org/abs/1607.06450)."""
    if TORCH:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], weight(gamma), weight(beta), epsilon)
    if compat.MAJOR >= 3:
        wide = ops.cast(x, "float32")
        offset = wide - ops.mean(wide, axis=-1, keepdims=True)
        scale = ops.rsqrt(ops.mean(ops.square(offset), axis=-1, keepdims=True) + epsilon)
        return ops.cast(offset * scale, x.dtype) * gamma + beta
    kind = K.dtype(x)
    wide = K.cast(x, "float32") if kind == "float16" else x
    offset = wide - K.mean(wide, axis=-1, keepdims=True)
    normal = offset / K.sqrt(K.mean(K.square(offset), axis=-1, keepdims=True) + epsilon)
    return (K.cast(normal, kind) if kind == "float16" else normal) * gamma + beta


def activate(x, name):
    """``relu`` or ``gelu`` (the exact one, by the error function)."""
    if TORCH:
        return getattr(torch.nn.functional, name)(x)
    if compat.MAJOR >= 3:
        return ops.relu(x) if name == "relu" else ops.gelu(x, approximate=False)
    return K.relu(x) if name == "relu" else x * (1.0 + _erf(x / math.sqrt(2.0))) / 2.0


def _erf(x):
    """PlaidML has none: there Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7."""
    if not PLAIDML:
        import tensorflow

        return tensorflow.math.erf(x) if hasattr(tensorflow.math, "erf") else tensorflow.erf(x)
    size = K.abs(x)
    t = 1.0 / (1.0 + 0.3275911 * size)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return K.sign(x) * (1.0 - series * K.exp(-size * size))


def dropout(x, rate, generator, training, place):
    """Drop a share of the numbers while training and scale up the rest.

    Args:
        x: the tensor.
        rate: share that is dropped; 0 leaves the tensor alone.
        generator: Keras 3's generator of seeds; earlier Kerases draw by themselves.
        training: as a layer's ``call`` gets it.
        place: a name that no other dropout of the model has.
    """
    if not rate:
        return x
    if compat.MAJOR >= 3:
        return keras.random.dropout(x, rate, seed=generator) if training else x
    return K.in_train_phase(lambda: compat.dropped(x, rate, place), x, training=training)


def take(table, numbers):
    """Rows of a table, by their numbers."""
    if compat.MAJOR >= 3:
        return ops.take(table, numbers, axis=0)
    return K.gather(table, numbers if K.dtype(numbers) == "int32" else K.cast(numbers, "int32"))


def begin(table, count):
    """The first rows of a table."""
    return weight(table)[:count]


def against(x, table):
    """Products of (batch, length, width) with every row of a table: (batch, length, rows)."""
    if TORCH:
        return torch.nn.functional.linear(x, weight(table))
    return ops.matmul(x, ops.transpose(table)) if compat.MAJOR >= 3 else K.dot(x, K.transpose(table))


def unequal(x, number):
    """1 where a number differs, else 0."""
    if compat.MAJOR >= 3:
        return ops.cast(ops.not_equal(x, number), "float32")
    return K.cast(K.not_equal(x, number), "float32")


def wide(x):
    """The same in float32."""
    return ops.cast(x, "float32") if compat.MAJOR >= 3 else K.cast(x, "float32")


def pooled(x, keep, kind):
    """(batch, length, width) to (batch, width): ``mean`` or ``max`` over the positions kept, or the ``first``."""
    if kind == "first":
        return x[:, 0]
    space = ops if compat.MAJOR >= 3 else K
    x, keep = wide(x), space.expand_dims(wide(keep), -1)
    if kind == "mean":
        return space.sum(x * keep, axis=1) / space.maximum(space.sum(keep, axis=1), 1.0)
    any_kept = space.max(keep, axis=1)
    return space.max(x * keep + (keep - 1.0) * -MASKED, axis=1) * any_kept


def parts(x, count):
    """Split the last axis in equal parts."""
    if compat.MAJOR >= 3:
        return ops.split(x, count, axis=-1)
    size = K.int_shape(x)[-1] // count
    return [x[:, :, begin : begin + size] for begin in range(0, count * size, size)]


def joined(tensors, axis):
    """Tensors one after the other along an axis."""
    if compat.MAJOR >= 3:
        return ops.concatenate(tensors, axis=axis)
    return K.concatenate(tensors, axis=axis)


def attend(q, k, v, heads, keep, causal, drop):
    """Attention of queries to keys (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, section 3.2).

    Args:
        q: queries (batch, length, width).
        k: keys (batch, keys, width).
        v: values, as many as keys.
        heads: in how many parts the width is split.
        keep: (batch, keys) numbers, 1 for keys that count and 0 for padding; None where all count.
        causal: let a position see only itself and those before it; as many keys as queries then.
        drop: called with the attention weights, for dropout; None where there is none to do, now or ever.

    Returns:
        (batch, length, width).
    """
    size = int(q.shape[-1] if compat.MAJOR >= 3 else K.int_shape(q)[-1]) // heads
    if PLAIDML:
        return _attend_by_head(q, k, v, heads, size, keep, causal, drop)
    length = shape(q)[1]
    q, k, v = (_transposed(_reshaped(each, (-1, shape(each)[1], heads, size)), (0, 2, 1, 3)) for each in (q, k, v))
    bias = _bias(keep, causal, length, q)
    if TORCH and drop is None:
        # A third of the processor time of the plain products (8 heads of 64, length 1024, PyTorch 2.13, one thread).
        # What Keras 3.15 calls dot_product_attention took 2.4 times theirs on JAX, so these do the work there.
        fused = torch.nn.functional.scaled_dot_product_attention
        attended = fused(q, k, v, attn_mask=bias, is_causal=causal and bias is None)
    else:
        scores = _product(q * (size**-0.5), _transposed(k, (0, 1, 3, 2)))
        weights = _softmax(scores if bias is None else scores + bias)
        attended = _product(weights if drop is None else drop(weights), v)
    return _reshaped(_transposed(attended, (0, 2, 1, 3)), (-1, length, heads * size))


def _bias(keep, causal, length, like):
    """What is added to scores (batch, heads, queries, keys); None where nothing is masked."""
    if keep is None:
        if not causal or TORCH:  # its fused attention masks by itself
            return None
        return (_lower(length, like) - 1.0) * -MASKED
    keep = keep.to(like.dtype) if TORCH else keep
    keep = _reshaped(keep, (-1, 1, 1, shape(keep)[1]))
    return ((keep * _lower(length, like) if causal else keep) - 1.0) * -MASKED


def _lower(length, like):
    """(length, length): 1 where a row may see a column, its own and those before it, else 0."""
    if compat.MAJOR >= 3:
        place = ops.arange(length)
        return ops.cast(ops.expand_dims(place, 1) >= ops.expand_dims(place, 0), like.dtype)
    if isinstance(length, int):
        return K.constant(np.tril(np.ones((length, length))), dtype=K.dtype(like))
    import tensorflow

    place = tensorflow.range(length)
    return tensorflow.cast(tensorflow.expand_dims(place, 1) >= tensorflow.expand_dims(place, 0), K.dtype(like))


def _attend_by_head(q, k, v, heads, size, keep, causal, drop):
    """The same one head after the other, in products of three axes, which is all that PlaidML multiplies."""
    bias = None if keep is None else K.expand_dims(keep, 1)
    if causal:
        past = K.expand_dims(_lower(shape(q)[1], q), 0)
        bias = past if bias is None else bias * past
    bias = None if bias is None else (bias - 1.0) * -MASKED
    found = []
    for q_part, k_part, v_part in zip(parts(q, heads), parts(k, heads), parts(v, heads)):
        scores = K.batch_dot(q_part * (size**-0.5), k_part, axes=(2, 2))
        weights = K.softmax(scores if bias is None else scores + bias)
        found.append(K.batch_dot(weights if drop is None else drop(weights), v_part, axes=(2, 1)))
    return joined(found, 2) if heads > 1 else found[0]


def _reshaped(x, sizes):
    return ops.reshape(x, sizes) if compat.MAJOR >= 3 else K.reshape(x, sizes)


def _transposed(x, axes):
    return ops.transpose(x, axes) if compat.MAJOR >= 3 else K.permute_dimensions(x, axes)


def _product(x, y):
    if compat.MAJOR >= 3:
        return ops.matmul(x, y)
    import tensorflow

    return tensorflow.matmul(x, y)


def _softmax(x):
    if TORCH:
        return torch.softmax(x, -1)
    if compat.MAJOR >= 3:
        return ops.softmax(x, axis=-1)
    return K.softmax(x)

"""Operations of ``tensors`` on Keras 3, with ``keras.ops``."""

import operator

from zoo.models.compat.version import keras

ops = keras.ops
concatenate, matmul, power, transpose = ops.concatenate, ops.matmul, ops.power, ops.transpose
# Remainders of non-negative integers below 2**24.
modulo = operator.mod


def rank(x):
    return len(x.shape)


def shape(x):
    """Return the sizes of a tensor: integers if known, else tensors or -1."""
    return list(ops.shape(x))


def weight(variable):
    """Return a layer's variable as a tensor, in the precision that the layer computes in."""
    return variable.value


def linear(x, kernel, bias):
    return ops.add(ops.matmul(x, kernel), bias)


def layer_norm(x, gamma, beta, epsilon):
    """Normalize over the last axis (Ba et al. 2016, https://arxiv.org/abs/1607.06450)."""
    wide = to_full_precision(x)
    offset = wide - ops.mean(wide, axis=-1, keepdims=True)
    scale = ops.rsqrt(ops.mean(ops.square(offset), axis=-1, keepdims=True) + epsilon)
    return ops.cast(offset * scale, x.dtype) * gamma + beta


def activation(x, name):
    """Apply ``relu`` or the exact ``gelu``, which uses the error function."""
    return ops.relu(x) if name == "relu" else ops.gelu(x, approximate=False)


def softmax(x):
    """Normalize the last axis to probabilities."""
    return ops.softmax(x, axis=-1)


def dropout(x, rate, generator, training, name):
    """Apply dropout if ``training``, an argument of a layer's ``call``. ``name`` must be unique in the model."""
    return keras.random.dropout(x, rate, seed=generator) if rate and training else x


def is_inference(training):
    """Return whether this is certainly inference; False on Keras 2, where a graph may serve both phases."""
    return not training


def take(table, indices):
    """Return rows of a table, or the values of a list, by their indices."""
    return ops.take(table, indices, axis=0)


# Look up values of a table with one column: (batch, count, 1).
take_values = take


def matmul_transposed(x, table):
    """Multiply (batch, length, width) with every row of a table, giving (batch, length, rows)."""
    return ops.matmul(x, ops.transpose(table))


def not_equal(x, number):
    """Return 1 where a value differs from the number and 0 elsewhere, as float32."""
    return ops.cast(ops.not_equal(x, number), "float32")


def to_full_precision(x):
    """Convert to float32, or to float64 if that is Keras's float type."""
    return ops.cast(x, keras.config.floatx())


def split(x, count):
    return ops.split(x, count, axis=-1)


def joined(pairs):
    """Concatenate pairs of (batch, count) into one pair, except on PlaidML, where this changes integers."""
    return [[ops.concatenate(parts, axis=1) for parts in zip(*pairs)]]


def reflected(x, edge):
    """Pad (batch, height, width, channels) by reflection, ``edge`` rows and columns on each side."""
    return ops.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)), mode="reflect")


def channel_products(a, b):
    """Multiply (batch, positions, m) with (batch, positions, n), summed over positions: (batch, m, n)."""
    return ops.matmul(ops.transpose(a, (0, 2, 1)), b)


def causal_mask(length, like):
    """Return (length, length): 1 where a row may attend to a column (itself and earlier ones), 0 elsewhere."""
    place = ops.arange(length)
    return ops.cast(ops.expand_dims(place, 1) >= ops.expand_dims(place, 0), like.dtype)

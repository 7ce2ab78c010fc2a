"""Operations of ``tensors`` on Keras 2, with its ``backend`` and TensorFlow."""

import math
import operator

import numpy as np

from zoo.models.compat import random_state
from zoo.models.compat.version import backend_name, keras

K = keras.backend
concatenate, power, softmax, transpose = K.concatenate, K.pow, K.softmax, K.permute_dimensions
rank, modulo = K.ndim, operator.mod

if backend_name() == "tensorflow":
    import tensorflow


def shape(x):
    known = list(K.int_shape(x))
    if None not in known:
        return known
    sizes = K.shape(x)
    return [sizes[axis] if size is None else size for axis, size in enumerate(known)]


def weight(variable):
    return variable


def linear(x, kernel, bias):
    return K.dot(x, kernel) + bias


def layer_norm(x, gamma, beta, epsilon):
    kind = K.dtype(x)
    wide = K.cast(x, "float32") if kind == "float16" else x
    offset = wide - K.mean(wide, axis=-1, keepdims=True)
    normal = offset / K.sqrt(K.mean(K.square(offset), axis=-1, keepdims=True) + epsilon)
    return (K.cast(normal, kind) if kind == "float16" else normal) * gamma + beta


def activation(x, name):
    erf = getattr(tensorflow.math, "erf", None) or tensorflow.erf
    return K.relu(x) if name == "relu" else x * (1.0 + erf(x / math.sqrt(2.0))) / 2.0


def dropout(x, rate, generator, training, name):
    return K.in_train_phase(lambda: random_state.dropout(x, rate, name), x, training=training) if rate else x


def is_inference(training):
    return False


def take(table, indices):
    return K.gather(table, indices if K.dtype(indices) == "int32" else K.cast(indices, "int32"))


take_values = take


def matmul(x, y):
    return tensorflow.matmul(x, y)


def matmul_transposed(x, table):
    return K.dot(x, K.transpose(table))


def not_equal(x, number):
    return K.cast(K.not_equal(x, number), "float32")


def to_full_precision(x):
    return K.cast(x, "float32")


def split(x, count):
    size = K.int_shape(x)[-1] // count
    return [x[:, :, begin : begin + size] for begin in range(0, count * size, size)]


def joined(pairs):
    return [[K.concatenate(parts, axis=1) for parts in zip(*pairs)]]


def reflected(x, edge):
    return tensorflow.pad(x, ((0, 0), (edge, edge), (edge, edge), (0, 0)), mode="REFLECT")


def channel_products(a, b):
    return K.batch_dot(K.permute_dimensions(a, (0, 2, 1)), b, axes=[2, 1])


def causal_mask(length, like):
    if isinstance(length, int):
        return K.constant(np.tril(np.ones((length, length))), dtype=K.dtype(like))
    place = tensorflow.range(length)
    return tensorflow.cast(tensorflow.expand_dims(place, 1) >= tensorflow.expand_dims(place, 0), K.dtype(like))

"""Operations of ``tensors`` that PlaidML lacks, or computes differently from TensorFlow's Keras 2."""

# ruff: noqa: F403

import math

import plaidml.op

from zoo.models.compat.tensors_keras2 import *
from zoo.models.compat.tensors_keras2 import K


def shape(x):
    return [-1 if size is None else size for size in K.int_shape(x)]


def activation(x, name):
    return K.relu(x) if name == "relu" else x * (1.0 + _erf(x / math.sqrt(2.0))) / 2.0


def _erf(x):
    """Compute the error function by Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7."""
    size = K.abs(x)
    t = 1.0 / (1.0 + 0.3275911 * size)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return K.sign(x) * (1.0 - series * K.exp(-size * size))


def modulo(x, divisor):
    x = K.cast(x, "float32")
    return x - plaidml.op.floor(x / float(divisor)) * float(divisor)


def joined(pairs):
    return pairs


def reflected(x, edge):
    return _reflected_along(_reflected_along(x, edge, 1), edge, 2)


def _reflected_along(x, edge, axis):
    def row(number):
        cut = slice(number, number + 1 if number != -1 else None)
        return x[:, cut] if axis == 1 else x[:, :, cut]

    before = [row(number) for number in range(edge, 0, -1)]
    return K.concatenate([*before, x, *(row(-1 - number) for number in range(1, edge + 1))], axis=axis)

"""Operations of ``tensors`` for which PyTorch has faster functions than Keras 3 calls."""

# ruff: noqa: F403

import torch
from torch.nn import functional

from zoo.models.compat import tensors_keras3
from zoo.models.compat.tensors_keras3 import *
from zoo.models.compat.tensors_keras3 import weight


def linear(x, kernel, bias):
    return functional.linear(x, weight(kernel).t(), weight(bias))


def layer_norm(x, gamma, beta, epsilon):
    return functional.layer_norm(x, x.shape[-1:], weight(gamma), weight(beta), epsilon)


def activation(x, name):
    return getattr(functional, name)(x)


def softmax(x):
    return torch.softmax(x, -1)


def take(table, indices):
    table = weight(table) if hasattr(table, "value") else table
    return functional.embedding(indices.long(), table) if table.dim() == 2 else table[indices.long()]


def take_values(column, indices):
    if column.value.device.type != "cpu":
        return take(column, indices)
    # An embedding's gradient takes four times as long, 10 ms for 64 texts of 1,500 features out of a million.
    values = torch.gather(weight(column)[:, 0], 0, indices.long().flatten())
    return values.reshape(*indices.shape, 1)


def matmul_transposed(x, table):
    return functional.linear(x, weight(table))


def split(x, count):
    return x.chunk(count, -1)


def reflected(x, edge):
    if x.device.type == "meta":
        return tensors_keras3.reflected(x, edge)
    return functional.pad(x.permute(0, 3, 1, 2), (edge,) * 4, mode="reflect").permute(0, 2, 3, 1)

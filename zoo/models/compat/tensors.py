"""Tensor operations for custom layers and losses, the same on every Keras.

Operations that need different code for Keras 2, Keras 3, PyTorch or PlaidML are in a module for each. Their
docstrings are in ``tensors_keras3``.
"""

# ruff: noqa: F403, F405

from zoo.models.compat.version import MAJOR, backend_name, keras

TORCH = MAJOR >= 3 and backend_name() == "torch"
PLAIDML = backend_name() == "plaidml"

if PLAIDML:
    from zoo.models.compat.tensors_plaidml import *
elif MAJOR < 3:
    from zoo.models.compat.tensors_keras2 import *
elif TORCH:
    from zoo.models.compat.tensors_torch import *
else:
    from zoo.models.compat.tensors_keras3 import *

module = keras.backend if MAJOR < 3 else keras.ops
mean, reshape, sqrt, square, tanh = module.mean, module.reshape, module.sqrt, module.square, module.tanh

# Added to the scores of masked keys: within the range of float16, and finite, so that a row with all keys masked does
# not yield NaN.
MASKED = -3e4


def first_shape(shapes):
    """Return the shape of the first input, from the argument of a layer's ``build`` for one input or several."""
    several = isinstance(shapes[0], (list, tuple)) or hasattr(shapes[0], "as_list")
    return tuple(shapes[0] if several else shapes)


def weighted_sum(rows, weights, keep):
    """Sum rows (batch, count, columns) times weights (batch, count, 1) where ``keep`` is 1: (batch, columns)."""
    return module.sum(rows * (weights * module.expand_dims(keep, -1)), axis=1)


def root_of_counts(keeps):
    """Return the square root of the number of ones of each row in all (batch, count) tensors: (batch, 1)."""
    counts = sum(module.sum(to_full_precision(keep), axis=1) for keep in keeps)
    return module.expand_dims(module.sqrt(module.maximum(counts, 1.0)), -1)


def pool(x, keep, kind):
    """Reduce (batch, length, width) to (batch, width) by ``mean`` or ``max`` where ``keep`` is 1, or by ``first``."""
    if kind == "first":
        return x[:, 0]
    x, keep = to_full_precision(x), module.expand_dims(to_full_precision(keep), -1)
    if kind == "mean":
        return module.sum(x * keep, axis=1) / module.maximum(module.sum(keep, axis=1), 1.0)
    any_kept = module.max(keep, axis=1)
    return module.max(x * keep + (keep - 1.0) * -MASKED, axis=1) * any_kept


def sum_rows(x):
    """Reduce (batch, n) to (batch, 1)."""
    return module.sum(x, axis=1, keepdims=True)

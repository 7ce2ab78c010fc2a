"""Make Keras 3 compute over all items of a shared batch, on PyTorch and TensorFlow.

Gradients are averaged before the optimizer applies them. Batch normalization uses the statistics of the whole batch.
Dropout draws a mask for the whole batch and uses its part. JAX does not need this: all processes run one program.
"""

import functools

import numpy as np
from keras.src import backend
from keras.src.backend.common.stateless_scope import in_stateless_scope  # while Keras only infers shapes

from zoo.models import compat
from zoo.worker.errors import UserError


def install(group, engine):
    """Patch Keras in this process; must be called only once."""
    optimizer = compat.keras.optimizers.Optimizer
    original, engine.mean_gradients = optimizer.apply, functools.partial(mean_gradients, group, engine)

    def apply(self, grads, trainable_variables=None):
        return original(self, engine.mean_gradients(list(grads)), trainable_variables)

    optimizer.apply = apply
    _synchronize_normalization(compat.keras.layers.BatchNormalization, group, engine)
    _share_dropout(group, engine)


def mean_gradients(group, engine, gradients):
    """Average gradients over the items of the whole batch; None stays None."""
    ops = compat.keras.ops
    present = [each for each in gradients if each is not None]
    if not present:
        return gradients
    flat = [ops.reshape(each, (-1,)) for each in present]  # also dense
    kinds = [compat.keras.backend.standardize_dtype(each.dtype) for each in present]
    wide = "float64" if "float64" in kinds else "float32"
    whole = engine.sum(ops.concatenate([ops.cast(each, wide) for each in flat]) * group.weight)
    pieces = ops.split(whole, np.cumsum([int(each.shape[0]) for each in flat])[:-1].tolist())
    means = (ops.cast(ops.reshape(mean, each.shape), each.dtype) for mean, each in zip(pieces, present))
    return [None if each is None else next(means) for each in gradients]


def _synchronize_normalization(kind, group, engine):
    original, ops = kind._moments, compat.keras.ops

    @ops.custom_gradient
    def sum_through(x):
        """Sum over all processes; the gradient is for the loss over all items."""

        def gradient(*args, upstream=None):  # PyTorch names the gradient, TensorFlow passes it alone
            return engine.sum((args[0] if upstream is None else upstream) * group.weight) / group.weight

        return engine.sum(ops.copy(x)), gradient

    def _moments(self, inputs, mask):
        if in_stateless_scope():
            return original(self, inputs, mask)
        if mask is not None:
            raise UserError("batch normalization of masked inputs cannot be shared by processes")
        return moments_of_all(group, sum_through, *original(self, inputs, mask))

    kind._moments = _moments


def moments_of_all(group, add_up, mean, variance):
    """Combine the mean and variance of each process without cancellation (Chan et al. 1979).

    ``add_up`` sums an array over all processes; ``mean`` and ``variance``, (channels,), are those of this process.
    """
    ops = compat.keras.ops
    before, after = group.rank, group.size - 1 - group.rank
    rows = add_up(ops.pad(ops.stack([mean, variance])[None], [[before, after], [0, 0], [0, 0]]))
    shares = ops.reshape(ops.convert_to_tensor(group.weights, dtype=rows.dtype), (-1, 1))
    whole = ops.sum(shares * rows[:, 0], axis=0)
    return whole, ops.sum(shares * (rows[:, 1] + ops.square(rows[:, 0] - whole)), axis=0)


def _share_dropout(group, engine):
    original, ops = backend.random.dropout, compat.keras.ops

    def dropout(inputs, rate, noise_shape=None, seed=None):
        total = group.present[1]
        first, last = group.bounds(total)
        if in_stateless_scope() or inputs.shape[0] != last - first or noise_shape is not None:
            return original(inputs, rate, noise_shape, seed)
        kept = original(engine.ones_like_batch(inputs, total), rate, None, seed)[first:last]
        return ops.where(kept > 0, inputs / (1.0 - rate), ops.zeros_like(inputs))

    backend.random.dropout = dropout

"""Make Keras 3 compute over all items of a shared batch, on PyTorch and TensorFlow.

Gradients are averaged before the optimizer applies them. Batch normalization uses the statistics of the whole batch.
Dropout draws a mask for the whole batch and uses its part. JAX does not need this: all processes run one program.
"""

from zoo.models import compat
from zoo.worker.errors import UserError


def install(group, engine):
    """Patch Keras in this process; must be called only once."""
    keras = compat.keras
    _reduce_gradients(keras.optimizers.Optimizer, engine)
    _synchronize_normalization(keras.layers.BatchNormalization, group, engine)
    _share_dropout(keras, group, engine)


def _reduce_gradients(kind, engine):
    original = kind.apply

    def apply(self, grads, trainable_variables=None):
        return original(self, engine.mean_gradients(list(grads)), trainable_variables)

    kind.apply = apply


def _synchronize_normalization(kind, group, engine):
    original = kind._moments

    def _moments(self, inputs, mask):
        if engine.is_symbolic(inputs):
            return original(self, inputs, mask)
        if mask is not None:
            raise UserError("batch normalization of masked inputs cannot be shared by processes")
        mean, variance = original(self, inputs, mask)
        return moments_of_all(group, engine.sum_through, mean, variance)

    kind._moments = _moments


def moments_of_all(group, add_up, mean, variance):
    """Combine the mean and variance of each process without cancellation (Chan et al. 1979).

    ``add_up`` sums an array over all processes; ``mean`` and ``variance``, (channels,), are those of this process.
    """
    ops = compat.keras.ops
    before, after = group.rank, group.size - 1 - group.rank
    rows = add_up(ops.pad(ops.stack([mean, variance])[None], [[before, after], [0, 0], [0, 0]]))
    shares = ops.reshape(ops.convert_to_tensor(_weights(group), dtype=rows.dtype), (-1, 1))
    whole = ops.sum(shares * rows[:, 0], axis=0)
    return whole, ops.sum(shares * (rows[:, 1] + ops.square(rows[:, 0] - whole)), axis=0)


def _weights(group):
    total = group.present[1]
    shares = [group.bounds(total, rank) for rank in range(group.size)]
    return [(end - begin) / float(total) for begin, end in shares]


def _share_dropout(keras, group, engine):
    from keras.src import backend

    original, ops = backend.random.dropout, keras.ops

    def dropout(inputs, rate, noise_shape=None, seed=None):
        total = group.present[1]
        first, last = group.bounds(total)
        if engine.is_symbolic(inputs) or inputs.shape[0] != last - first or noise_shape is not None:
            return original(inputs, rate, noise_shape, seed)
        kept = original(engine.ones_like_batch(inputs, total), rate, None, seed)[first:last]
        return ops.where(kept > 0, inputs / (1.0 - rate), ops.zeros_like(inputs))

    backend.random.dropout = dropout

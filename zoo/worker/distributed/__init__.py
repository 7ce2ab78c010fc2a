"""Distribute a training run: each process computes its share of every batch, and gradients are averaged.

``meeting`` exchanges addresses. An engine (``torch``, ``jax`` or ``tensorflow``) connects the processes, provides
their key-value store and sums over them. ``group`` lets processes agree, and detects processes that hang;
``keras_parts`` adapts Keras. The host detects processes that end.
"""

import functools

from zoo.worker.errors import UserError


class ShareOfBatch(tuple):
    """This process's share of the arrays of a batch: items from index ``begin``, of ``total`` in the batch."""

    def __new__(cls, arrays, begin, total):
        share = super().__new__(cls, arrays)
        share.begin, share.total = begin, total
        return share


def require_divisible(batch_size, group):
    """Raise UserError for a batch size that is too small, or not divisible if the framework requires it."""
    if batch_size < group.size:
        raise UserError("a batch of %d cannot be shared by %d processes" % (batch_size, group.size))
    if batch_size % group.multiple:
        words = "on JAX all processes need equal shares: trainer.batch_size must be a multiple of %d, got %d"
        raise UserError(words % (group.multiple, batch_size))


def together(group, count, work):
    """Compute some rows in parts, one in each process of the group; return all rows, name -> array.

    ``work(begin, end)`` returns the rows of a part. Without a group, this process computes all of them.
    """
    if group is None or group.size == 1 or count < group.size:
        return work(0, count)
    return group.gather(work(*group.bounds(count)))


class BaseEngine:
    """Base class of the engines, which connect the processes of a group and compute sums over all of them.

    An engine has ``put`` and ``delete`` of its store, and ``sum_figures`` of a list of numbers. Engines that
    :mod:`keras_parts` adapts have ``sum`` and ``split`` of tensors, and ``ones_like_batch``.
    """

    needs_equal_shares = False
    # Predicts with a model, if the engine cannot do it in a single process.
    outputs = None

    def start(self):
        """Open the connections of the framework, after its import and before it computes."""

    def get(self, key, patience_s):
        """Wait for a text in the store and return it."""
        return self._get(key, int(1000 * patience_s))

    def prepare_keras(self):
        """Make Keras compute over all items of a batch."""

    def _patch_keras(self):
        from zoo.worker.distributed import keras_parts

        self.mean_gradients = functools.partial(keras_parts.mean_gradients, self._group, self)
        keras_parts.install(self._group, self)

    @staticmethod
    def dense(gradient):
        return gradient

    def enter(self):
        """Begin a step."""

    def leave(self):
        """Close the connections before the process ends."""


class Alone:
    """A group of one process, and the base of :class:`zoo.worker.distributed.group.Group`."""

    rank, size, multiple = 0, 1, 1

    def enter(self, batch):
        """Begin a step; return the number of items in the whole batch."""
        return len(batch[-1])

    def after_step(self, wants_save):
        """End a step; stop all processes if one is asked to, and return whether to write a checkpoint now."""
        return wants_save

    def ask_to_stop(self, stop, reason):
        """Request the end of training after the current step."""
        stop.asked, stop.reason = True, reason

    def settle_stop(self):
        """Stop all processes, between steps, if one of them is asked to stop."""

    def busy(self):
        """Begin work that may take long, so that this process does not count as hanging."""

    def bounds(self, count, rank=None):
        """Return the begin and end of a process's share (by default this one's) among ``count`` items in order.

        Shares differ by at most one item.
        """
        rank = self.rank if rank is None else rank
        return rank * count // self.size, (rank + 1) * count // self.size

    def gather(self, arrays):
        """Return the rows of all processes, in order: name -> array."""
        return arrays

    def gather_values(self, value):
        return [value]

    def agree(self, value):
        return self.gather_values(value)[0]

    def unite(self, model):
        """Give all processes the weights of the first."""


_current = {"group": Alone()}


def current():
    return _current["group"]


def make_current(group):
    _current["group"] = group

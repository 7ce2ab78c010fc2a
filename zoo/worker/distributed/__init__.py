"""Distribute a training run: each process computes its share of every batch, and gradients are averaged.

``meeting`` exchanges addresses. An engine (``torch``, ``jax`` or ``tensorflow``) connects the processes, provides
their key-value store and sums over them. ``group`` lets processes agree, and detects processes that hang;
``keras_parts`` adapts Keras. The host detects processes that end.
"""

import contextlib

from zoo.worker.errors import UserError

ENGINES = ("torch", "jax", "tensorflow")


class ShareOfBatch(tuple):
    """This process's share of the arrays of a batch: items from index ``begin``, of ``total`` in the batch."""

    begin, total = 0, 0


def share_of_batch(arrays, begin, total):
    """Return arrays as the share that starts at item ``begin`` of a batch of ``total`` items."""
    share = ShareOfBatch(arrays)
    share.begin, share.total = begin, total
    return share


def require_divisible(batch_size, group):
    """Raise UserError for a batch size that is too small, or not divisible if the framework requires it."""
    if batch_size < group.size:
        raise UserError("a batch of %d cannot be shared by %d processes" % (batch_size, group.size))
    if batch_size % group.multiple:
        raise UserError(
            "on JAX all processes need equal shares: trainer.batch_size must be a multiple of %d, got %d"
            % (group.multiple, batch_size)
        )


def together(group, count, work):
    """Compute some rows in parts, one in each process of the group; return all rows, name -> array.

    ``work(begin, end)`` returns the rows of a part. Without a group, this process computes all of them.
    """
    if group is None or group.size == 1 or count < group.size:
        return work(0, count)
    return group.gather(work(*group.bounds(count)))


class BaseEngine:
    """Base class of the engines, which compute sums over all processes of a group."""

    needs_equal_shares = False

    def leave(self):
        """Close the connections before the process ends."""

    def watch(self, model):
        """Record the model that is trained."""

    def enter(self):
        """Begin a step."""


class Alone:
    """A group of one process, as an alternative to :class:`zoo.worker.distributed.group.Group`."""

    rank, size, multiple = 0, 1, 1
    bytes_per_step = 0

    def enter(self, batch):
        return len(batch[-1])

    def after_step(self, wants_save):
        return wants_save

    def ask_to_stop(self, stop, reason):
        stop.asked, stop.reason = True, reason

    def bounds(self, count):
        return 0, count

    def gather(self, arrays):
        return arrays

    def gather_values(self, value):
        return [value]

    def agree(self, value):
        return value

    def settle_stop(self):
        """Stop all processes if one of them is asked to stop."""

    def unite(self, model):
        """Give all processes the same weights."""

    @contextlib.contextmanager
    def busy(self):
        yield


_current = {"group": Alone()}


def current():
    return _current["group"]


def join(request, rank, stop):
    """Wait for the other processes of a request; return the group, or None for a single process.

    ``stop`` is the flag that signals set.
    """
    settings = request.distributed
    if not settings:
        return None
    framework, keras = request.device.framework, request.stack.keras
    # Keras inside TensorFlow is Keras 2.
    if framework not in ENGINES or keras == "tf.keras":
        raise UserError(
            "distributed.processes=%d needs a stack of PyTorch, JAX or TensorFlow with Keras 3; this stack"
            " uses %s and %s" % (settings.processes, framework, keras)
        )
    from zoo.worker.distributed import meeting
    from zoo.worker.distributed.group import Group

    rows = meeting.meet(settings, request.run_dir, rank)
    _current["group"] = Group(rank, settings, rows, stop, framework)
    return _current["group"]

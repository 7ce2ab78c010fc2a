"""One training on several processes: each takes its share of every batch, and gradients are averaged every step.

``meeting`` exchanges addresses. An engine (``torch``, ``jax`` or ``tensorflow``) connects the processes,
keeps their key-value store and adds up. ``group`` lets processes agree, and notices one that stands still;
``keras_parts`` is what Keras needs. The host that started the processes notices one that ends.
"""

import contextlib

from zoo.worker.errors import UserError

ENGINES = ("torch", "jax", "tensorflow")


class ShareOfBatch(tuple):
    """The items of a batch that this process takes: arrays as in the batch.

    Attributes:
        begin: number of the first of them in the batch.
        total: items of the batch.
    """

    begin, total = 0, 0


def share_of_batch(arrays, begin, total):
    """Mark arrays as the items from ``begin`` on of a batch of ``total``."""
    share = ShareOfBatch(arrays)
    share.begin, share.total = begin, total
    return share


def require_divisible(batch_size, group):
    """Refuse a size of batches that cannot be shared.

    Raises:
        UserError: it is too small, or the framework needs equal shares.
    """
    if batch_size < group.size:
        raise UserError("a batch of %d cannot be shared by %d processes" % (batch_size, group.size))
    if batch_size % group.multiple:
        raise UserError(
            "on JAX every process takes as many items: trainer.batch_size must be a multiple of %d, got %d"
            % (group.multiple, batch_size)
        )


def together(group, count, work):
    """Let each process do its part of some work that gives rows; return all rows: name -> array.

    Args:
        group: the processes, or None for this one alone.
        count: number of items.
        work: called with where a part begins and ends; returns its rows, name -> array.
    """
    if group is None or group.size == 1 or count < group.size:
        return work(0, count)
    return group.gather(work(*group.bounds(count)))


class Alone:
    """A training in this process only, seen as a group of one."""

    rank, size, multiple = 0, 1, 1
    bytes_per_step = 0

    def enter(self, batch):
        """Begin a step; return the items of the whole batch."""
        return len(batch[-1])

    def after_step(self, wants_save):
        """End a step; return whether a checkpoint is written now."""
        return wants_save

    def ask_to_stop(self, stop, reason):
        """Ask for the end of the training."""
        stop.asked, stop.reason = True, reason

    def bounds(self, count):
        """Return where the share of this process begins and ends, among ``count`` items."""
        return 0, count

    def gather(self, arrays):
        """Return the rows of all processes together: name -> array."""
        return arrays

    def gather_values(self, value):
        """Return a value of every process."""
        return [value]

    def agree(self, value):
        """Return what the first process says."""
        return value

    def settle_stop(self):
        """Let all processes know whether they are asked to stop."""

    def unite(self, model):
        """Give all processes the same weights."""

    @contextlib.contextmanager
    def busy(self):
        """Do inside what may take long in one process while others wait for it."""
        yield


_current = {"group": Alone()}


def current():
    """Return the group that this process belongs to."""
    return _current["group"]


def join(request, rank, stop):
    """Meet the other processes of a request.

    Args:
        request: with the part ``distributed``.
        rank: number of this process.
        stop: what signals set.

    Returns:
        The group, or None where the request is for one process.

    Raises:
        UserError: the stack cannot do it, or the processes do not come together.
    """
    settings = request.distributed
    if not settings:
        return None
    framework, keras = request.device.framework, request.stack.keras
    # Keras inside of TensorFlow is Keras 2.
    if framework not in ENGINES or keras == "tf.keras":
        raise UserError(
            "distributed.processes=%d needs a stack of PyTorch, JAX or TensorFlow with Keras 3; this one computes"
            " with %s and %s" % (settings.processes, framework, keras)
        )
    from zoo.worker.distributed import meeting
    from zoo.worker.distributed.group import Group

    rows = meeting.meet(settings, request.run_dir, rank)
    _current["group"] = Group(rank, settings, rows, stop, framework)
    return _current["group"]

"""One training run on several processes: each computes its share of every batch; gradients are averaged.

``meeting`` exchanges addresses. An engine (``torch``, ``jax`` or ``tensorflow``) connects the processes, provides
their key-value store and sums over them. ``group`` lets processes agree, and detects one that hangs; ``keras_parts``
adapts Keras. The host that started the processes detects one that ends.
"""

import contextlib

from zoo.worker.errors import UserError

ENGINES = ("torch", "jax", "tensorflow")


class ShareOfBatch(tuple):
    """The items of a batch that this process takes: arrays as in the batch.

    Attributes:
        begin: index of the first of them in the batch.
        total: items of the whole batch.
    """

    begin, total = 0, 0


def share_of_batch(arrays, begin, total):
    """Mark arrays as the items from ``begin`` on of a batch of ``total``."""
    share = ShareOfBatch(arrays)
    share.begin, share.total = begin, total
    return share


def require_divisible(batch_size, group):
    """Raise UserError for a batch size that is too small, or not divisible if the framework requires it."""
    if batch_size < group.size:
        raise UserError("a batch of %d cannot be shared by %d processes" % (batch_size, group.size))
    if batch_size % group.multiple:
        raise UserError(
            "on JAX every process takes as many items: trainer.batch_size must be a multiple of %d, got %d"
            % (group.multiple, batch_size)
        )


def together(group, count, work):
    """Let each process of a group (None: this one) compute a part of some rows; return all rows: name -> array.

    ``work`` is called with begin and end of a part, and returns its rows.
    """
    if group is None or group.size == 1 or count < group.size:
        return work(0, count)
    return group.gather(work(*group.bounds(count)))


class BaseEngine:
    """Sums over all processes of a :class:`zoo.worker.distributed.group.Group`."""

    needs_equal_shares = False

    def leave(self):
        """Close the connections; the process ends with them."""

    def watch(self, model):
        """Record the model that is trained."""

    def enter(self):
        """Begin a step."""


class Alone:
    """A training run in only this process, as a group of one; see :class:`zoo.worker.distributed.group.Group`."""

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
        """Let all processes know whether they are asked to stop."""

    def unite(self, model):
        """Give all processes the same weights."""

    @contextlib.contextmanager
    def busy(self):
        yield


_current = {"group": Alone()}


def current():
    return _current["group"]


def join(request, rank, stop):
    """Meet the other processes of a request and return the group, or None for a single process.

    ``stop`` is the flag that signals set.
    """
    settings = request.distributed
    if not settings:
        return None
    framework, keras = request.device.framework, request.stack.keras
    # Keras inside TensorFlow is Keras 2.
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

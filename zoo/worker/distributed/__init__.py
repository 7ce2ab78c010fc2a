"""Distribute a training run: each process computes its share of every batch, and gradients are averaged.

``meeting`` exchanges addresses. An engine (``torch``, ``jax`` or ``tensorflow``) connects the processes, provides
their key-value store and sums over them. ``group`` detects processes that hang; ``keras_parts`` adapts Keras. The
host detects processes that end.
"""

import json
import time
import types

import numpy as np

from zoo.worker.errors import UserError

# Arrays are summed in a multiple of this many bytes, because JAX and TensorFlow compile a sum for every size.
BLOCK = 65_536


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
    begin, end = group.bounds(count)
    return {name: group.gather(rows, begin, count) for name, rows in work(begin, end).items()}


class Group:
    """The processes of a training run, as one of them uses them. This class is a group of one process.

    Attributes:
        multiple: the size of a batch must be a multiple of this.
        asked: the flag that signals set in this process.
        stop: set in all processes after the same step.
        present: (begin, total): index of this process's first item in the current batch, and size of the batch.
        weights, weight: shares of all processes, and of this one, of the items of the current batch.
        summed, bytes_per_step: bytes of sums in this step, and in the last step (on TensorFlow, the last traced one).
    """

    rank, size, multiple = 0, 1, 1

    def __init__(self):
        self.asked, self.stop = (types.SimpleNamespace(asked=False, reason="interrupted") for _ in range(2))
        self.present, self.summed, self.bytes_per_step = (0, 1), 0, 0
        self._steps, self._busy, self._longest, self._began = 0, True, 0.0, None

    def total(self, array):
        """Return the sum of an array over all processes."""
        return array

    def bounds(self, count, rank=None):
        """Return the begin and end of a process's share (by default this one's) among ``count`` items in order.

        Shares differ by at most one item.
        """
        rank = self.rank if rank is None else rank
        return rank * count // self.size, (rank + 1) * count // self.size

    def enter(self, batch):
        """Begin a step; return the number of items in the whole batch."""
        count = getattr(batch, "total", len(batch[-1]))
        self.present = getattr(batch, "begin", 0), count
        shares = [self.bounds(count, rank) for rank in range(self.size)]
        self.weights = [(end - begin) / float(count) for begin, end in shares]
        self.weight = self.weights[self.rank]
        self._steps, self.summed = self._steps + 1, 0
        self._busy, self._began = False, time.monotonic()
        return count

    def after_step(self, wants_save):
        """End a step; stop all processes if one is asked to, and return whether to write a checkpoint now."""
        self._longest = max(self._longest, time.monotonic() - self._began)
        asked, reason = self.asked.asked, self.asked.reason
        flags = [asked and reason == "interrupted", asked and reason != "interrupted", wants_save]
        interrupted, limited, save = self.total(np.array(flags, np.int32))
        if interrupted or limited:
            self.stop.asked, self.stop.reason = True, "interrupted" if interrupted else "max_minutes"
        self.bytes_per_step = self.summed or self.bytes_per_step
        return bool(save)

    def ask_to_stop(self, stop, reason):
        """Request the end of training after the current step; ``stop`` is the flag of a single process."""
        flag = self.asked if self.size > 1 else stop
        if not flag.asked:
            flag.asked, flag.reason = True, reason

    def settle_stop(self):
        """Stop all processes, between steps, if one of them is asked to stop."""
        for asked, reason in self.gather_values([self.asked.asked, self.asked.reason]):
            if asked:
                self.stop.asked, self.stop.reason = True, reason

    def mean(self, values):
        """Average metrics over the items of the whole batch, from each process's mean over its own items."""
        if self.multiple > 1:  # they already cover the whole batch
            return list(values)
        return self.total(np.array(values, np.float64) * self.weight).tolist()

    def busy(self):
        """Begin work that may take long, so that this process does not count as hanging."""
        self._busy = True

    def gather(self, rows, begin, count):
        """Return the ``count`` rows of all processes, in order; those of this process begin at ``begin``."""
        whole = np.zeros((count, *rows.shape[1:]), rows.dtype)
        whole[begin : begin + len(rows)] = rows
        return self._united(whole)

    def gather_values(self, value):
        """Return the values of all processes, in order of rank."""
        text = np.frombuffer(json.dumps(value).encode("utf-8"), np.uint8)
        lengths = self.gather(np.array([len(text)]), self.rank, self.size)
        rows = self.gather(np.pad(text, (0, max(lengths) - len(text)), "constant")[None], self.rank, self.size)
        return [json.loads(row[:length].tobytes().decode("utf-8")) for row, length in zip(rows, lengths)]

    def agree(self, value):
        return self.gather_values(value)[0]

    def unite(self, model):
        """Give all processes the weights of the first."""
        if self.multiple > 1:  # XLA sums the gradients, and statistics of normalization, which are not counted
            self.bytes_per_step = sum(each.value.nbytes for each in model.trainable_variables)
        if self.size > 1:
            weights = [np.asarray(each) for each in model.get_weights()]
            model.set_weights([self._united(each if self.rank == 0 else np.zeros_like(each)) for each in weights])

    def _united(self, array):
        """Return an array of which each process has some items; the rest of its array must be zero.

        Bytes are summed as integers, which does not change them.
        """
        self.busy()
        content = array.tobytes()
        padded = content + bytes(BLOCK - len(content) % BLOCK)
        whole = np.array(self.total(np.frombuffer(padded, np.int32))).view(np.uint8)
        return whole[: len(content)].view(array.dtype).reshape(array.shape)


# The groups that this process has joined; the last one is the current one.
joined = [Group()]


def current():
    return joined[-1]

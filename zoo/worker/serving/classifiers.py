"""What classifiers share that answer batches of any number of items up to a limit."""

import numpy as np

from zoo.worker.inference.outputs import finite


class Slots:
    """Answers what lies in a slot with what is written into the slot of the same number.

    Args:
        settings: the ``serve`` part of the request.
        kind: of the numbers in a slot.
        predict: from the items of a slot to rows of numbers.
        at_once: how many slots may be asked for at once, by threads.
    """

    def __init__(self, settings, kind, predict, at_once=1):
        shape, self.at_once = tuple(settings.shape), at_once
        self._inputs = np.memmap(settings.inputs, kind, "r", shape=shape)
        self._outputs = np.memmap(settings.outputs, np.float32, "r+", shape=(*shape[:2], settings.classes))
        self._predict = predict

    def __call__(self, asked):
        slot, count = asked["slot"], asked["count"]
        self._outputs[slot, :count] = finite(self._predict(self._inputs[slot, :count]))


def sizes_of(most, partial):
    """Sizes of batches that are compiled: two where a device takes fewer items than those, else all powers of 2."""
    sizes = {1, most}
    return sorted(sizes if partial else sizes | {1 << bit for bit in range(most.bit_length()) if 1 << bit < most})


def filled(rows, sizes):
    """The rows, and as many empty ones as the next size asks for."""
    missing = min(size for size in sizes if size >= len(rows)) - len(rows)
    if not missing:
        return np.ascontiguousarray(rows)
    return np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)])

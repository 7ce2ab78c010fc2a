"""Shared parts of classifiers that answer batches of any number of items up to a limit."""

import numpy as np

from zoo.worker.inference.outputs import finite


class Slots:
    """Predicts the items of an input slot, and writes the results to the output slot with the same number.

    Args:
        kind: dtype of the numbers in a slot.
        predict: from the items of a slot to rows of numbers.
        at_once: number of slots that threads may answer concurrently.
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
    """Return the batch sizes to compile: two if the device accepts fewer items, else all powers of 2."""
    sizes = {1, most}
    return sorted(sizes if partial else sizes | {1 << bit for bit in range(most.bit_length()) if 1 << bit < most})


def filled(rows, sizes):
    """Return the rows, padded to the next size."""
    missing = min(size for size in sizes if size >= len(rows)) - len(rows)
    if not missing:
        return np.ascontiguousarray(rows)
    return np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)])

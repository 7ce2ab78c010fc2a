"""Classifiers that answer batches of any number of items up to a limit."""

import numpy as np

from zoo.models import compat
from zoo.worker import devices, weights
from zoo.worker.inference import predictors
from zoo.worker.inference.outputs import finite
from zoo.worker.model import build
from zoo.worker.training.setup import build_for_texts
from zoo.worker.training.text_batches import TokenizedTexts


def pictures(request):
    """Build a classifier of pictures.

    Args:
        request: its ``serve`` part holds ``inputs`` and ``outputs``, the paths of the slots; their ``shape``, (slots,
            batch, height, width, channels); ``classes`` and ``precision``.

    Returns:
        The function that answers ``{"slot": ..., "count": ...}``.
    """
    settings = request["serve"]
    device = devices.load(request["device"]["framework"])
    predictors.prepare(device, settings["precision"])
    model, preprocess = build(request)
    if request["weights"]:
        weights.load(model, request["weights"])
    shape = tuple(settings["shape"])
    partial = hasattr(device, "predictor")
    by_size = {
        size: predictors.of(device, model, preprocess, (size, *shape[2:])) for size in _sizes(shape[1], partial)
    }
    for size, predict in by_size.items():
        predict(np.zeros((size, *shape[2:]), np.uint8))
    return _Slots(settings, np.uint8, lambda rows: _predicted(by_size, rows, partial), shape[0] if partial else 1)


def texts(request):
    """Build a classifier of texts; as :func:`pictures`, with slots of int32 (slots, batch, length), padded with 0.

    Texts are cut to the length of the longest in their batch, rounded up so that few lengths are compiled.
    """
    settings = request["serve"]
    predictors.prepare(devices.load(request["device"]["framework"]), settings["precision"])
    model = build_for_texts(request)
    weights.load(model, request["weights"])
    arguments = request["model"]["args"]
    sizes = _sizes(settings["shape"][1], False)

    def predict(rows):
        batch = _narrowed(rows, arguments["length"], arguments["fixed"])
        return compat.predict(model, _filled(batch, sizes))[: len(rows)]

    for size in sizes:
        predict(np.ones((size, settings["shape"][2]), np.int32))
    return _Slots(settings, np.int32, predict)


class _Slots:
    """Answers what lies in a slot with what is written into the slot of the same number.

    Args:
        settings: the ``serve`` part of the request.
        kind: of the numbers in a slot.
        predict: from the items of a slot to rows of numbers.
        at_once: how many slots may be asked for at once, by threads.
    """

    def __init__(self, settings, kind, predict, at_once=1):
        shape, self.at_once = tuple(settings["shape"]), at_once
        self._inputs = np.memmap(settings["inputs"], kind, "r", shape=shape)
        self._outputs = np.memmap(settings["outputs"], np.float32, "r+", shape=(*shape[:2], settings["classes"]))
        self._predict = predict

    def __call__(self, asked):
        slot, count = asked["slot"], asked["count"]
        self._outputs[slot, :count] = finite(self._predict(self._inputs[slot, :count]))


def _sizes(most, partial):
    """Sizes of batches that are compiled: two where a device takes fewer items than those, else all powers of 2."""
    sizes = {1, most}
    return sorted(sizes if partial else sizes | {1 << bit for bit in range(most.bit_length()) if 1 << bit < most})


def _predicted(by_size, rows, partial):
    size = min(size for size in by_size if size >= len(rows))
    return by_size[size](rows if partial else _filled(rows, [size]))[: len(rows)]


def _filled(rows, sizes):
    """The rows, and as many empty ones as the next size asks for."""
    missing = min(size for size in sizes if size >= len(rows)) - len(rows)
    if not missing:
        return np.ascontiguousarray(rows)
    return np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)])


def _narrowed(rows, length, fixed):
    """Rows without the columns that are padding in all of them."""
    lengths = np.maximum(1, (rows != 0).sum(axis=1))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.concatenate([row[:size] for row, size in zip(rows, lengths)])
    return TokenizedTexts(tokens, offsets, length, fixed).batch(np.arange(len(rows)))

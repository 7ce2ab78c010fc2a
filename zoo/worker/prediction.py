"""Predict many items in batches of one size: a new shape would mean compiling anew."""

import numpy as np

from zoo.models import compat
from zoo.worker.inference.outputs import finite


def predict_batches(model, batches, size, stop=None):
    """Yield the predictions of each batch, of which those with fewer than ``size`` items are padded meanwhile.

    Args:
        model: the Keras model.
        batches: arrays of inputs, ``size`` items or fewer.
        size: items that the model gets at a time.
        stop: looked at before each batch but the first; when asked to, the rest is left out.
    """
    for number, batch in enumerate(batches):
        if number and stop is not None and stop.asked:
            return
        count = len(batch)
        if count < size:
            batch = np.concatenate([batch, np.zeros((size - count, *batch.shape[1:]), batch.dtype)])
        yield compat.predict(model, batch)[:count]


def slices(rows, size, preprocess):
    """Yield rows as inputs of a model, some at a time."""
    for begin in range(0, len(rows), size):
        yield preprocess(rows[begin : begin + size])


def probabilities(model, preprocess, pixels, batch_size, stop=None, progress=None):
    """Predict every picture.

    Args:
        model: the Keras model.
        preprocess: from stored pixels to its input.
        pixels: (n, height, width, channels), may be memory-mapped.
        batch_size: pictures at a time.
        stop: looked at between batches; when asked to, the rest is left out.
        progress: called with the number of pictures done so far.

    Returns:
        (n, classes) float32.

    Raises:
        UserError: one of them is not finite.
    """
    size, parts, done = min(batch_size, len(pixels)), [], 0
    for predicted in predict_batches(model, slices(pixels, size, preprocess), size, stop):
        parts.append(finite(predicted))
        done += len(predicted)
        if progress:
            progress(done)
    return np.concatenate(parts)

"""Predict many items in batches of one size, because frameworks compile again for each new shape."""

import os

import numpy as np

from zoo.models import compat
from zoo.worker.files import atomic_write
from zoo.worker.inference.outputs import finite
from zoo.worker.metrics import score


def predict_batches(model, batches, size, stop=None):
    """Yield the predictions of each batch; batches with fewer than ``size`` items are padded for the model.

    ``stop`` is checked before each batch but the first, and ends the predictions early.
    """
    for number, batch in enumerate(batches):
        if number and stop is not None and stop.asked:
            return
        count = len(batch)
        if count < size:
            batch = np.concatenate([batch, np.zeros((size - count, *batch.shape[1:]), batch.dtype)])
        yield compat.predict(model, batch)[:count]


def slices(rows, size, preprocess):
    for begin in range(0, len(rows), size):
        yield preprocess(rows[begin : begin + size])


def probabilities(model, preprocess, pixels, batch_size):
    """Predict every image; return (n, classes) float32.

    ``pixels`` is (n, height, width, channels), may be memory-mapped; ``preprocess`` maps them to the model's input.
    """
    size = min(batch_size, len(pixels))
    return finite(np.concatenate(list(predict_batches(model, slices(pixels, size, preprocess), size))))


def save(request, events, predicted):
    """Write ``probabilities.npy``; return loss and accuracy as metrics, if the request has labels for classes."""
    path = os.path.join(request.run_dir, "probabilities.npy")
    with atomic_write(path) as out:
        np.save(out, predicted, allow_pickle=False)
    events.emit("artifact", kind="probabilities", path=path)
    if not request.data.labels or request.model.target:
        return {}
    labels = np.load(request.data.labels, allow_pickle=False)[: len(predicted)]
    return dict(zip(("test_loss", "test_accuracy"), score(predicted, labels)))

"""A text classifier."""

import numpy as np

from zoo.models import compat
from zoo.worker import devices
from zoo.worker.inference import predictors
from zoo.worker.serving.classifiers import Slots, filled, sizes_of
from zoo.worker.training.setup import build_trained_for_texts
from zoo.worker.training.text_batches import TokenizedTexts


def answerer(request):
    """Build a text classifier; return the function that answers slots of int32 (slots, batch, length), padded with 0.

    Texts are cut to the length of the longest in their batch, rounded up so that few lengths are compiled.
    """
    settings = request.serve
    predictors.prepare(devices.load(request.device.framework), settings.precision)
    model = build_trained_for_texts(request)
    arguments = request.model.args
    sizes = sizes_of(settings.shape[1], False)

    def predict(rows):
        lengths = np.maximum(1, (rows != 0).sum(axis=1))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tokens = np.concatenate([row[:size] for row, size in zip(rows, lengths)])
        batch = TokenizedTexts(tokens, offsets, arguments["length"], arguments["fixed"]).batch(np.arange(len(rows)))
        return compat.predict(model, filled(batch, sizes))[: len(rows)]

    for size in sizes:
        predict(np.ones((size, settings.shape[2]), np.int32))
    return Slots(settings, np.int32, predict)

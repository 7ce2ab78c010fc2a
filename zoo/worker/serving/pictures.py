"""A classifier of images."""

import numpy as np

from zoo.worker import devices
from zoo.worker.inference import predictors
from zoo.worker.model import build_trained
from zoo.worker.serving.classifiers import Slots, filled, sizes_of


def answerer(request):
    """Build an image classifier; return the function that answers ``{"slot": ..., "count": ...}``.

    The ``shape`` of the slots is (slots, batch, height, width, channels).
    """
    settings = request.serve
    device = devices.load(request.device.framework)
    predictors.prepare(device, settings.precision)
    model, preprocess = build_trained(request)
    shape = tuple(settings.shape)
    partial = hasattr(device, "predictor")
    sizes = sizes_of(shape[1], partial)
    by_size = {size: predictors.of(device, model, preprocess, (size, *shape[2:])) for size in sizes}
    for size, predict in by_size.items():
        predict(np.zeros((size, *shape[2:]), np.uint8))

    def predicted(rows):
        size = min(size for size in sizes if size >= len(rows))
        return by_size[size](rows if partial else filled(rows, [size]))[: len(rows)]

    return Slots(settings, np.uint8, predicted, shape[0] if partial else 1)

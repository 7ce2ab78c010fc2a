"""A style network that answers one image at a time."""

import types

import numpy as np

from zoo.models import compat
from zoo.models.style_transfer import fast as network
from zoo.worker import devices, weights
from zoo.worker.exporting import programs
from zoo.worker.inference import predictors, tiles

SIZES = types.SimpleNamespace(multiple=network.GRAIN, least=network.LEAST_EDGE)


def answerer(request):
    """Build a style network; return the function that answers ``{"slot": ..., "rows": ..., "columns": ...}``.

    Pixels are uint8 RGB. The ``shape`` of the slots is (slots, bytes).
    """
    settings = request.serve
    predictors.prepare(devices.load(request.device.framework), settings.precision)
    model = network.build(compat, initializer="zeros", **request.model.args)
    weights.load(model, request.weights)
    shape = tuple(settings.shape)
    inputs = np.memmap(settings.inputs, np.uint8, "r", shape=shape)
    outputs = np.memmap(settings.outputs, np.uint8, "r+", shape=shape)

    def answer(asked):
        size = asked["rows"], asked["columns"], 3
        count = int(np.prod(size))
        pixels = programs.padded(inputs[asked["slot"], :count].reshape(size), SIZES)
        restyled = tiles.to_pixels(compat.outputs(model, pixels[None])[0][0])[: size[0], : size[1]]
        outputs[asked["slot"], :count] = restyled.ravel()

    return answer

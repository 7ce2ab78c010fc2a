"""Build the model that a request asks for."""

import numpy as np

from zoo.models import compat, module_of
from zoo.models.preprocessing import to_unit
from zoo.worker import endings, weights
from zoo.worker.errors import UserError
from zoo.worker.inference import features
from zoo.worker.training import checkpoint_files


def build(request):
    """Build the request's model; return it and its preprocessing of stored pixels.

    The argument ``normalise``, (mean, scale) by channel of pixels 0..255, replaces the network's own preprocessing.
    """
    return build_model(request.model, not request.weights and checkpoint_files.resumed(request) is None)


def build_trained(request):
    """Build the request's model with its weights, cut off after the layer of its ``features``, if any."""
    model, preprocess = build(request)
    if request.weights:
        # For features, the last layer's weights may be missing.
        fill = weights.load_but_head if request.features else weights.load
        fill(model, request.weights)
    if request.features:
        return features.cut(request, model), preprocess
    return endings.in_unit(model, request.model.target), preprocess


def build_model(model, load=True):
    """Build a model as :func:`build` does; ``load`` is whether to load published weights."""
    arguments = dict(model.args)
    own = arguments.pop("normalise", None)
    if model.file:
        from zoo.worker import own_model

        return own_model.build(model.replace(args=arguments)), normalising(*own) if own else to_unit
    if model.saved:
        from zoo.worker import frozen_model, saved_model

        preprocess = normalising(*own)
        if arguments.get("bgr"):
            scaled = preprocess
            preprocess = lambda pixels: scaled(pixels)[..., ::-1]  # noqa: E731
        if arguments["channels"] == 1:
            preprocess = saved_model.grayscale(preprocess)
        if arguments.get("frozen"):
            return frozen_model.build(model), preprocess
        network = saved_model.build(model)
        return network, saved_model.fitting(network, preprocess)
    if model.name.startswith("keras/"):
        from zoo.worker import keras_application

        network, preprocess = keras_application.build(model.replace(args=arguments), load)
        return endings.for_target(network, model.learns), normalising(*own) if own else preprocess
    module = module_of(model.name)
    try:
        network = endings.for_target(module.build(compat, **arguments), model.learns)
        return network, normalising(*own) if own else module.preprocess
    except ValueError as error:
        raise UserError("the model %s cannot be built: %s" % (model.name, error)) from error


def normalising(mean, scale):
    """Return the function that maps pixels, channels last, to (pixels - mean) / scale as float32."""
    mean, scale = np.array(mean, np.float32), np.array(scale, np.float32)
    return lambda pixels: (np.asarray(pixels, np.float32) - mean) / scale

"""Build the networks of keras.applications by name, with the stack's own Keras."""

import contextlib
import inspect
from unittest.mock import patch

import numpy as np

from zoo.models import compat
from zoo.worker.errors import UserError, describe

PREFIX = "keras/"


def catalogue():
    """Return name -> edge of its images in pixels, or None, for every architecture of this Keras."""
    functions = inspect.getmembers(compat.keras.applications, inspect.isfunction)
    with_top = [pair for pair in functions if "include_top" in inspect.signature(pair[1]).parameters]
    return {name: _size(function) for name, function in with_top}


def _module(function):
    return inspect.unwrap(function).__globals__


def _size(function):
    """Return the default image size of an architecture, by intercepting the check of its input shape."""
    utilities = _module(function).get("imagenet_utils")
    if not hasattr(utilities, "obtain_input_shape"):
        return None

    sizes = []

    def capture(input_shape, default_size, *_, **__):
        sizes.append(int(default_size))
        raise StopIteration  # the network itself is not needed

    # In an unknown version of Keras, another error may come first: then the user must set the size.
    with patch.object(utilities, "obtain_input_shape", capture), contextlib.suppress(Exception):
        function(weights=None)
    return sizes[0] if sizes else None


def build(model, load):
    """Build a network; return the Keras model, which ends in probabilities, and Keras's preprocessing.

    Args:
        model: ``name``, such as ``keras/EfficientNetB0``, and ``args``: ``input_shape``, ``classes``, ``weights`` and
            ``bn_momentum``, the largest momentum of batch normalization, or None.
        load: whether to load the weights for weights=imagenet, or keep random weights in the same network.
    """
    name, arguments = model.name[len(PREFIX) :], model.args
    if name not in catalogue():
        raise UserError("Keras %s has no architecture %s" % (compat.version(), name))
    function = getattr(compat.keras.applications, name)
    shape, classes = tuple(arguments["input_shape"]), arguments["classes"]
    compat.prepare_for_foreign_code()
    try:
        with _forgetting(arguments.get("bn_momentum")):
            if arguments.get("weights") == "imagenet":
                network = _published(function, shape, classes, load)
            else:
                network = function(weights=None, input_shape=shape, classes=classes)
    except Exception as error:
        raise UserError("Keras %s cannot build %s: %s" % (compat.version(), name, _said(error))) from error
    preprocess = _module(function)["preprocess_input"]
    return network, lambda pixels: np.asarray(preprocess(np.array(pixels, np.float32)), np.float32)


def _forgetting(most):
    """Limit the momentum of batch normalization in new layers; None keeps the architecture's value."""
    kind = compat.keras.layers.BatchNormalization
    original = kind.__init__

    def init(self, *args, **named):
        original(self, *args, **named)
        self.momentum = min(self.momentum, most)

    return patch.object(kind, "__init__", original if most is None else init)


def _said(error):
    words = describe(error)
    if "fetch" in words or "URL" in words:
        words += " (Keras downloads weights=imagenet; without a network, use weights=none or a file)"
    return words


def _published(function, shape, classes, load):
    """Return the network for published weights, which in some architectures differs from the untrained network."""
    with contextlib.ExitStack() as stack:
        if not load:
            names = _module(function)
            utilities = names.get("file_utils") or names["data_utils"]
            stack.enter_context(patch.object(utilities, "get_file", lambda *_, **__: ""))
            stack.enter_context(patch.object(compat.keras.models.Model, "load_weights", lambda *_, **__: None))
        if classes == 1000:
            return function(weights="imagenet", input_shape=shape)
        trunk = function(weights="imagenet", input_shape=shape, include_top=False, pooling="avg")
    layers = compat.keras.layers
    top = layers.Dense(classes, activation="softmax", name="predictions", **compat.full_precision())
    x = layers.Dropout(0.2, name="top_dropout")(trunk.outputs[0])
    return compat.keras.models.Model(inputs=trunk.inputs[0], outputs=top(x), name=trunk.name)

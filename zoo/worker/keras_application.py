"""Build the networks of keras.applications: those that the stack's own Keras has, by their names there."""

import contextlib
import inspect

import numpy as np

from zoo.models import compat
from zoo.worker.errors import UserError, describe

PREFIX = "keras/"


class _SizeFoundError(Exception):
    """Carries the size that an architecture is made for out of its function."""


def catalogue():
    """Name every architecture of this Keras, each with the edge of its images in pixels, or None."""
    applications = compat.keras.applications
    members = {name: getattr(applications, name) for name in dir(applications)}
    functions = {name: value for name, value in members.items() if inspect.isfunction(value)}
    return {name: _size(function) for name, function in sorted(functions.items()) if _takes(function, "include_top")}


def _takes(function, name):
    return name in inspect.signature(function).parameters


def _module(function):
    """The names in the module that an architecture is defined in."""
    return inspect.unwrap(function).__globals__


def _size(function):
    """Ask an architecture for its size: the first thing that each does is to determine the shape of its input."""
    utilities = _module(function).get("imagenet_utils")
    original = getattr(utilities, "obtain_input_shape", None)
    if original is None:
        return None

    def capture(input_shape, default_size, *_, **__):
        raise _SizeFoundError(default_size)

    utilities.obtain_input_shape = capture
    try:
        function(weights=None)
    except _SizeFoundError as size:
        return int(size.args[0])
    except Exception:  # another order of things than in any Keras so far: the user names the size
        return None
    finally:
        utilities.obtain_input_shape = original
    return None


def build(model, load):
    """Build a network.

    Args:
        model: ``name``, such as ``keras/EfficientNetB0``, and ``args``: ``input_shape``, ``classes``, ``weights`` and
            ``bn_momentum``, the most that moving averages of batch normalization keep in a step, or None.
        load: whether weights=imagenet are loaded; else the network is built for them and keeps its first numbers.

    Returns:
        (model, preprocess): the Keras model, which ends in probabilities, and Keras's own preprocessing.

    Raises:
        UserError: this Keras has no such architecture, or cannot build it or load its weights.
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
    return network, _preprocessing(_module(function)["preprocess_input"])


@contextlib.contextmanager
def _forgetting(most):
    """Let moving averages of what is built keep at most this share in a step; None: what the architecture says."""
    kind = compat.keras.layers.BatchNormalization
    original = kind.__init__

    def init(self, *args, **named):
        original(self, *args, **named)
        self.momentum = min(self.momentum, most)

    if most is not None:
        kind.__init__ = init
    try:
        yield
    finally:
        kind.__init__ = original


def _said(error):
    words = describe(error)
    if "fetch" in words or "URL" in words:
        words += " (weights=imagenet is downloaded by Keras; without a network take weights=none or a file)"
    return words


def _published(function, shape, classes, load):
    """The network as it is with published weights, which for some is another one than without."""
    with contextlib.ExitStack() as stack:
        if not load:
            stack.enter_context(_without_loading(function))
        if classes == 1000:
            return function(weights="imagenet", input_shape=shape)
        trunk = function(weights="imagenet", input_shape=shape, include_top=False, pooling="avg")
    layers = compat.keras.layers
    top = layers.Dense(classes, activation="softmax", name="predictions", **compat.full_precision())
    x = layers.Dropout(0.2, name="top_dropout")(trunk.outputs[0])
    return compat.keras.models.Model(inputs=trunk.inputs[0], outputs=top(x), name=trunk.name)


@contextlib.contextmanager
def _without_loading(function):
    """Let an architecture find its files and load nothing from them."""
    names, model = _module(function), compat.keras.models.Model
    utilities = names.get("file_utils") or names["data_utils"]
    before = utilities.get_file, model.load_weights
    utilities.get_file, model.load_weights = (lambda *_, **__: ""), (lambda *_, **__: None)
    try:
        yield
    finally:
        utilities.get_file, model.load_weights = before


def _preprocessing(function):
    return lambda pixels: np.asarray(function(np.array(pixels, np.float32)), np.float32)

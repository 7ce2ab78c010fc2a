"""Features of images: the output of a layer inside a network, written to a file as it is computed.

Without a layer name, features are the input of the last layer with weights, before dropout. A network that ends in
feature maps or pooling is used as a whole.
"""

import difflib

import numpy as np

from zoo.models import compat
from zoo.models.saved_weights import listed
from zoo.worker.errors import UserError
from zoo.worker.frozen_model import FrozenModel
from zoo.worker.inference.outputs import finite

POOLING = ("GlobalAverage", "GlobalMax", "AveragePooling", "MaxPooling")
HEADER_BYTES = 256
SEVERAL = "the layer %s is used in several places: choose another one with output.layer=NAME"


def trunk(model, layer=None):
    """Cut a network off after a layer; return the Keras model that outputs this layer, and the layer's name.

    ``layer`` may be in a nested network; None selects the default.
    """
    tensor = _usual(model) if layer is None else _tensor(model, _path(model, layer))
    if isinstance(tensor, (list, tuple)):
        words = "the layer %s has %d outputs: choose one with a single output with output.layer=NAME"
        raise UserError(words % (layer, len(tensor)))
    name = layer or tensor._keras_history[0].name
    try:
        return compat.keras.models.Model(inputs=model.inputs[0], outputs=tensor), name
    except ValueError as error:  # a layer that is also used outside of this network
        raise UserError(SEVERAL % name) from error


def cut(request, model):
    """Cut off the model of a request after the layer of its ``features``; set the layer's name in the request."""
    if isinstance(model, FrozenModel):
        model.choose(request.features.layer or request.model.args.get("output"), request.model.saved)
        request.features.layer = model.name
        return model
    part, request.features.layer = trunk(model, request.features.layer)
    return part


def described(request, out):
    """Return the fields of the ``done`` event about features that were written."""
    return {"layer": request.features.layer, "shape": list(out.shape)}


def _usual(model):
    layers = list(model.layers)
    weighted = [number for number, layer in enumerate(layers) if layer.weights]
    if not weighted or _is_headless(model, layers[weighted[-1] + 1 :]):
        return model.outputs[0]
    first = weighted[-1]
    while type(layers[first - 1]).__name__ == "Dropout":
        first -= 1
    if not _is_model(layers[first]):
        return layers[first].input
    return _inside(layers[first], _usual(layers[first]))


def _is_headless(model, after):
    """Return whether a network has no classes: it ends in feature maps, or in a pooling after all weights."""
    if len(compat.static_shape(model.outputs[0])) > 2:
        return True
    return bool(after) and type(after[-1]).__name__.startswith(POOLING)


def _is_model(layer):
    return isinstance(layer, compat.keras.models.Model)


def _inside(network, tensor):
    part = compat.keras.models.Model(inputs=network.inputs[0], outputs=tensor)
    return part(_single(_connection(network).input_tensors))


def _connection(layer):
    """Return the layer's last use in a network; for a nested network, that is the use in the outer one."""
    return layer._inbound_nodes[-1]


def _tensor(model, path):
    layer, inner = path[0], path[1:]
    if inner:
        return _inside(layer, _tensor(layer, inner))
    try:
        return _single(_connection(layer).output_tensors) if _is_model(layer) else layer.output
    except (AttributeError, ValueError) as error:
        raise UserError(SEVERAL % layer.name) from error


def _single(tensors):
    """Return the only tensor of a list; some Keras versions return it without a list."""
    return tensors[0] if isinstance(tensors, (list, tuple)) and len(tensors) == 1 else tensors


def _path(model, name):
    """Return the layer with a name, preceded by the networks that contain it, outermost first."""
    paths = list(_paths(model))
    for path in sorted(paths, key=len):
        if path[-1].name == name:
            return path
    raise unknown_layer(name, "output.layer", [path[-1].name for path in paths], 3)


def unknown_layer(name, key, names, most=1):
    """Return the error for a layer that a setting names and the model does not have, with ``most`` similar names."""
    near = difflib.get_close_matches(name, names, most, 0.5)
    hint = "; did you mean %s?" % " or ".join(map(repr, near)) if near else ""
    return UserError("the model has no layer %r (%s)%s; its layers are %s" % (name, key, hint, listed(names)))


def _paths(model):
    for layer in model.layers:
        yield [layer]
        for path in _paths(layer) if _is_model(layer) else ():
            yield [layer, *path]


class FeatureFile:
    """A float32 ``.npy`` file that grows by a few rows at a time, and is valid after each addition.

    If the process is killed, the file has all rows written so far. ``shape`` is the shape of one image's features; if
    only one axis is longer than 1, they are stored as vectors.
    """

    def __init__(self, path, shape):
        count = int(np.prod(shape))
        self.shape = (count,) if count == max(shape) else tuple(int(size) for size in shape)
        self.rows = 0
        self._out = open(path, "wb")  # noqa: SIM115  (open for as long as images come)
        self._write_header()

    def add(self, features):
        self._out.seek(0, 2)
        self._out.write(np.ascontiguousarray(finite(features), "<f4").tobytes())
        self._out.flush()
        self.rows += len(features)
        self._write_header()

    def _write_header(self):
        """Write the header of NumPy's format 1.0, with a fixed length."""
        shape = "(%s,)" % ", ".join(str(size) for size in (self.rows, *self.shape))
        words = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % shape
        length = HEADER_BYTES - 10
        self._out.seek(0)
        self._out.write(b"\x93NUMPY\x01\x00" + bytes((length % 256, length // 256)))
        self._out.write(words.ljust(length - 1).encode("ascii") + b"\n")
        self._out.flush()

"""Load a saved model of any origin with the stack's own Keras, in its safe mode if it has one."""

import collections
import inspect
import io
import json
import os
import re
import tempfile
import zipfile

import numpy as np

from zoo.models import compat
from zoo.worker.errors import UserError, describe
from zoo.worker.own_model import activation_of, ending_in_probabilities


def build(model):
    """Load the file of a request's model, and make it end in a probability for each class.

    Changes are added to the ``notes`` of the model. If ``classes`` is None, the model is not changed.
    """
    path, classes = model.saved, model.args["classes"]
    loaded = _load(path)
    counts = len(getattr(loaded, "inputs", None) or ()), len(getattr(loaded, "outputs", None) or ())
    if counts != (1, 1):
        raise UserError("%s has %d inputs and %d outputs, not one of each" % ((path, *counts)))
    shape = compat.static_shape(loaded.outputs[0])
    if classes is None:  # for features: the output does not matter
        return loaded
    if type(loaded.layers[-1]).__name__ == "UnitNormalization":
        raise UserError("%s ends in a vector of length 1: an embedding of an image, not classes" % path)
    if len(shape) == 4:
        raise UserError("%s ends in %s: an image or a map of classes, not one answer for an image" % (path, shape))
    if len(shape) != 2 or shape[1] not in ((classes, 1) if classes == 2 else (classes,)):
        words = "%s ends in %s; with %d class names it must be (None, %d)"
        raise UserError(words % (path, shape, classes, classes))
    ending, notes = activation_of(loaded), []
    model.notes = notes
    if shape[1] == 1:
        what = "logit" if ending == "linear" else "probability"
        notes.append("The model has one output number (%s), used as the %s of the second class" % (ending, what))
        return _of_two(loaded, ending)
    if model.args.get("labels"):
        notes.append("Each number is the probability of one label (%s): an image may have several labels" % ending)
        return ending_in_probabilities(loaded, "sigmoid")
    if ending == "linear":
        notes.append("The model has no final activation: a softmax is applied")
    elif ending != "softmax":
        notes.append("The model ends in %s instead of a softmax; its outputs are shown unchanged" % ending)
    return ending_in_probabilities(loaded)


def _load(path):
    load = compat.keras.models.load_model
    options = {"safe_mode": True} if "safe_mode" in inspect.signature(load).parameters else {}
    if compat.MAJOR < 3:
        options["custom_objects"] = {"InputLayer": _input_layer(compat.keras.layers.InputLayer)}
    with tempfile.TemporaryDirectory() as folder:
        named = _with_suffix(path, folder)
        try:
            later = _of_later_keras_2(path, options["custom_objects"]) if compat.MAJOR < 3 else None
            return later or load(named, compile=False, **options)
        except Exception as error:
            words = "Keras %s cannot load %s: %s" % (compat.version(), path, describe(error).replace(named, path))
            raise UserError(words + ". Only objects of this Keras are loaded") from error


def _of_later_keras_2(path, objects):
    """Load a .keras file of Keras 2.13 to 2.15, which stores weights as Keras 3 does; return None for other files."""
    import h5py

    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive, h5py.File(io.BytesIO(archive.read("model.weights.h5")), "r") as stored:
        if "layers" not in stored:
            return None
        from keras.saving import serialization_lib

        config = json.loads(archive.read("config.json").decode())
        model = serialization_lib.deserialize_keras_object(config, custom_objects=objects, safe_mode=True)
        _fill(model, stored)
    return model


def _fill(model, stored):
    """Set the weights of all layers, whose groups are named after their classes: conv2d, conv2d_1, ..."""
    counts = collections.Counter()
    for layer in model.layers:
        kind = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", type(layer).__name__)
        kind = re.sub(r"([a-z])([A-Z])", r"\1_\2", kind).lower()
        part = stored["layers/" + (kind if not counts[kind] else "%s_%d" % (kind, counts[kind]))]
        counts[kind] += 1
        if hasattr(layer, "layers"):
            _fill(layer, part)
        elif layer.weights:
            layer.set_weights([part["vars/%d" % number][()] for number in range(len(layer.weights))])


def _input_layer(original):
    """Return a class that drops ``optional``, an argument of tf_keras 2.16 that Keras 2.12 does not know."""

    class InputLayer(original):
        @classmethod
        def from_config(cls, config):
            return original(**{key: value for key, value in config.items() if key != "optional"})

    return InputLayer


def _with_suffix(path, folder):
    """Return a path with the suffix that Keras 3 needs: the path itself, or a link in a folder."""
    with open(path, "rb") as stream:
        suffixes = (".h5", ".hdf5") if stream.read(4) == b"\x89HDF" else (".keras",)
    if path.endswith(suffixes):
        return path
    named = os.path.join(folder, "model" + suffixes[0])
    os.symlink(os.path.abspath(path), named)
    return named


def _of_two(model, ending):
    """Return a model of the probabilities of both classes, from the probability or logit of the second."""
    layers = compat.keras.layers
    last = "softmax" if ending == "linear" else "linear"
    pair = layers.Dense(2, activation=last, name="probabilities", **compat.full_precision())
    whole = compat.keras.models.Model(inputs=model.inputs[0], outputs=pair(model.outputs[0]), name=model.name)
    kernel, bias = ([0, 1], [0, 0]) if ending == "linear" else ([-1, 1], [1, 0])
    pair.set_weights([np.array([kernel], np.float32), np.array(bias, np.float32)])
    return whole


def grayscale(preprocess):
    """Return a preprocessing that first converts color images to gray (ITU-R BT.601)."""
    weights = np.array([0.299, 0.587, 0.114], np.float32)
    return lambda pixels: preprocess(np.asarray(pixels, np.float32) @ weights[:, None])


def fitting(model, preprocess):
    """Return a preprocessing that drops the channel axis if the model's input is (batch, height, width)."""
    if len(compat.static_shape(model.inputs[0])) == 4:
        return preprocess
    return lambda pixels: preprocess(pixels)[..., 0]

"""Load weights from files into models of any Keras. Pickle is never read."""

import os
import re
import zipfile

import numpy as np


def load_weights(model, path):
    """Load weights from a file into a model.

    Args:
        model: a model of this package, or any Keras model whose layers and weights have the names in the file.
        path: ``.npz``, which every stack of the zoo writes and reads, or a file that Keras itself can load.

    Raises:
        ValueError: the file cannot be read, or weights are missing, surplus, of the wrong shape or not finite.
    """
    path = os.path.expanduser(str(path))
    if path.endswith(".npz"):
        load(model, path)
    elif path.endswith((".safetensors", ".pt", ".pth", ".bin")):
        raise ValueError(
            "%s contains PyTorch weights. Convert: `python -m zoo weights convert IN.safetensors OUT.npz`" % path
        )
    else:
        model.load_weights(path)


def load(model, path):
    """Load ``weights.npz`` into a model; raise ValueError as :func:`load_weights` does."""
    from zoo.models import compat

    wanted = compat.named_weights(model)
    arrays = renamed(read(path), [name for name, _ in wanted])
    problems = ["surplus " + name for name in sorted(set(arrays) - {name for name, _ in wanted})]
    model.set_weights(fitting(arrays, wanted, problems))


def renamed(arrays, wanted):
    """Rename arrays to the wanted names if they differ only by the conventions of Keras versions.

    Unnamed layers are numbered from 0 or from 1. ``expanded_conv/depthwise/BatchNorm`` of MobileNetV3 in Keras 2 is
    ``expanded_conv_depthwise_bn`` in Keras 3. Files of Keras 3 number the weights of a layer.
    """
    layers = {}
    for name in wanted:
        layers.setdefault(name.rpartition("/")[0], []).append(name)
    if any(_named(name, layers) != name for name in arrays):
        arrays = {_named(name, layers): value for name, value in arrays.items()}
    for keyed in (_numbered_from_0, _in_one_spelling):
        there, here = keyed(arrays), keyed(wanted)
        if set(arrays) != set(wanted) and there.keys() == here.keys() and len(there) == len(arrays):
            return {here[key]: arrays[name] for key, name in there.items()}
    return arrays


def _named(name, layers):
    """Return the name in the model of a numbered weight, such as ``att/0``."""
    layer, _, number = name.rpartition("/")
    own = layers.get(layer, [])
    return own[int(number)] if number.isdecimal() and name not in own and int(number) < len(own) else name


def _numbered_from_0(names):
    """Map each name, with the position of its layer among layers of the same kind, to the original name."""
    parts = {name: re.match(r"(.*?)(?:_(\d+))?(/[^/]*)$", name).groups() for name in names if "/" in name}
    numbers = {}
    for kind, number, _ in parts.values():
        numbers.setdefault(kind, set()).add(int(number or 0))
    places = {kind: {number: place for place, number in enumerate(sorted(each))} for kind, each in numbers.items()}
    return {(kind, places[kind][int(number or 0)], last): name for name, (kind, number, last) in parts.items()}


def _in_one_spelling(names):
    """Map each name, spelled as in Keras 3, to the original name."""
    return {name.lower().replace("batchnorm", "bn").replace("/", "_"): name for name in names}


def read(path):
    """Read the arrays of ``weights.npz``; raise ValueError if the file is damaged."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, TypeError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        # NumPy advises allow_pickle for every file that is not its own.
        whole = not os.path.isfile(path) or (zipfile.is_zipfile(path) and "allow_pickle" not in str(error))
        reason = error if whole else "it is not an .npz file of numbers, or it is truncated"
        raise ValueError("the weights in %s cannot be read: %s" % (path, reason)) from error


def fitting(arrays, wanted, problems):
    """Return the arrays in the order of ``wanted``, pairs of name and shape.

    Raise ValueError with up to ten problems of each kind, including the caller's ``problems``.
    """
    missing = ["missing " + name for name, _ in wanted if name not in arrays]
    present = [(name, arrays[name], shape) for name, shape in wanted if name in arrays]
    misshapen = [
        "%s has shape %s, the model needs %s" % (name, array.shape, shape)
        for name, array, shape in present
        if array.shape != shape
    ]
    not_finite = ["%s contains NaN or infinity" % name for name, array, _ in present if not np.isfinite(array).all()]
    kinds = [kind for kind in (missing, problems, misshapen, not_finite) if kind]
    if kinds:
        raise ValueError("these weights do not fit the model: " + "; ".join(listed(kind, "; ") for kind in kinds))
    return [arrays[name].astype(np.float32) for name, _ in wanted]


def listed(entries, separator=", ", most=10):
    """Join the first entries of a list, and append the number of remaining ones."""
    shown = separator.join(entries[:most])
    return "%s and %d more" % (shown, len(entries) - most) if len(entries) > most else shown

"""Read and write weights as plain arrays, in a file that every stack shares.

``weights.npz`` has one float32 array per weight under ``layer/weight``, convolution kernels in Keras order
(height, width, in, out). Pickle is never written or read.
"""

import contextlib

import numpy as np

from zoo.models import compat, saved_weights
from zoo.worker.errors import UserError
from zoo.worker.files import save_arrays


def initialise(model, seed):
    """Draw the initial weights with NumPy, so that a seed gives every stack the same initial weights.

    Only weights that Keras would draw as Glorot uniform (Glorot and Bengio 2010, equation 16), and random weights of
    the zoo's own layers are replaced.
    """
    random = np.random.RandomState(seed)
    deviations = compat.initial_deviations(model)
    drawn = []
    for (path, shape), value in zip(compat.named_weights(model), model.get_weights()):
        drawn.append(_draw(random, shape, deviations[path]) if path in deviations else value)
    model.set_weights(drawn)


def _draw(random, shape, deviation):
    if deviation is None:
        receptive = int(np.prod(shape[:-2])) if len(shape) > 2 else 1
        limit = np.sqrt(6.0 / (receptive * (shape[-2] + shape[-1])))
        return random.uniform(-limit, limit, shape).astype(np.float32)
    return (random.standard_normal(shape) * deviation).astype(np.float32)


def save(model, path, arrays=None):
    """Write ``weights.npz`` with ``arrays``, by default the model's current weights."""
    arrays = model.get_weights() if arrays is None else arrays
    named = {name: np.asarray(value, np.float32) for (name, _), value in zip(compat.named_weights(model), arrays)}
    save_arrays(path, named)


@contextlib.contextmanager
def _for_the_user():
    """Raise a ValueError about a file as a UserError, whose message the host shows."""
    try:
        yield
    except ValueError as error:
        raise UserError(str(error)) from error


@_for_the_user()
def load(model, path):
    """Fill a model from ``weights.npz``; on damaged or unsuitable files, UserError lists up to ten problems."""
    saved_weights.load(model, path)


@_for_the_user()
def load_part(model, path, own):
    """Fill a model, perhaps only the first layers of a network, from a ``weights.npz`` that may contain more.

    ``own`` are the names of layers that keep their current weights.
    """
    # Layer by layer, nothing is read back, which Keras on OpenVINO cannot do in bfloat16.
    wanted = [(name, shape) for name, shape in compat.named_weights(model) if name.split("/")[0] not in own]
    layers, values = dict(compat.named_layers(model)), {}
    for (name, _), value in zip(wanted, saved_weights.fitting(saved_weights.read(path), wanted, [])):
        values.setdefault(name.rsplit("/", 1)[0], []).append(value)
    for name, parts in values.items():
        layers[name].set_weights(parts)


@_for_the_user()
def load_but_head(model, path):
    """Fill a model from ``weights.npz``, except for a last layer with a different shape, which keeps its weights.

    Return the name of the last layer with weights if it kept them, or None.
    """
    wanted, head = compat.named_weights(model), [layer.name for layer in model.layers if layer.weights][-1]
    arrays = saved_weights.renamed(saved_weights.read(path), [name for name, _ in wanted])
    own = {name: value for (name, _), value in zip(wanted, model.get_weights()) if name.split("/")[0] == head}
    kept = any(name not in arrays or arrays[name].shape != value.shape for name, value in own.items())
    if kept:
        arrays.update(own)
    problems = ["surplus " + name for name in sorted(set(arrays) - {name for name, _ in wanted})]
    model.set_weights(saved_weights.fitting(arrays, wanted, problems))
    return head if kept else None


@_for_the_user()
def names(path):
    return list(saved_weights.read(path))

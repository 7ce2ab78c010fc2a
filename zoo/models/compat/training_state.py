"""Everything that a training step reads and changes, as arrays: what another process needs to go on exactly.

Belongs to ``compat``: how to reach an optimizer's state differs from Keras to Keras.
"""

import random

import numpy as np

from zoo.models import compat
from zoo.models.compat import random_state


def gather(model, trained):
    """Weights, optimizer state and random states: name -> array, exact to the bit.

    Args:
        model: the whole model.
        trained: the compiled model that is trained: the same, or one of layers of it.
    """
    found = {"weights/%05d" % n: np.array(value) for n, value in enumerate(model.get_weights())}
    found.update(("optimizer/%05d" % n, value) for n, value in enumerate(_optimizer_state(trained)))
    found.update(("seeds/%05d" % n, _array(variable)) for n, variable in enumerate(_seeds(model)))
    found.update(("draws/" + name, value) for name, value in random_state.state(compat.keras).items())
    found.update(("random/" + name, value) for name, value in _random_states().items())
    return found


def take_up(model, trained, arrays):
    """Put the models, and the random states of this process, where :func:`gather` found them.

    Raises:
        ValueError: the arrays come from another model or optimizer; what differs is named.
    """
    parts = {kind: _part(arrays, kind) for kind in ("weights", "optimizer", "seeds", "draws", "random")}
    _fit("weights", parts["weights"], model.get_weights())
    _fit("states of the optimizer", parts["optimizer"], _optimizer_state(trained))
    _fit("seeds", parts["seeds"], [_array(variable) for variable in _seeds(model)])
    take_weights(model, arrays)
    _set_optimizer_state(trained, list(parts["optimizer"].values()))
    for variable, value in zip(_seeds(model), parts["seeds"].values()):
        variable.assign(value)
    random_state.go_on(compat.keras, parts["draws"])
    _set_random_states(parts["random"])


def take_weights(model, arrays):
    """The weights alone, which every stack can use."""
    model.set_weights(list(_part(arrays, "weights").values()))


def _part(arrays, kind):
    return {name.partition("/")[2]: arrays[name] for name in sorted(arrays) if name.startswith(kind + "/")}


def _fit(what, kept, present):
    shapes = [np.shape(value) for value in kept.values()], [np.shape(value) for value in present]
    if shapes[0] != shapes[1]:
        raise ValueError("the checkpoint holds %d %s, the model has %d, or they differ in shape"
                         % (len(shapes[0]), what, len(shapes[1])))  # fmt: skip


def _array(variable):
    if compat.MAJOR >= 3:
        return np.array(compat.keras.ops.convert_to_numpy(variable))
    return np.array(compat.keras.backend.get_value(variable))


def _seeds(model):
    """Variables that Keras 3 counts its draws in; those of compiled metrics are no part of a model."""
    if compat.MAJOR < 3:
        return []
    layers = model._flatten_layers()
    return [generator.state for layer in layers for generator in getattr(layer, "_seed_generators", [])]


def _optimizer_state(model):
    if compat.MAJOR >= 3:
        return [_array(variable) for variable in _keras_3_variables(model)]
    if _is_tensorflow_2(model.optimizer):
        _build_tensorflow_2(model)
        return [np.array(value) for value in model.optimizer.get_weights()]
    return [np.array(value) for value in compat.keras.backend.batch_get_value(_early_variables(model))]


def _set_optimizer_state(model, values):
    if compat.MAJOR >= 3:
        for variable, value in zip(_keras_3_variables(model), values):
            variable.assign(value)
    elif _is_tensorflow_2(model.optimizer):
        _build_tensorflow_2(model)
        model.optimizer.set_weights(values)
    else:
        compat.keras.backend.batch_set_value(list(zip(_early_variables(model), values)))


def _keras_3_variables(model):
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    return model.optimizer.variables


def _is_tensorflow_2(optimizer):
    return hasattr(optimizer, "_create_all_weights")


def _build_tensorflow_2(model):
    """Until the first step these have neither a step count nor moments."""
    if model.trainable_weights:
        model.optimizer._create_all_weights(model.trainable_weights)


def _early_variables(model):
    """Keras 2.1 and 2.2: the variables are made along with the function that trains."""
    model._make_train_function()
    wrapped = getattr(model.optimizer, "optimizer", None)  # tf.keras 1 wraps TensorFlow's own optimizers
    if wrapped is None:
        return list(model.optimizer.weights)
    return [model.optimizer.iterations, *wrapped.variables()]


def _random_states():
    """Python's, numpy's and PyTorch's own generators, which feeds and layers should leave alone, and may not."""
    kind, words, gauss = random.getstate()
    keys = np.random.get_state()
    found = {
        "python": np.array([kind, *words], np.int64),
        "python_gauss": np.array(np.nan if gauss is None else gauss),
        "numpy": np.array(keys[1], np.uint32),
        "numpy_rest": np.array([keys[2], keys[3], keys[4]], np.float64),
    }
    if compat.backend_name() == "torch":
        import torch

        found["torch"] = torch.get_rng_state().numpy()
    return found


def _set_random_states(kept):
    words, gauss = [int(word) for word in kept["python"]], float(kept["python_gauss"])
    random.setstate((words[0], tuple(words[1:]), None if np.isnan(gauss) else gauss))
    position, has_gauss, cached = kept["numpy_rest"]
    np.random.set_state(("MT19937", kept["numpy"], int(position), int(has_gauss), float(cached)))
    if "torch" in kept:
        import torch

        torch.set_rng_state(torch.from_numpy(np.array(kept["torch"], np.uint8)))

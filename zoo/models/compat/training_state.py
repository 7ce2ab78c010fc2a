"""The state of a training run as arrays: everything that a step reads and changes, for bit-exact resuming."""

import random

import numpy as np

from zoo.models.compat import random_state
from zoo.models.compat.version import MAJOR, backend_name, keras


def capture(model, trained):
    """Return the weights, the optimizer state and the random states by name, without rounding.

    ``trained`` is the compiled model that is trained: the model itself, or one that shares its layers.
    """
    arrays = {"weights/%05d" % n: np.array(value) for n, value in enumerate(model.get_weights())}
    arrays.update(("optimizer/%05d" % n, value) for n, value in enumerate(_optimizer_state(trained)))
    arrays.update(("seeds/%05d" % n, _array(variable)) for n, variable in enumerate(_seeds(model)))
    arrays.update(("draws/" + name, value) for name, value in random_state.capture().items())
    arrays.update(("random/" + name, value) for name, value in _generator_states().items())
    return arrays


def restore(model, trained, arrays):
    """Set the models, and the random states of this process, to the result of :func:`capture`.

    ValueError names the difference if the arrays come from another model or optimizer.
    """
    parts = {kind: _part(arrays, kind) for kind in ("weights", "optimizer", "seeds", "draws", "random")}
    _check_shapes("weights", parts["weights"], model.get_weights())
    _check_shapes("states of the optimizer", parts["optimizer"], _optimizer_state(trained))
    _check_shapes("seeds", parts["seeds"], [_array(variable) for variable in _seeds(model)])
    restore_weights(model, arrays)
    pairs = list(zip(_optimizer_variables(trained), parts["optimizer"].values()))
    if MAJOR < 3:
        keras.backend.batch_set_value(pairs)
    else:
        for variable, value in [*pairs, *zip(_seeds(model), parts["seeds"].values())]:
            variable.assign(value)
    random_state.restore(parts["draws"])
    _set_generator_states(parts["random"])


def restore_weights(model, arrays):
    """Set only the weights; this works on every stack."""
    model.set_weights(list(_part(arrays, "weights").values()))


def _part(arrays, kind):
    return {name.partition("/")[2]: arrays[name] for name in sorted(arrays) if name.startswith(kind + "/")}


def _check_shapes(what, stored, present):
    shapes = [np.shape(value) for value in stored.values()], [np.shape(value) for value in present]
    if shapes[0] != shapes[1]:
        raise ValueError("the checkpoint has %d %s, the model has %d, or their shapes differ"
                         % (len(shapes[0]), what, len(shapes[1])))  # fmt: skip


def _array(variable):
    return np.array(keras.ops.convert_to_numpy(variable) if MAJOR >= 3 else keras.backend.get_value(variable))


def _seeds(model):
    """Return the states of the random generators in a model's layers on Keras 3."""
    if MAJOR < 3:
        return []
    layers = model._flatten_layers()
    return [generator.state for layer in layers for generator in getattr(layer, "_seed_generators", [])]


def _optimizer_state(model):
    return [_array(variable) for variable in _optimizer_variables(model)]


def _optimizer_variables(model):
    optimizer = model.optimizer
    if MAJOR >= 3:
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        return optimizer.variables
    if hasattr(optimizer, "_create_all_weights"):
        # TensorFlow 2 creates the step count and the moments only in the first step.
        if model.trainable_weights:
            optimizer._create_all_weights(model.trainable_weights)
        return optimizer.weights
    model._make_train_function()
    wrapped = getattr(optimizer, "optimizer", None)  # tf.keras 1 wraps TensorFlow's own optimizers.
    return list(optimizer.weights) if wrapped is None else [optimizer.iterations, *wrapped.variables()]


def _generator_states():
    """Return the generator states of Python, NumPy and PyTorch, which layers should not use but might."""
    kind, words, gauss = random.getstate()
    keys = np.random.get_state()
    arrays = {
        "python": np.array([kind, *words], np.int64), "python_gauss": np.array(np.nan if gauss is None else gauss),
        "numpy": np.array(keys[1], np.uint32), "numpy_rest": np.array([keys[2], keys[3], keys[4]], np.float64),
    }  # fmt: skip
    if backend_name() == "torch":
        import torch

        arrays["torch"] = torch.get_rng_state().numpy()
    return arrays


def _set_generator_states(arrays):
    words, gauss = [int(word) for word in arrays["python"]], float(arrays["python_gauss"])
    random.setstate((words[0], tuple(words[1:]), None if np.isnan(gauss) else gauss))
    position, has_gauss, cached = arrays["numpy_rest"]
    np.random.set_state(("MT19937", arrays["numpy"], int(position), int(has_gauss), float(cached)))
    if "torch" in arrays:
        import torch

        torch.set_rng_state(torch.from_numpy(np.array(arrays["torch"], np.uint8)))

"""Save and restore the state of random draws on Keras 2, to resume training. Keras 3 keeps it in variables."""

import importlib.util
import os
import zlib

import numpy as np

from zoo.models.compat.version import MAJOR, backend_name, keras

# The run's seed, the number of steps, TensorFlow's variable for this number, PlaidML's states.
_state = {"seed": 0, "step": 0, "variable": None, "plaidml": []}


def start(seed):
    """Start a run: reset the state that earlier draws, such as those of probes, left."""
    _state.update(seed=int(seed), step=0, plaidml=[])


def advance():
    _state["step"] += 1
    _update_variable()


def _update_variable():
    if _state["variable"] is not None and not _is_of_another_graph(_state["variable"]):
        keras.backend.set_value(_state["variable"], _state["step"])


def capture():
    """Return the state of all draws outside Keras's own variables: name -> array."""
    arrays = {"step": np.array(_state["step"], np.int64)}
    for number, variable in enumerate(_state["plaidml"]):
        arrays["plaidml_%d" % number] = np.array(keras.backend.get_value(variable))
    return arrays


def restore(arrays):
    """Continue from the state of :func:`capture`; raise KeyError if it comes from another model."""
    _state["step"] = int(arrays["step"])
    _update_variable()
    for number, variable in enumerate(_state["plaidml"]):
        keras.backend.set_value(variable, arrays["plaidml_%d" % number])


if MAJOR < 3 and backend_name() == "plaidml":
    from plaidml.keras import backend

    _make_rng_state = backend._make_rng_state

    def _recorded_state(seed=None):
        """Record the states of PlaidML's random generators, to which no layer refers."""
        variable = _make_rng_state(seed)
        _state["plaidml"].append(variable)
        return variable

    backend._make_rng_state = _recorded_state


def dropout(x, rate, name):
    """Apply dropout to a tensor on Keras 2.

    On TensorFlow, draws depend only on the run's seed, the step and ``name``, which must be unique in the model. They
    run on the CPU, because Metal repeats its numbers (https://github.com/tensorflow/tensorflow/issues/53505).
    """
    if backend_name() == "plaidml":
        return keras.backend.dropout(x, rate)
    import tensorflow

    if _state["variable"] is None or _is_of_another_graph(_state["variable"]):
        with tensorflow.device("/CPU:0"):
            _state["variable"] = keras.backend.variable(_state["step"], dtype="int64", name="zoo_step")
    with tensorflow.device("/CPU:0"):
        place = tensorflow.constant(_state["seed"] * 2**32 + zlib.crc32(name.encode()), "int64")
        seed = tensorflow.stack([place, tensorflow.convert_to_tensor(_state["variable"])])
        kept = _stateless_uniform(tensorflow)(tensorflow.shape(x), seed) >= rate
    return x * tensorflow.cast(kept, x.dtype) / (1 - rate)


def _is_of_another_graph(variable):
    """Return whether ``clear_session`` discarded the variable's graph; TensorFlow 2 has no such graphs."""
    import tensorflow

    default = getattr(tensorflow, "get_default_graph", None)
    return default is not None and variable.graph is not default()


def call_dropout(self, inputs, training=None):
    """Call a Dropout layer of TensorFlow's Keras 2 with draws that can be resumed."""
    if training is None:
        training = keras.backend.learning_phase()
    result = keras.backend.in_train_phase(lambda: dropout(inputs, self.rate, self.name), inputs, training=training)
    if hasattr(training, "dtype"):
        result._uses_learning_phase = True  # tf.keras 1.8 needs it to pass the learning phase.
    return result


def continue_plain_dropout():
    """Make the draws of plain Dropout layers on TensorFlow's Keras 2 resumable, for code outside the zoo."""
    plain, original = keras.layers.Dropout, keras.layers.Dropout.call

    def call(self, inputs, training=None):
        own = type(self) is plain and self.noise_shape is None
        return (call_dropout if own else original)(self, inputs, training)

    if MAJOR < 3 and backend_name() != "plaidml" and not hasattr(plain, "zoo"):
        plain.call, plain.zoo = call, True


def _stateless_uniform(tensorflow):
    """Return a function of a shape and a seed of two integers that draws uniform values from 0 to 1."""
    if hasattr(tensorflow, "random") and hasattr(tensorflow.random, "stateless_uniform"):
        return tensorflow.random.stateless_uniform
    # TensorFlow 1.8 has it in contrib, which takes long to import; load only the file that defines it.
    folder = os.path.join(os.path.dirname(tensorflow.__file__), "contrib", "stateless")
    spec = importlib.util.spec_from_file_location("stateless", os.path.join(folder, "gen_stateless_random_ops.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.stateless_random_uniform

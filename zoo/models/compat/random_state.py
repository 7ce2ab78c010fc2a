"""Random draws while a model trains, kept so that another process can go on with them.

Belongs to ``compat``: it knows what the Kerases of Keras 2 draw from. Keras 3 keeps its draws in variables.
"""

import importlib.util
import os
import zlib

import numpy as np

# The run's seed, how many steps were taken since, the variable that tells TensorFlow, PlaidML's states.
_now = {"seed": 0, "step": 0, "variable": None, "plaidml": []}


def begin(seed):
    """Start a run: what was drawn before, by probes for example, is none of its business."""
    _now.update(seed=int(seed), step=0, plaidml=[])


def advance(keras):
    """Another step is about to be taken."""
    _now["step"] += 1
    _tell(keras)


def _tell(keras):
    if _now["variable"] is not None:
        keras.backend.set_value(_now["variable"], _now["step"])


def state(keras):
    """Everything drawn from outside Keras's own variables: name -> array."""
    found = {"step": np.array(_now["step"], np.int64)}
    for number, variable in enumerate(_now["plaidml"]):
        found["plaidml_%d" % number] = np.array(keras.backend.get_value(variable))
    return found


def go_on(keras, arrays):
    """Take up what :func:`state` told.

    Raises:
        KeyError: it comes from another model.
    """
    _now["step"] = int(arrays["step"])
    _tell(keras)
    for number, variable in enumerate(_now["plaidml"]):
        keras.backend.set_value(variable, arrays["plaidml_%d" % number])


def watch_plaidml():
    """Remember the states that PlaidML draws from: it gives them to no layer."""
    from plaidml.keras import backend

    make = backend._make_rng_state

    def _make_rng_state(seed=None):
        made = make(seed)
        _now["plaidml"].append(made)
        return made

    backend._make_rng_state = _make_rng_state


def dropped(keras, x, rate, place):
    """Drop a share of the numbers and scale up the rest, drawing from (seed, place, step) and nothing else.

    For TensorFlow's Keras 2. The draw is done on the CPU: Metal draws the same numbers again and again
    (https://github.com/tensorflow/tensorflow/issues/53505).

    Args:
        keras: the Keras in use.
        x: the tensor.
        rate: share that is dropped.
        place: name of this place in the model; another draws other numbers.
    """
    import tensorflow

    if _now["variable"] is None:
        with tensorflow.device("/CPU:0"):
            _now["variable"] = keras.backend.variable(_now["step"], dtype="int64", name="zoo_step")
    with tensorflow.device("/CPU:0"):
        here = tensorflow.constant(_now["seed"] * 2**32 + zlib.crc32(place.encode()), "int64")
        seed = tensorflow.stack([here, tensorflow.convert_to_tensor(_now["variable"])])
        kept = _stateless_uniform(tensorflow)(tensorflow.shape(x), seed) >= rate
    return x * tensorflow.cast(kept, x.dtype) / (1 - rate)


def dropout_of_tensorflow(keras):
    """The Dropout layer of TensorFlow's Keras 2 with draws that can be gone on with.

    It is called Dropout and configured as such, so that a saved model holds a plain Dropout layer.
    """

    class Dropout(keras.layers.Dropout):
        def call(self, inputs, training=None):
            if training is None:
                training = keras.backend.learning_phase()
            found = keras.backend.in_train_phase(
                lambda: dropped(keras, inputs, self.rate, self.name), inputs, training=training
            )
            if hasattr(training, "dtype"):
                found._uses_learning_phase = True  # without it tf.keras 1.8 would not say when it trains
            return found

    return Dropout


def _stateless_uniform(tensorflow):
    """From (shape, seed of two integers) to values from 0 to 1; the same for the same seed."""
    if hasattr(tensorflow, "random") and hasattr(tensorflow.random, "stateless_uniform"):
        return tensorflow.random.stateless_uniform
    # TensorFlow 1.8 has it in contrib, whose import takes longer than all the rest: one file of it is enough.
    folder = os.path.join(os.path.dirname(tensorflow.__file__), "contrib", "stateless")
    spec = importlib.util.spec_from_file_location("stateless", os.path.join(folder, "gen_stateless_random_ops.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.stateless_random_uniform

"""Build and run tiny models for the probes, with the same Keras functions that train and predict."""

import types

from zoo.models import compat


def of(place):
    """Return the functions ``predict``, ``step`` and ``place`` for the current framework, and its name, ``backend``.

    ``place`` maps a Keras variable to the name and kind of its device, or None.
    """
    return types.SimpleNamespace(predict=predict, step=step, place=place, backend=compat.backend_name())


def predict(build, arrays, weights=(), calls=1):
    """Build a model and run its compiled predict function; return the list of output arrays of every call.

    ``build`` maps Keras's layers and the inputs to the list of outputs; ``arrays`` are batches, one per input.
    """
    layers = compat.keras.layers
    inputs = [layers.Input(array.shape[1:], dtype=str(array.dtype)) for array in arrays]
    model = compat.keras.models.Model(inputs, build(layers, *inputs))
    model.set_weights(list(weights))
    return [compat.outputs(model, arrays) for _ in range(calls)]


def step(build, x, y, weights, rate):
    """Build a classifier and take one step of plain gradient descent on a batch with one-hot labels.

    ``build`` maps Keras's layers and the input to the probabilities. Return the new weights as arrays, and the Keras
    variable of the first of them.
    """
    layers = compat.keras.layers
    start = layers.Input(x.shape[1:])
    model = compat.keras.models.Model(start, build(layers, start))
    model.set_weights(list(weights))
    compat.compile_classifier(model, "sgd", rate, False)
    model.train_on_batch(x, y)
    return model.get_weights(), model.trainable_weights[0]

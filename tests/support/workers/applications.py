"""Compares networks of keras.applications, built by the zoo, with Keras's own; runs inside a stack, Python 3.6+."""

import os
import sys

import numpy as np

SIZE, CLASSES, ASKED, MOMENTUM, SEED = 96, 5, 8, 0.9, 1


def answer(request):
    """How far the zoo's answers are from Keras's own with the same weights, by architecture; ours in a file each."""
    return {name: compare(name, request) for name in request["names"]}


def compare(name, request):
    """Largest difference between the probabilities of both."""
    from zoo.models import compat
    from zoo.protocol.request import ModelPart
    from zoo.worker import keras_application

    compat.keras.backend.clear_session()
    compat.seed(SEED)
    arguments = {"input_shape": [SIZE, SIZE, 3], "classes": CLASSES, "weights": None, "bn_momentum": MOMENTUM}
    model, preprocess = keras_application.build(ModelPart(name="keras/" + name, args=arguments), True)
    assert all(getattr(layer, "momentum", 0) <= MOMENTUM for layer in model.layers), name
    pictures = np.load(request["pictures"])
    weigh(model, preprocess(pictures), os.path.join(request["weights"], name + ".npz"))
    ours = compat.predict(model, preprocess(pictures[:ASKED]))
    np.save(os.path.join(request["out"], name + ".npy"), ours)
    return float(np.abs(ours - by_keras(compat.keras, name, model, pictures[:ASKED])).max())


def weigh(model, x, path):
    """Load the weights; where no stack has drawn them yet, do so and save them.

    Normalization gets the statistics of the pictures, as training gives it. Without them the numbers grow or vanish
    with the depth of a network.
    """
    from zoo.worker import weights

    if os.path.exists(path):
        weights.load(model, path)
        return
    for layer in model.layers:
        if type(layer).__name__ == "BatchNormalization":
            layer.momentum = 0.0
    model(x, training=True)
    weights.save(model, path)


def by_keras(keras, name, model, pictures):
    """The answers of Keras's own function and its own preprocessing."""
    function = getattr(keras.applications, name)
    network = function(weights=None, input_shape=(SIZE, SIZE, 3), classes=CLASSES)
    network.set_weights(model.get_weights())
    x = sys.modules[function.__module__].preprocess_input(pictures.astype(np.float32))
    return np.asarray(network.predict(x, verbose=0))

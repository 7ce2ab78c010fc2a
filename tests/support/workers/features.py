"""Cuts networks off behind a layer; runs inside a stack, Python 3.6 or newer."""

import os

import numpy as np


def flat(compat):
    """Convolution, pooling, dropout and the head."""
    layers = compat.keras.layers
    start = layers.Input(shape=(8, 8, 3), name="start")
    x = layers.Conv2D(5, (3, 3), name="conv")(start)
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    x = layers.Dropout(0.5, name="drop")(x)
    x = layers.Dense(4, activation="softmax", name="head")(x)
    return compat.keras.models.Model(inputs=start, outputs=x)


def nested(compat):
    """The head is in a network inside the network."""
    layers = compat.keras.layers
    inside = flat(compat)
    start = layers.Input(shape=(8, 8, 3), name="outer")
    x = inside(layers.Activation("linear", name="same")(start))
    return compat.keras.models.Model(inputs=start, outputs=layers.Activation("linear", name="end")(x)), inside


def _difference(compat, model, layer, wanted, x):
    from zoo.worker.inference import features

    part, name = features.trunk(model, layer)
    computed = compat.predict(part, x)
    assert computed.shape == wanted.shape, (computed.shape, wanted.shape)
    return {"name": name, "difference": float(np.abs(computed - wanted).max())}


def _by_numpy(model, compat, x):
    """The convolution and its pooling."""
    named = dict(zip([name for name, _ in compat.named_weights(model)], model.get_weights()))  # noqa: B905
    kernel, bias = named["conv/kernel"], named["conv/bias"]
    maps = sum(x[:, i : i + 6, j : j + 6] @ kernel[i, j] for i in range(3) for j in range(3)) + bias
    return maps, maps.mean((1, 2))


def _refusal(model, layer):
    from zoo.worker.errors import UserError
    from zoo.worker.inference import features

    try:
        features.trunk(model, layer)
    except UserError as error:
        return str(error)
    return ""


def answer(request):
    """By case: the name of the layer and the largest difference to numpy."""
    from zoo.models import compat, mobilenet
    from zoo.worker.inference import features

    compat.seed(1)
    x = np.random.RandomState(3).uniform(-1, 1, (4, 8, 8, 3)).astype(np.float32)
    model = flat(compat)
    maps, pooled = _by_numpy(model, compat, x)
    outer, inside = nested(compat)
    inner_maps, inner_pooled = _by_numpy(inside, compat, x)
    layers = compat.keras.layers
    headless = compat.keras.models.Model(inputs=model.inputs[0], outputs=model.get_layer("conv").output)
    zoo = mobilenet.build(compat, input_shape=(32, 32, 3), input_size=32, alpha=0.25, classes=7)
    part, name = features.trunk(zoo)
    out = features.FeatureFile(os.path.join(request["out"], "zoo.npy"), compat.static_shape(part.outputs[0])[1:])
    out.add(compat.predict(part, np.zeros((2, 32, 32, 3), np.float32)))
    answers = {
        "usual": _difference(compat, model, None, pooled, x),
        "named": _difference(compat, model, "conv", maps, x),
        "nested": _difference(compat, outer, None, inner_pooled, x),
        "nested, named": _difference(compat, outer, "conv", inner_maps, x),
        "headless": _difference(compat, headless, None, maps, x),
        "mobilenet": {"name": name, "shape": list(np.load(os.path.join(request["out"], "zoo.npy")).shape)},
    }
    two = layers.Input(shape=(8, 8, 3))
    shared = model.get_layer("conv")  # from here on the old Keras knows no output of it in the first network either
    twice = compat.keras.models.Model(inputs=two, outputs=layers.Add()([shared(two), shared(two)]))
    answers["refused"] = [_refusal(model, "covn"), _refusal(outer, "nothing"), _refusal(twice, shared.name)]
    return answers

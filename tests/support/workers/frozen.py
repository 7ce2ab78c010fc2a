"""Freezes parts of a small network; runs inside a stack, Python 3.6 or newer."""

import numpy as np

EPSILON = 1e-3


def build(compat):
    from zoo.models.layers import mobilenet_blocks

    start = compat.keras.layers.Input(shape=(4, 4, 3))
    x = mobilenet_blocks.batch_norm(compat, mobilenet_blocks.conv(compat, start, 6, "conv"), "conv_bn")
    x = compat.keras.layers.Activation("relu", name="relu")(x)
    x = mobilenet_blocks.batch_norm(compat, mobilenet_blocks.conv(compat, x, 5, "conv2"), "conv2_bn")
    x = compat.keras.layers.GlobalAveragePooling2D(name="pool")(x)
    x = compat.keras.layers.Dense(4, activation="softmax", name="predictions")(x)
    return compat.keras.models.Model(inputs=start, outputs=x)


def by_numpy(named, x, labels, still):
    """Mean cross-entropy of the network; the normalisations in ``still`` use their stored statistics."""

    def normalise(values, name):
        mean, variance = values.mean((0, 1, 2)), values.var((0, 1, 2))
        if name in still:
            mean, variance = named[name + "/moving_mean"], named[name + "/moving_variance"]
        return (values - mean) / np.sqrt(variance + EPSILON) * named[name + "/gamma"] + named[name + "/beta"]

    x = np.maximum(normalise(x @ named["conv/kernel"][0, 0], "conv_bn"), 0)
    x = normalise(x @ named["conv2/kernel"][0, 0], "conv2_bn").mean((1, 2))
    logits = x @ named["predictions/kernel"] + named["predictions/bias"]
    logits -= logits.max(1, keepdims=True)
    return float((np.log(np.exp(logits).sum(1)) - (logits * labels).sum(1)).mean())


def try_out(compat, frozen):
    from zoo.worker.benchmarks.golden import draw_weights

    compat.keras.backend.clear_session()
    model = build(compat)
    names = [name for name, _ in compat.named_weights(model)]
    before = draw_weights(compat.named_weights(model), 1, 1)
    model.set_weights(before)
    random = np.random.RandomState(2)
    x = random.uniform(-1, 1, (8, 4, 4, 3)).astype(np.float32)
    labels = np.eye(4, dtype=np.float32)[np.arange(8) % 4]
    trained = compat.freeze(model, set(frozen))
    compat.compile_classifier(trained, "sgd", 0.1, False)
    losses = [compat.train_classifier(trained, x, labels)[0] for _ in range(3)]
    wide = {name: value.astype(np.float64) for name, value in zip(names, before)}  # noqa: B905  (Python 3.6)
    moved = {
        name: float(np.abs(new - old).max())
        for name, new, old in zip(names, model.get_weights(), before)  # noqa: B905
    }
    predicted = compat.predict(model, x)
    return {
        "loss": losses[0],
        "by_numpy": by_numpy(wide, x.astype(np.float64), labels, frozen),
        "moved": moved,
        "same": float(np.abs(predicted - compat.predict(trained, x)).max()),
    }


def answer(request):
    """The loss of the first step beside the one that numpy computes, and how far each weight moved, by case."""
    from zoo.models import compat

    return {name: try_out(compat, frozen) for name, frozen in request["frozen"].items()}

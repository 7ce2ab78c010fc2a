"""Probe small operations, computed as in training, against NumPy in float64.

Each probe builds a tiny Keras model and runs it with Keras's compiled predict or train function, which fuses
operations. It takes the operations to try (see ``zoo.worker.probes.layers.of``) and the request's device. It returns
the largest error relative to the largest reference value or, if results must be equal, the number of wrong values.
"""

import numpy as np

from zoo.models import compat


class UntoldError(Exception):
    """A probe has no result; the message says why."""


def backend(tried, device):
    """Check that Keras uses the framework of the stack."""
    return tried.backend != device.framework


def dense_relu(tried, device):
    """Dense with bias and ReLU before another layer, for 2D and 3D inputs, as wide as kernels with known faults.

    TensorFlow fuses the three operations only if another one follows.
    """
    x, deep, kernel, bias, above = _draw(1, (4, 320), (4, 64, 320), (320, 384), (384,), (384, 16))

    def build(layers, *inputs):
        below = layers.Dense(384, activation="relu", kernel_initializer="zeros")
        top = layers.Dense(16, use_bias=False, kernel_initializer="zeros")
        return [top(below(each)) for each in inputs]

    got = tried.predict(build, [x, deep], [kernel, bias, above])[0]
    return _relative(got, [np.maximum(_wide(each) @ kernel + bias, 0) @ above for each in (x, deep)])


def convolution(tried, device):
    """A 3x3 convolution with bias and ReLU, before another layer."""
    x, kernel, bias = _draw(2, (2, 16, 16, 8), (3, 3, 8, 16), (16,))

    def build(layers, x):
        layer = layers.Conv2D(16, (3, 3), padding="same", activation="relu", kernel_initializer="zeros")
        return [layers.MaxPooling2D((2, 2))(layer(x))]

    got = tried.predict(build, [x], [kernel, bias])[0]
    wanted = np.maximum(_shifted(x, kernel, "nhwi,io->nhwo") + bias, 0)
    return _relative(got, [wanted.reshape(2, 8, 2, 8, 2, 16).max(axis=(2, 4))])


def depthwise(tried, device):
    """A depthwise 3x3 convolution with bias."""
    x, kernel, bias = _draw(3, (2, 16, 16, 8), (3, 3, 8, 1), (8,))

    def build(layers, x):
        return [layers.DepthwiseConv2D((3, 3), padding="same", depthwise_initializer="zeros")(x)]

    got = tried.predict(build, [x], [kernel, bias])[0]
    return _relative(got, [_shifted(x, kernel[..., 0], "nhwi,i->nhwi") + bias])


def attention(tried, device):
    """Products of batches of matrices, with a softmax between them."""
    q, k, v = _draw(4, (2, 48, 32), (2, 48, 32), (2, 48, 32))
    q /= 6  # about the root of 32, as in attention; without it, the softmax would magnify rounding errors

    def build(layers, q, k, v):
        weights = layers.Activation("softmax")(layers.Dot(axes=(2, 2))([q, k]))
        return [layers.Dot(axes=(2, 1))([weights, v])]

    return _relative(tried.predict(build, [q, k, v])[0], [_softmax(_wide(q) @ _wide(k).transpose(0, 2, 1)) @ v])


def argmax(tried, device):
    """The position of the largest value, of floats and of integers."""
    floats = _draw(5, (16, 40))[0]
    numbers = np.array([np.roll(np.arange(40), 7 * row) for row in range(16)], dtype="int32")
    place = (compat.keras.ops if compat.MAJOR >= 3 else compat.keras.backend).argmax

    def build(layers, *inputs):
        return [layers.Lambda(lambda x: place(x, axis=-1))(each) for each in inputs]

    got = tried.predict(build, [floats, numbers])[0]
    return _unequal(got, [floats.argmax(axis=-1), numbers.argmax(axis=-1)])


def integers(tried, device):
    """Sums and products above 2**24, where float32 is no longer exact."""
    return _integers(tried, "int32", 2**29, 40000)


def wide_integers(tried, device):
    """Sums and products above 2**32."""
    return _integers(tried, "int64", 2**40, 2**30)


def _integers(tried, kind, large, factor):
    x, y = (np.arange(least, least + 64, dtype=kind).reshape(8, 8) for least in (large, factor))

    def build(layers, x, y):
        add, multiply = layers.Lambda(lambda pair: pair[0] + pair[1]), layers.Lambda(lambda each: each * each)
        return [add([x, y]), multiply(y)]

    return _unequal(tried.predict(build, [x, y])[0], [x + y, y * y])


def dropout(tried, device):
    """Count violations: draws must differ, a seed must repeat its draw, and about half of the values be dropped."""

    def build(layers, x):
        class Dropout(layers.Dropout):
            def call(self, inputs, training=None):
                return super(Dropout, self).call(inputs, training=True)

        return [Dropout(0.5)(x), Dropout(0.5, seed=7)(x), Dropout(0.5, seed=7)(x)]

    ones = np.ones((8, 512), dtype="float32")
    (first, seeded, twin), (second, _, _) = tried.predict(build, [ones], calls=2)
    faults = [np.array_equal(first, second), not np.array_equal(seeded, twin)]
    return sum(faults + [not 0.4 < (drawn == 0).mean() < 0.6 for drawn in (first, second, seeded)])


def train_step(tried, device):
    """One step of gradient descent through two layers: the change of each weight."""
    x, *old = _draw(6, (16, 24), (24, 32), (32,), (32, 10), (10,))
    old = [each / 8 for each in old]
    y = np.eye(10, dtype="float32")[np.arange(16) % 10]

    def build(layers, x):
        hidden = layers.Dense(32, activation="relu", kernel_initializer="zeros")(x)
        return layers.Dense(10, activation="softmax", kernel_initializer="zeros")(hidden)

    new, tried.variable = tried.step(build, x, y, old, 0.5)
    wanted = [-0.5 * slope for slope in _slopes(_wide(x), y, [_wide(each) for each in old])]
    return _relative([_wide(after) - before for after, before in zip(new, old)], wanted)


def normalised_step(tried, device):
    """One step through a 1x1 convolution and a batch normalization: the change of each trainable weight."""
    x, kernel, gamma, beta, *top = _draw(7, (16, 4, 4, 8), (1, 1, 8, 12), (12,), (12,), (12, 10), (10,))
    old = [kernel / 8, 0.5 + gamma / 8, beta / 8, np.zeros(12, "float32"), np.ones(12, "float32")]
    old += [each / 2 for each in top]
    y = np.eye(10, dtype="float32")[np.arange(16) % 10]

    def build(layers, x):
        x = layers.Conv2D(12, (1, 1), use_bias=False, kernel_initializer="zeros")(x)
        x = layers.Activation("relu")(layers.BatchNormalization(epsilon=1e-3)(x))
        return layers.Dense(10, activation="softmax", kernel_initializer="zeros")(layers.GlobalAveragePooling2D()(x))

    new, _ = tried.step(build, x, y, old, 1.0)
    slopes = _normalised_slopes(_wide(x), y, [_wide(each) for each in old])
    learning = (0, 1, 2, 5, 6)  # the moving means and variances are not compared
    changes = [_wide(new[place]) - old[place] for place in learning]
    return _relative(changes, [-slope for slope in slopes])


def variable(tried, device):
    """Check that a trained variable is on the proven device."""
    if not hasattr(tried, "variable"):
        raise UntoldError("no step was taken")
    placed = tried.place(tried.variable)
    if placed is None:
        raise UntoldError("this framework does not report the device of a variable")
    return placed[1] != device.device_kind


# Probes with their tolerances; None means the tolerance for float32.
PROBES = (
    (backend, 0), (dense_relu, None), (convolution, None), (depthwise, None), (attention, None), (argmax, 0),
    (integers, 0), (wide_integers, 0), (dropout, 0), (train_step, None),
    (normalised_step, None), (variable, 0),
)  # fmt: skip


# -- numpy


def _draw(seed, *shapes):
    random = np.random.RandomState(seed)
    return [random.standard_normal(shape).astype("float32") for shape in shapes]


def _wide(array):
    return np.asarray(array, dtype="float64")


def _shifted(x, kernel, equation):
    """Compute a 3x3 convolution with zero padding: one product for each position in the kernel."""
    rows, columns = x.shape[1:3]
    padded = np.pad(_wide(x), ((0, 0), (1, 1), (1, 1), (0, 0)), "constant")
    places = [(i, j) for i in range(3) for j in range(3)]
    return sum(np.einsum(equation, padded[:, i : i + rows, j : j + columns], kernel[i, j]) for i, j in places)


def _softmax(x):
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def _slopes(x, y, weights):
    """Return the gradients of the mean cross-entropy of softmax(relu(x w1 + b1) w2 + b2), in order of the weights."""
    w1, b1, w2, b2 = weights
    hidden = np.maximum(x @ w1 + b1, 0)
    back = (_softmax(hidden @ w2 + b2) - y) / len(x)
    through = (back @ w2.T) * (hidden > 0)
    return [x.T @ through, through.sum(axis=0), hidden.T @ back, back.sum(axis=0)]


def _normalised_slopes(x, y, weights):
    """Return the gradients of ``normalised_step``'s model: kernel, gamma, beta, weights of the last layer."""
    kernel, gamma, beta, _, _, w, b = weights
    mixed = x @ kernel[0, 0]
    places = (0, 1, 2)
    root = np.sqrt(mixed.var(axis=places) + 1e-3)
    level = (mixed - mixed.mean(axis=places)) / root
    above = gamma * level + beta
    pooled = np.maximum(above, 0).mean(axis=(1, 2))
    back = (_softmax(pooled @ w + b) - y) / len(x)
    through = (back @ w.T)[:, None, None, :] / (x.shape[1] * x.shape[2]) * (above > 0)
    down = through * gamma
    down = (down - down.mean(axis=places) - level * (down * level).mean(axis=places)) / root
    own = [(through * level).sum(axis=places), through.sum(axis=places)]
    return [np.einsum("nhwi,nhwo->io", x, down)[None, None], *own, pooled.T @ back, back.sum(axis=0)]


def _relative(got, wanted):
    """Return the largest difference relative to the largest expected value; infinite if a shape differs."""
    if [each.shape for each in got] != [each.shape for each in wanted]:
        return float("inf")
    return max(np.abs(_wide(g) - w).max() / np.abs(w).max() for g, w in zip(got, wanted))


def _unequal(got, wanted):
    return sum((g != w).sum() if g.shape == w.shape else w.size for g, w in zip(got, wanted))

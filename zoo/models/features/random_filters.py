"""Random filters of many sizes, one layer deep: features that need no training and no download.

Based on Ustyuzhaninov et al. 2016, https://arxiv.org/abs/1606.00021, whose filters reach 55x55. Here, filters on
repeatedly halved images replace large ones, at a fiftieth of the cost. Each filter has a random color direction, zero
mean and its own threshold: with plain noise, results have colored grain. Filters of one pixel capture the colors.
"""

import numpy as np

OCTAVES = 5
SIZES = (1, 3, 7, 11)
FILTERS = 32

LAYERS = tuple("octave%d" % octave for octave in range(1, OCTAVES + 1))
STYLE = LAYERS
CONTENT = ("octave2", "octave3")


def trunk(compat, x, layers, seed, fixed):
    """Yield name and feature map of each requested octave.

    NumPy draws the weights, so that they are equal on every stack.
    """
    from zoo.models.layers.spatial import Convolution

    keras_layers = compat.keras.layers
    x = keras_layers.Conv2D(3, (1, 1), name="centred", dtype="float32")(x)
    fixed["centred"] = [np.eye(3, dtype=np.float32).reshape(1, 1, 3, 3) / 64, np.full(3, -127.5 / 64, np.float32)]
    for number, octave in enumerate(LAYERS):
        if number:
            x = keras_layers.AveragePooling2D((2, 2), strides=(2, 2), padding="same", name="half%d" % number)(x)
        if octave in layers:
            filtered = []
            for size in SIZES:
                name = "%s_%dx%d" % (octave, size, size)
                convolution = Convolution(FILTERS, (size, size), padding="same", activation="relu", name=name)
                filtered.append(convolution(x))
                fixed[name] = _draw(np.random.RandomState([seed, number, size]), size)
            yield octave, keras_layers.Concatenate(name=octave)(filtered)


def _draw(random, size):
    """Draw the kernel and the bias. Each filter has norm one, so that all sizes have equal weight."""
    window = random.uniform(-1, 1, (size, size, 1, FILTERS))
    if size > 1:
        window -= window.mean(axis=(0, 1))
    kernel = window * random.normal(0, 1, (1, 1, 3, FILTERS))
    kernel /= np.sqrt((kernel**2).sum(axis=(0, 1, 2)))
    threshold = random.uniform(-0.1, 0.1, FILTERS) if size > 1 else random.uniform(-0.75, 0.75, FILTERS)
    return [kernel.astype(np.float32), threshold.astype(np.float32)]

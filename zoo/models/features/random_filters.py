"""Random filters of many sizes, one layer deep: features that need no training and no download.

After Ustyuzhaninov et al. 2016, "Texture synthesis using shallow convolutional networks with random filters",
https://arxiv.org/abs/1606.00021: one layer of filters of eight sizes, drawn once, whose Gram matrices carry texture
about as well as a trained network's. There filters reach 55x55; here the large ones are small ones on the picture
halved again and again, which costs a fiftieth.
"""

import numpy as np

OCTAVES = 5
SIZES = (3, 5, 7)
FILTERS = 32

LAYERS = tuple("octave%d" % octave for octave in range(1, OCTAVES + 1))
STYLE = LAYERS
CONTENT = ("octave3", "octave4")


def trunk(compat, x, layers, seed):
    """Lay the filters up to the last wanted octave over a tensor of pictures.

    Returns:
        ``{layer: feature map}``, and the weights of all layers, drawn from numpy: equal on every stack.
    """
    made, found, fixed = compat.keras.layers, {}, {}
    x = made.Conv2D(3, (1, 1), name="centred")(x)
    fixed["centred"] = [np.eye(3, dtype=np.float32).reshape(1, 1, 3, 3) / 64, np.full(3, -127.5 / 64, np.float32)]
    for number, octave in enumerate(LAYERS):
        if set(layers) <= set(found):
            break
        if number:
            x = made.AveragePooling2D((2, 2), strides=(2, 2), padding="same", name="half%d" % number)(x)
        if octave in layers:
            parts = []
            for size in SIZES:
                name = "%s_%dx%d" % (octave, size, size)
                parts.append(made.Conv2D(FILTERS, (size, size), padding="same", activation="relu", name=name)(x))
                fixed[name] = _drawn(np.random.RandomState([seed, number, size]), size)
            found[octave] = made.Concatenate(name=octave)(parts)
    return found, fixed


def _drawn(random, size):
    """Kernel and bias: uniform, each filter of length one, so that no size outweighs another."""
    kernel = random.uniform(-1, 1, (size, size, 3, FILTERS))
    kernel /= np.sqrt((kernel**2).sum(axis=(0, 1, 2)))
    return [kernel.astype(np.float32), np.zeros(FILTERS, np.float32)]

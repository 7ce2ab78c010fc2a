"""Random filters of many sizes, one layer deep: features that need no training and no download.

After Ustyuzhaninov et al. 2016, "Texture synthesis using shallow convolutional networks with random filters",
https://arxiv.org/abs/1606.00021: one layer of filters of eight sizes, drawn once, whose Gram matrices carry texture
about as well as a trained network's. There filters reach 55x55; here the large ones are small ones on the picture
halved again and again, which costs a fiftieth. Each filter here looks along one random colour, differs from its mean
over the window, and has a threshold of its own: filled with plain noise, Gram matrices of pictures differ in little
more than brightness, and results are full of coloured grain. Filters of one pixel carry the palette.
"""

import numpy as np

OCTAVES = 5
SIZES = (1, 3, 7, 11)
FILTERS = 32

LAYERS = tuple("octave%d" % octave for octave in range(1, OCTAVES + 1))
STYLE = LAYERS
CONTENT = ("octave2", "octave3")


def trunk(compat, x, layers, seed):
    """Lay the filters up to the last wanted octave over a tensor of pictures.

    Returns:
        ``{layer: feature map}``, and the weights of all layers, drawn from numpy: equal on every stack.
    """
    from zoo.models.layers.spatial import Convolution

    made, found, fixed = compat.keras.layers, {}, {}
    x = made.Conv2D(3, (1, 1), name="centred", dtype="float32")(x)
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
                parts.append(Convolution(FILTERS, (size, size), padding="same", activation="relu", name=name)(x))
                fixed[name] = _drawn(np.random.RandomState([seed, number, size]), size)
            found[octave] = made.Concatenate(name=octave)(parts)
    return found, fixed


def _drawn(random, size):
    """Kernel and bias, each filter of length one, so that no size outweighs another."""
    window = random.uniform(-1, 1, (size, size, 1, FILTERS))
    if size > 1:
        window -= window.mean(axis=(0, 1))
    kernel = window * random.normal(0, 1, (1, 1, 3, FILTERS))
    kernel /= np.sqrt((kernel**2).sum(axis=(0, 1, 2)))
    threshold = random.uniform(-0.1, 0.1, FILTERS) if size > 1 else random.uniform(-0.75, 0.75, FILTERS)
    return [kernel.astype(np.float32), threshold.astype(np.float32)]

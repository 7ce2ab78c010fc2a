"""Draw the same weights and images on every stack, and compare the network's outputs with golden files.

``assets/golden/KEY.json`` contains the outputs; ``scripts/maintenance/golden.py`` writes it.
"""

import numpy as np

# Probabilities of float32 networks differ by less than this between stacks.
TOLERANCE = 1e-4


def draw_weights(named, seed, gain):
    """Draw weights with NumPy, scaled so that the values of a deep network stay large enough to show errors."""
    random = np.random.RandomState(seed)
    drawn = []
    for name, shape in named:
        layer, kind = name.split("/")
        if kind == "kernel":
            scale = gain if layer in ("conv_preds", "predictions") else 1.0
            value = random.randn(*shape) * scale * np.sqrt(2.0 / np.prod(shape[:-1]))
        elif kind == "depthwise_kernel":
            value = random.randn(*shape) * np.sqrt(2.0 / 9)
        elif kind in ("gamma", "moving_variance"):
            value = random.uniform(0.5, 1.5, shape)
        else:
            value = random.randn(*shape) * 0.1
        drawn.append(value.astype(np.float32))
    return drawn


def draw_pictures(seed, count, size):
    """Draw images of 6 x 6 squares of random colors, which differ more from each other than images of noise."""
    colours = np.random.RandomState(seed).randint(0, 256, (count, 6, 6, 3)).astype(np.uint8)
    return colours.repeat(size // 6 + 1, axis=1).repeat(size // 6 + 1, axis=2)[:, :size, :size]


def largest_error(golden, probabilities):
    """Return the largest error of probabilities, (images, classes), in the classes of the golden file."""
    wanted = np.array(golden["probabilities"])
    return float(np.abs(np.asarray(probabilities)[: len(wanted), golden["classes"]] - wanted).max())

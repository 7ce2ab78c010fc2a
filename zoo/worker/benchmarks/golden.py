"""Draw weights and images from a seed, the same on every stack, and compare outputs with the golden ones.

``assets/golden/KEY.json`` contains the outputs; ``scripts/maintenance/golden.py`` writes it.
"""

import numpy as np

# Probabilities of float32 networks differ by less than this between stacks.
TOLERANCE = 1e-4


def draw_weights(named, seed, gain):
    """Draw weights that keep a deep network's values at a size where errors are visible, with NumPy for stability."""
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
    """Draw squares of random colors, a sixth of the edge wide: they differ more from each other than noise does."""
    colours = np.random.RandomState(seed).randint(0, 256, (count, 6, 6, 3)).astype(np.uint8)
    return colours.repeat(size // 6 + 1, axis=1).repeat(size // 6 + 1, axis=2)[:, :size, :size]


def largest_error(golden, probabilities):
    """Return the largest error of probabilities, (images, classes), in the classes of the golden file."""
    wanted = np.array(golden["probabilities"])
    return float(np.abs(np.asarray(probabilities)[: len(wanted), golden["classes"]] - wanted).max())

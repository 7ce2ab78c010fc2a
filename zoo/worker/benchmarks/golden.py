"""Draw weights and pictures from a seed, the same on every stack, and compare answers with the golden ones.

``assets/golden/KEY.json`` holds the answers; ``scripts/maintenance/golden.py`` made them.
"""

import numpy as np

# Probabilities of float32 networks differ by less from stack to stack.
TOLERANCE = 1e-4


def draw_weights(named, seed, gain):
    """Numbers that keep a deep network's values at a size where a mistake shows; numpy promises to repeat them."""
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
    """Squares of random colours, a sixth of the edge wide: more unlike each other than noise is."""
    colours = np.random.RandomState(seed).randint(0, 256, (count, 6, 6, 3)).astype(np.uint8)
    return colours.repeat(size // 6 + 1, axis=1).repeat(size // 6 + 1, axis=2)[:, :size, :size]


def largest_error(golden, probabilities):
    """How far probabilities, (pictures, classes), are from the golden ones, of the classes that those name."""
    wanted = np.array(golden["probabilities"])
    return float(np.abs(np.asarray(probabilities)[: len(wanted), golden["classes"]] - wanted).max())

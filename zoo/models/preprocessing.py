"""From stored pixels to what a network takes."""

import numpy as np


def to_unit(pixels):
    """Scale uint8 0..255 of any shape to float32 0..1."""
    return np.asarray(pixels, dtype=np.float32) / np.float32(255)


def to_symmetric(pixels):
    """Scale uint8 0..255 of any shape to float32 -1..1."""
    return np.asarray(pixels, dtype=np.float32) / np.float32(127.5) - np.float32(1)

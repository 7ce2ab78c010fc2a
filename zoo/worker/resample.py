"""Scale and pad images in NumPy."""

import numpy as np


def resize(picture, rows, columns):
    """Scale an image, (height, width, channels) float32, with a triangle filter.

    Enlarging interpolates, shrinking averages, and no value leaves the range of the image.
    """
    across = np.tensordot(_matrix(picture.shape[0], rows), picture, axes=(1, 0))
    both = np.tensordot(_matrix(picture.shape[1], columns), across, axes=(1, 1))
    return np.ascontiguousarray(both.transpose(1, 0, 2), dtype=np.float32)


def _matrix(before, after):
    """Return (after, before) weights whose rows sum to one; pixel centers are at half-integers."""
    centres = (np.arange(after) + 0.5) * before / after - 0.5
    reach = max(1.0, before / float(after))
    weights = np.maximum(0.0, 1.0 - np.abs(centres[:, None] - np.arange(before)[None, :]) / reach)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def pad(picture, multiple, least, margin):
    """Pad (height, width, channels) by mirroring: a margin on every side, then below and right up to a multiple.

    The margin keeps the zero padding of networks away from the image. Networks halve their maps, and some stacks
    compute odd sizes wrong: PlaidML 0.7 writes outside its memory. Both sides become at least ``least`` pixels.
    """
    wanted = [max(least, -(-(edge + 2 * margin) // multiple) * multiple) for edge in picture.shape[:2]]
    for axis, edge in enumerate(wanted):
        # Mirrored repeatedly if the image is narrower than the padding.
        size = picture.shape[axis]
        places = (np.arange(edge) - margin) % (2 * size)
        picture = np.take(picture, np.minimum(places, 2 * size - 1 - places), axis=axis)
    return picture

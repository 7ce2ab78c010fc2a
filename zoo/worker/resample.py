"""Scale and pad pictures in numpy."""

import numpy as np


def resize(picture, rows, columns):
    """Scale (height, width, channels) float32 to another size, by triangles as wide as a source or target pixel.

    Smooth where it grows, averaged where it shrinks, and no value leaves the range of the picture's own.
    """
    across = np.tensordot(_matrix(picture.shape[0], rows), picture, axes=(1, 0))
    both = np.tensordot(_matrix(picture.shape[1], columns), across, axes=(1, 1))
    return np.ascontiguousarray(both.transpose(1, 0, 2), dtype=np.float32)


def _matrix(before, after):
    """(after, before) weights, each row of which sums to one; pixels are areas, so centres lie at halves."""
    centres = (np.arange(after) + 0.5) * before / after - 0.5
    reach = max(1.0, before / float(after))
    weights = np.maximum(0.0, 1.0 - np.abs(centres[:, None] - np.arange(before)[None, :]) / reach)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def pad(picture, multiple, least, margin):
    """Mirror (height, width, channels) outwards: a margin all around, then below and right up to a multiple.

    What networks see beyond the edge is black; the margin keeps that out of the picture. They halve their maps, and
    some stacks compute odd sizes wrong: PlaidML 0.7 writes past the end of its memory.

    Args:
        picture: the array.
        multiple: of how many pixels both sides become.
        least: and how many they are at least.
        margin: pixels to add on every side.
    """
    wanted = [max(least, -(-(edge + 2 * margin) // multiple) * multiple) for edge in picture.shape[:2]]
    for axis, edge in enumerate(wanted):
        # Mirrored again and again where the picture is narrower than what is added.
        size = picture.shape[axis]
        places = (np.arange(edge) - margin) % (2 * size)
        picture = np.take(picture, np.minimum(places, 2 * size - 1 - places), axis=axis)
    return picture

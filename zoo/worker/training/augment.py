"""Augment pictures: mirror, shift and recolour them. The same seeds give the same pictures on every stack."""

import numpy as np


def make_augmenter(settings):
    """The function that alters a batch as the settings say, or None where they alter nothing.

    Args:
        settings: ``flip``, ``crop`` (share of the edge) and ``color`` (share).

    Returns:
        From (pixels, seeds) to pixels: uint8 (n, height, width, channels), and a list of whole numbers; the result is
        float32 0..255 where colours change.
    """
    if not (settings["flip"] or settings["crop"] or settings["color"]):
        return None

    def alter(pixels, seeds):
        random = np.random.RandomState(seeds)
        moved = _moved(pixels, random, settings["flip"], settings["crop"])
        return _recoloured(moved, random, settings["color"]) if settings["color"] else moved

    return alter


def _moved(pixels, random, flip, crop):
    count, height, width = pixels.shape[:3]
    rows = _indices(random, count, height, crop)
    columns = _indices(random, count, width, crop)
    mirrored = (random.uniform(size=count) < 0.5) & bool(flip)
    columns[mirrored] = columns[mirrored, ::-1]
    return pixels[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]


def _indices(random, count, edge, crop):
    """For every picture, where the pixels along an edge come from: moved by a share at most, mirrored at the ends."""
    most = round(crop * edge)
    places = np.abs(np.arange(edge) + random.randint(-most, most + 1, size=count)[:, None])
    return edge - 1 - np.abs(edge - 1 - places)


def _recoloured(pixels, random, share):
    """Change saturation, contrast and brightness, each by a factor of its own for every picture."""
    saturation, contrast, brightness = 1 + random.uniform(-share, share, (3, len(pixels), 1, 1, 1)).astype(np.float32)
    x = pixels.astype(np.float32)
    grey = x.mean(axis=3, keepdims=True)
    x = grey + (x - grey) * saturation
    mean = grey.mean(axis=(1, 2), keepdims=True)
    return np.clip((mean + (x - mean) * contrast) * brightness, 0, 255)

"""Augment pictures: mirror, shift and recolour them. The same seeds give the same pictures on every stack."""

import numpy as np

from zoo.worker.training.randaugment import rand_augment


def make_augmenter(settings):
    """The function that alters a batch as the settings say, or None where they alter nothing.

    Args:
        settings: ``flip``, ``crop`` (share of the edge), ``randaugment`` (operations for each image), ``magnitude``
            (0 to 30) and ``color`` (share).

    Returns:
        From (pixels, seeds) to pixels: uint8 (n, height, width, channels), and a list of whole numbers; the result is
        float32 0..255 where colours change.
    """
    if not any(settings[name] for name in ("flip", "crop", "randaugment", "color")):
        return None

    def alter(pixels, seeds):
        random = np.random.RandomState(seeds)
        moved = _moved(pixels, random, settings["flip"], settings["crop"])
        if settings["randaugment"]:
            moved = rand_augment(moved, random, settings["randaugment"], settings["magnitude"])
        return _recoloured(moved, random, settings["color"]) if settings["color"] else moved

    return alter


def mix(batch, alpha, seeds):
    """Mix every item of a batch with another one (Zhang et al. 2017, https://arxiv.org/abs/1710.09412).

    Args:
        batch: arrays of as many rows: inputs, labels as shares of the classes and, where there are any, weights.
        alpha: of the Beta distribution that the shares are drawn from, one for each item.
        seeds: a list of whole numbers.

    Returns:
        The same arrays, float32, each row mixed with that of the other item.
    """
    random, count = np.random.RandomState(seeds), len(batch[0])
    shares = random.beta(alpha, alpha, count).astype(np.float32)
    others = random.permutation(count)
    return tuple(_mixed(np.asarray(rows, np.float32), others, shares) for rows in batch)


def _mixed(rows, others, shares):
    shares = shares.reshape((-1,) + (1,) * (rows.ndim - 1))
    return rows * shares + rows[others] * (1 - shares)


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

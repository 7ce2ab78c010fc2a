"""Augment images: flip, shift and recolor them. The same seeds give the same images on every stack."""

import numpy as np

from zoo.worker.training.randaugment import rand_augment


def make_augmenter(settings):
    """Return the function that augments a batch, or None if the settings change nothing.

    Args:
        settings: ``flip``, ``crop`` (share of the edge), ``randaugment`` (operations for each image), ``magnitude``
            (0 to 30) and ``color`` (share).

    Returns:
        A function from pixels, uint8 (n, height, width, channels), and seeds, a list of integers, to pixels. They are
        float32 0..255 if colors change. For a part of a batch, ``places`` (n,) are its indices and ``total`` is the
        batch size: each image is augmented as in the whole batch.
    """
    if not any((settings.flip, settings.crop, settings.randaugment, settings.color)):
        return None

    def alter(pixels, seeds, places=slice(None), total=None):
        random, of = np.random.RandomState(seeds), (len(pixels) if total is None else total, places)
        moved = _moved(pixels, random, settings.flip, settings.crop, of)
        if settings.randaugment:
            moved = rand_augment(moved, random, settings.randaugment, settings.magnitude, of)
        return _recoloured(moved, random, settings.color, of) if settings.color else moved

    return alter


def draw_partners(count, alpha, seeds):
    """Return the share of each item in a mix with another item, and the index of that item.

    Zhang et al. 2017, https://arxiv.org/abs/1710.09412: ``alpha`` is the parameter of the Beta distribution, from
    which the shares are drawn.
    """
    random = np.random.RandomState(seeds)
    return random.beta(alpha, alpha, count).astype(np.float32), random.permutation(count)


def blend(rows, second, shares):
    """Return shares of inputs, labels or weights, each plus the rest of a second one, in float32."""
    rows, second = np.asarray(rows, np.float32), np.asarray(second, np.float32)
    shares = shares.reshape((-1,) + (1,) * (rows.ndim - 1))
    return rows * shares + second * (1 - shares)


def _moved(pixels, random, flip, crop, of):
    (count, height, width), (total, places) = pixels.shape[:3], of
    rows = _indices(random, height, crop, of)
    columns = _indices(random, width, crop, of)
    mirrored = (random.uniform(size=total)[places] < 0.5) & bool(flip)
    columns[mirrored] = columns[mirrored, ::-1]
    return pixels[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]


def _indices(random, edge, crop, of):
    """Return the source positions of the pixels along an edge: shifted by a share at most, mirrored at the ends."""
    most, (total, places) = round(crop * edge), of
    sources = np.abs(np.arange(edge) + random.randint(-most, most + 1, size=total)[places][:, None])
    return edge - 1 - np.abs(edge - 1 - sources)


def _recoloured(pixels, random, share, of):
    """Change saturation, contrast and brightness, each by a random factor for every image."""
    total, places = of
    factors = 1 + random.uniform(-share, share, (3, total, 1, 1, 1)).astype(np.float32)
    saturation, contrast, brightness = factors[:, places]
    x = pixels.astype(np.float32)
    grey = x.mean(axis=3, keepdims=True)
    x = grey + (x - grey) * saturation
    mean = grey.mean(axis=(1, 2), keepdims=True)
    return np.clip((mean + (x - mean) * contrast) * brightness, 0, 255)

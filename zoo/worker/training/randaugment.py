"""RandAugment: a few random operations for each image, all of one strength (Cubuk et al. 2019).

https://arxiv.org/abs/1909.13719. The operations and ranges are those of torchvision's ``RandAugment`` (BSD-3).
Shear is to 0.3, shift to 150/331 of the edge, rotation to 30 degrees, factors to 1 +- 0.9, 4 to 8 bits. They are
computed with NumPy, equally on every stack. Pixels outside of an image are mirrored.
"""

import numpy as np

# The strength that uses the full ranges.
STRONGEST = 30.0
GRAY = np.array([0.299, 0.587, 0.114], np.float32)


def rand_augment(pixels, random, count, magnitude, of=None):
    """Apply ``count`` operations of strength ``magnitude``, 0 to 30, to uint8 (n, height, width, channels).

    For a part of a batch, ``of`` is (size of the batch, indices of these images).
    """
    share, (total, places) = magnitude / STRONGEST, of or (len(pixels), slice(None))
    for _ in range(count):
        chosen = random.randint(len(OPERATIONS), size=total)[places]
        amounts = np.where(random.uniform(size=total)[places] < 0.5, -share, share).astype(np.float32)
        altered = pixels.copy()
        for number, operation in enumerate(OPERATIONS.values()):
            rows = np.flatnonzero(chosen == number)
            if len(rows):
                altered[rows] = operation(pixels[rows], amounts[rows])
        pixels = altered
    return pixels


def _rotate(pixels, amounts):
    angles = np.deg2rad(30 * amounts)
    return _warp(pixels, x_by_x=np.cos(angles), x_by_y=-np.sin(angles), y_by_x=np.sin(angles), y_by_y=np.cos(angles))


def _warp(pixels, x_by_x=1.0, x_by_y=0.0, x=0.0, y_by_x=0.0, y_by_y=1.0, y=0.0):
    """Transform images about their center; the factors map each pixel to the position of its source."""
    count, height, width = pixels.shape[:3]
    values = (x_by_x, x_by_y, x, y_by_x, y_by_y, y)
    factors = [np.broadcast_to(np.float32(each), count)[:, None, None] for each in values]
    down = (np.arange(height, dtype=np.float32) - (height - 1) / 2)[None, :, None]
    across = (np.arange(width, dtype=np.float32) - (width - 1) / 2)[None, None, :]
    columns = factors[0] * across + factors[1] * down + factors[2] + (width - 1) / 2
    rows = factors[3] * across + factors[4] * down + factors[5] + (height - 1) / 2
    return _bytes(_interpolated(pixels, rows, columns))


def _interpolated(pixels, rows, columns):
    """Return bilinear values at positions (n, height, width)."""
    top, left = np.floor(rows), np.floor(columns)
    below, right = (rows - top)[..., None], (columns - left)[..., None]
    image = np.arange(len(pixels))[:, None, None]

    def at(row, column):
        return pixels[image, _mirrored(row, pixels.shape[1]), _mirrored(column, pixels.shape[2])].astype(np.float32)

    upper = at(top, left) * (1 - right) + at(top, left + 1) * right
    lower = at(top + 1, left) * (1 - right) + at(top + 1, left + 1) * right
    return upper * (1 - below) + lower * below


def _mirrored(places, edge):
    inside = edge - 1 - np.abs(edge - 1 - np.abs(places))
    return np.clip(inside, 0, edge - 1).astype(np.intp)


def _sharpness(pixels, amounts):
    x, smooth = pixels.astype(np.float32), pixels.astype(np.float32)
    height, width = x.shape[1:3]
    if min(height, width) > 2:
        around = sum(x[:, i : height - 2 + i, j : width - 2 + j] for i in range(3) for j in range(3))
        smooth[:, 1:-1, 1:-1] = np.rint((around + 4 * x[:, 1:-1, 1:-1]) / 13)
    return _away_from(smooth, pixels, amounts)


def _away_from(dull, pixels, amounts):
    """Scale the difference between images and a duller version by 1 + 0.9 * amount."""
    factors = (1 + 0.9 * amounts)[:, None, None, None]
    return _bytes(dull + (pixels.astype(np.float32) - dull) * factors)


def _gray(pixels):
    x = pixels.astype(np.float32)
    return (x @ GRAY)[..., None] if x.shape[3] == 3 else x


def _posterize(pixels, amounts):
    dropped = np.rint(4 * np.abs(amounts)).astype(np.uint8)[:, None, None, None]
    return (pixels >> dropped) << dropped


def _solarize(pixels, amounts):
    limits = (255 * (1 - np.abs(amounts)))[:, None, None, None]
    return np.where(pixels >= limits, 255 - pixels, pixels)


def _autocontrast(pixels, _amounts):
    low = pixels.min(axis=(1, 2), keepdims=True).astype(np.float32)
    high = pixels.max(axis=(1, 2), keepdims=True).astype(np.float32)
    scale = np.where(high > low, 255 / np.maximum(high - low, 1), 1)
    return _bytes((pixels - np.where(high > low, low, 0)) * scale)


def _equalize(pixels, _amounts):
    altered = pixels.copy()
    for image in range(len(pixels)):
        for channel in range(pixels.shape[3]):
            altered[image, :, :, channel] = _equalized(pixels[image, :, :, channel])
    return altered


def _equalized(plane):
    """Spread the values of a plane so that all ranges are about equally common, as in Pillow."""
    counts = np.bincount(plane.ravel(), minlength=256)
    step = (counts.sum() - counts[np.flatnonzero(counts)[-1]]) // 255
    if not step:
        return plane
    before = np.cumsum(counts) - counts
    return np.minimum((before + step // 2) // step, 255).astype(np.uint8)[plane]


def _bytes(values):
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


OPERATIONS = {
    "identity": lambda pixels, _amounts: pixels,
    "shear_x": lambda pixels, amounts: _warp(pixels, x_by_y=0.3 * amounts),
    "shear_y": lambda pixels, amounts: _warp(pixels, y_by_x=0.3 * amounts),
    "shift_x": lambda pixels, amounts: _warp(pixels, x=np.rint(150 / 331 * pixels.shape[2] * amounts)),
    "shift_y": lambda pixels, amounts: _warp(pixels, y=np.rint(150 / 331 * pixels.shape[1] * amounts)),
    "rotate": _rotate,
    "brightness": lambda pixels, amounts: _away_from(np.float32(0), pixels, amounts),
    "color": lambda pixels, amounts: _away_from(_gray(pixels), pixels, amounts),
    "contrast": lambda pixels, amounts: _away_from(
        np.rint(_gray(pixels).mean(axis=(1, 2, 3), keepdims=True)), pixels, amounts
    ),
    "sharpness": _sharpness, "posterize": _posterize, "solarize": _solarize, "autocontrast": _autocontrast,
    "equalize": _equalize,
}  # fmt: skip

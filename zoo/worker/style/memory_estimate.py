"""How much memory a picture of a given size takes to optimise, and whether there is so much."""

import os

from zoo.worker.errors import RefusalError
from zoo.worker.style import objective

# Measured with PyTorch on a processor: what is there before the first picture, and bytes for each of its pixels in
# float32, rounded up. VGG by its first three blocks, behind which maps are small.
BASE = 500e6
PIXEL = {"vgg19": 2200, "vgg16": 2200, "squeezenet": 1000, "random": 2600}
# bfloat16 halves the maps, and not the rest.
OF_BFLOAT16 = 0.6


def needed(network, precision, rows, columns):
    """Bytes that it takes, from the largest picture that is computed."""
    bytes_a_pixel = PIXEL[network] * (OF_BFLOAT16 if precision == "bfloat16" else 1.0)
    edge = 2 * objective.MARGIN
    return BASE + bytes_a_pixel * (rows + edge) * (columns + edge)


def check(features, rows, columns, there=None):
    """Refuse a picture that this machine has too little memory for, rather than be ended by the system mid-way.

    Args:
        features: ``network`` and ``precision``.
        rows: of the largest size.
        columns: of the largest size.
        there: bytes of memory; None asks the system.

    Raises:
        RefusalError: with the size that fits.
    """
    there = total() if there is None else there
    found = needed(features["network"], features["precision"], rows, columns)
    if there is None or found <= there:
        return
    longer, fits = max(rows, columns), max(rows, columns)
    while fits > 64 and needed(features["network"], features["precision"], *_scaled(rows, columns, fits)) > there:
        fits -= 16
    raise RefusalError(
        "%d x %d pixels take about %.1f GB with %s in %s, and this machine has %.1f GB: size=%d fits, of %d; "
        "features=squeezenet and, where it is fast, precision=bfloat16 take less"
        % (columns, rows, found / 1e9, features["network"], features["precision"], there / 1e9, fits, longer)
    )


def _scaled(rows, columns, longer):
    scale = longer / float(max(rows, columns))
    return rows * scale, columns * scale


def total():
    """Bytes of memory of this machine or, where that is less, of the group of processes that this one is in."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    return min(found, _limit() or found)


def _limit():
    """What Linux grants a container, or None."""
    try:
        with open("/sys/fs/cgroup/memory.max") as told:
            return int(told.read())
    except (OSError, ValueError):  # no such file elsewhere, and "max" where there is no limit
        return None

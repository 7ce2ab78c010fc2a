"""Estimate the memory needed to optimize an image, and reject sizes that do not fit."""

from zoo.protocol import memory
from zoo.worker.errors import UserError
from zoo.worker.style import objective

# Measured with PyTorch on a CPU: bytes before the first image, and bytes for each of its pixels in float32, rounded
# up. VGG by its first three blocks, after which maps are small.
BASE = 500e6
PIXEL = {"vgg19": 2200, "vgg16": 2200, "squeezenet": 1000, "distilled": 900, "random": 2600}
# bfloat16 halves only the maps.
OF_BFLOAT16 = 0.6


def needed(network, precision, rows, columns):
    bytes_a_pixel = PIXEL[network] * (OF_BFLOAT16 if precision == "bfloat16" else 1.0)
    edge = 2 * objective.MARGIN
    return BASE + bytes_a_pixel * (rows + edge) * (columns + edge)


def check(features, rows, columns, there=None):
    """Raise UserError, with a size that fits, if optimizing an image needs more memory than available.

    ``features`` has ``network`` and ``precision``; rows and columns are the largest size; ``there`` is the available
    memory in bytes, by default the system's.
    """
    there = memory.available_bytes() if there is None else there
    network, precision = features.network, features.precision
    size = needed(network, precision, rows, columns)
    if there is None or size <= there:
        return
    longer = fits = max(rows, columns)
    while fits > 64 and needed(network, precision, rows * fits / longer, columns * fits / longer) > there:
        fits -= 16
    raise UserError(
        "%d x %d pixels take about %.1f GB with %s in %s, and this machine has %.1f GB. Use size=%d instead of %d, "
        "features=squeezenet or, where it is fast, precision=bfloat16"
        % (columns, rows, size / 1e9, network, precision, there / 1e9, fits, longer)
    )

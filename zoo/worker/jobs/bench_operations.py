"""Time single operations from small to large on the CPU and the accelerator.

``row_column`` is the product of a row and a column of n numbers, as in blog posts about
https://developer.apple.com/metal/tensorflow-plugin/. ``square`` is the product of two square matrices, and
``convolution`` a 3x3 convolution of 8 images with 32 channels.
"""

import importlib

import numpy as np

from zoo.protocol import memory
from zoo.worker.benchmarks import timing
from zoo.worker.benchmarks.results import save_rows
from zoo.worker.errors import UserError, describe
from zoo.worker.phases import timed

PICTURES, CHANNELS = 8, 32
# A device needs memory for both arrays, the frameworks' copies and the result.
COPIES = 4
# Relative to NumPy in float64. Float32 sums in blocks stay below it for 10**8 numbers. Sequential sums do not: they
# differ by 0.0034 for 10**7 numbers and 0.16 for 10**8 (TensorFlow 2.21 on a CPU).
TOLERANCE = 1e-3


def run(request, events, stop, phases):
    """Write ``rows.json``: one row per operation, size and device; a failed one is a row too."""
    settings = request.bench
    framework = request.device.framework
    with timed(phases, "run_s"):
        known = _places(framework)
        rows = []
        todo = [(what, size) for what in settings.operations for size in settings.sizes[what]]
        for done, (what, size) in enumerate(todo):
            events.step(step=done, steps=len(todo))
            rows += _measured(what, size, known, settings, stop)
            if stop.asked:
                break
    return {"metrics": save_rows(request, rows, events)}


def _places(framework):
    """Return the (name, kind, module) of every device: NumPy first, followed by the framework's devices."""
    try:
        own = importlib.import_module("zoo.worker.devices.kernels." + framework)
    except ImportError as error:
        raise UserError("single operations of %s cannot be timed: %s" % (framework, error)) from error
    plain = importlib.import_module("zoo.worker.devices.kernels.numpy")
    return [(name, kind, module) for module in (plain, own) for name, kind in module.places()]


def _measured(what, size, known, settings, stop):
    """Return the rows of one operation of one size, device by device.

    The devices do not alternate: idle threads of one library continue to spin and would slow the next one's call.
    """
    known = [place for place in known if _KERNELS[what] in place[2].OPERATIONS]
    try:
        arrays = operands(what, size)
    except MemoryError as error:
        return [dict(_row(what, size, place), error="MemoryError: %s" % error) for place in known]
    return [_timed(_row(what, size, place), arrays, place[2], settings, stop) for place in known]


def _row(what, size, place):
    return {"operation": what, "size": size, "device": place[0], "device_kind": place[1]}


def _timed(row, arrays, module, settings, stop):
    """Return the row with its metrics, or with the error of this device."""
    what, size = row["operation"], row["size"]
    try:
        call, as_array = module.prepare(_KERNELS[what], arrays, row["device"])
        result = call()  # the first one compiles
        taken = timing.rounds(call, settings.count, warm=0, most_s=settings.max_s, stop=stop)
        if taken:
            row.update(timing.spread(taken))
            row["gflop_per_s"] = flops(what, size) / row["median_ms"] / 1e6
            row["largest_error"] = _error(what, arrays, as_array(result))
            row["correct"] = row["largest_error"] <= TOLERANCE
    except Exception as error:  # reported in the row of the device; the rest continue
        row["error"] = describe(error)
    return row


_KERNELS = {"row_column": "product", "square": "product", "convolution": "convolution"}


def operands(what, size):
    """Return the two arrays of an operation, float32 in 0..1, or raise MemoryError if they do not fit."""
    shapes = {
        "row_column": ((1, size), (size, 1)),
        "square": ((size, size), (size, size)),
        "convolution": ((PICTURES, size, size, CHANNELS), (3, 3, CHANNELS, CHANNELS)),
    }[what]
    needed = COPIES * sum(4 * int(np.prod(shape, dtype=np.int64)) for shape in shapes)
    if needed > (memory.total_bytes() or float("inf")):
        raise MemoryError("it needs about %d MB" % (needed // 10**6))
    drawn = np.random.RandomState(0).rand(1 << 20).astype("float32")
    return [np.resize(drawn[number:], shape) for number, shape in enumerate(shapes)]


def flops(what, size):
    if what == "row_column":
        return 2 * size
    return 2 * size**3 if what == "square" else 2 * PICTURES * size * size * CHANNELS * CHANNELS * 9


def _error(what, arrays, got):
    """Return the largest difference from NumPy in float64 in one row, relative to the largest value there."""
    left, right = arrays
    if what == "convolution":
        middle = arrays[0].shape[1] // 2
        part = left[0, middle - 1 : middle + 2, middle - 1 : middle + 2].astype("float64")
        wanted, got = np.tensordot(part, right.astype("float64"), 3), got[0, middle, middle]
    else:
        step = 1 << 22
        wanted = sum(
            left[:1, at : at + step].astype("float64") @ right[at : at + step].astype("float64")
            for at in range(0, left.shape[1], step)
        )
        got = got[:1]
    return float(np.abs(got - wanted).max() / np.abs(wanted).max())

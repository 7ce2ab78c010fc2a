"""Time a call that returns when the device is done, after warm-up rounds."""

import time

import numpy as np


def rounds(call, count, warm=1, most_s=None, stop=None, least=3):
    """Time a call ``count`` times, after ``warm`` untimed calls; return the seconds of each.

    After ``most_s``, no more calls are made once ``least`` are timed; None means no limit. ``stop`` ends them early.
    """
    for _ in range(warm):
        call()
    taken, began = [], time.perf_counter()
    while len(taken) < count and not (stop is not None and stop.asked):
        if most_s is not None and len(taken) >= least and time.perf_counter() - began > most_s:
            break
        at = time.perf_counter()
        call()
        taken.append(time.perf_counter() - at)
    return taken


def spread(seconds):
    """Return median, quartiles and count of some durations, in milliseconds."""
    low, middle, high = np.percentile(np.array(seconds) * 1e3, [25, 50, 75])
    return {"median_ms": float(middle), "q1_ms": float(low), "q3_ms": float(high), "count": len(seconds)}

"""Time a call that returns when the device is done: warm rounds first, then the clock."""

import time

import numpy as np


def rounds(call, count, warm=1, most_s=None, stop=None):
    """Time a call again and again.

    Args:
        call: function without arguments.
        count: how often it is timed.
        warm: how often it is called before.
        most_s: ends the rounds after this time, though not before three were timed; None for no limit.
        stop: looked at between rounds; when asked to, the rest is left out.

    Returns:
        Seconds of each call, a list.
    """
    for _ in range(warm):
        call()
    taken, began = [], time.perf_counter()
    while len(taken) < count and not (stop is not None and stop.asked):
        if most_s is not None and len(taken) >= 3 and time.perf_counter() - began > most_s:
            break
        at = time.perf_counter()
        call()
        taken.append(time.perf_counter() - at)
    return taken


def spread(seconds):
    """Median, quartiles and count of some durations, in milliseconds."""
    low, middle, high = np.percentile(np.array(seconds) * 1e3, [25, 50, 75])
    return {"median_ms": float(middle), "q1_ms": float(low), "q3_ms": float(high), "count": len(seconds)}

"""A fixed piece of work between the steps, by whose time a machine shows that it has become slower.

It is numpy's product of two matrices on the processor: the same before and after, whatever the steps do. Chips that
keep processor and GPU in one package throttle both.
"""

import statistics
import time
from collections.abc import Sequence

import numpy as np

EDGE, COUNT = 512, 15
# Of the speed at the beginning; on an idle machine the median of fifteen products stays well above it.
THROTTLED = 0.8


def gflop_per_s() -> float:
    """Return the speed of the product of two 512 x 512 matrices in float32, the median of fifteen, in GFLOP/s."""
    random = np.random.RandomState(0)
    left, right = (random.rand(EDGE, EDGE).astype(np.float32) for _ in range(2))
    left @ right  # threads start in the first product
    taken = []
    for _ in range(COUNT):
        began = time.perf_counter()
        left @ right
        taken.append(time.perf_counter() - began)
    return 2 * EDGE**3 / statistics.median(taken) / 1e9


def drift(speeds: Sequence[float]) -> float | None:
    """Return the last speed as a share of the best among the first three; None where there is only one."""
    return speeds[-1] / max(speeds[:3]) if len(speeds) > 1 else None


def is_throttled(share: float | None) -> bool:
    """Whether such a share of the first speed shows a machine that is throttled; None shows nothing."""
    return share is not None and share < THROTTLED

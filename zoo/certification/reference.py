"""A fixed computation, timed between the steps to detect whether the machine has become slower.

It is NumPy's product of two matrices on the CPU, independent of the steps. A CPU and a GPU in one package throttle
together. It runs in one thread of a separate process. On some machines, the threads of OpenBLAS wait 16 ms for each
other, while the product takes 2 ms.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np

from zoo.core import paths

CODE = "from zoo.certification import reference; print(reference.timed())"
ONE_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
EDGE, COUNT = 512, 15
# Share of the initial speed; on an idle machine, the median of fifteen products is well above it.
THROTTLED = 0.8
# If the last speed is above this multiple of the first, the machine was busy at the beginning.
FASTER = 1.25


def gflop_per_s() -> float:
    """Return the median speed of fifteen products of 512 x 512 matrices in float32, in GFLOP/s."""
    # Pass the search path of this process, because NumPy may be anywhere on it.
    path = {"PYTHONPATH": os.pathsep.join([str(paths.PACKAGE.parent), *filter(None, sys.path)])}
    command = [sys.executable, "-P", "-B", "-c", CODE]
    answer = subprocess.run(command, env=os.environ | ONE_THREAD | path, capture_output=True, text=True, check=True)
    return float(answer.stdout)


def timed() -> float:
    """Time the product in this process; see :func:`gflop_per_s`."""
    random = np.random.RandomState(0)
    left, right = (random.rand(EDGE, EDGE).astype(np.float32) for _ in range(2))
    left @ right  # the first product takes longer
    taken = []
    for _ in range(COUNT):
        began = time.perf_counter()
        left @ right
        taken.append(time.perf_counter() - began)
    return 2 * EDGE**3 / statistics.median(taken) / 1e9


def drift(speeds: Sequence[float]) -> float | None:
    """Return the last speed as a share of the best of the first three, or None for a single speed."""
    return speeds[-1] / max(speeds[:3]) if len(speeds) > 1 else None


def is_throttled(share: float | None) -> bool:
    return share is not None and share < THROTTLED

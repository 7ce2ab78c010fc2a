"""A fixed computation, run between the steps; its time shows whether the machine has become slower.

It is numpy's product of two matrices on the CPU, independent of the steps. CPU and GPU in one package throttle
together.

It runs in one thread in a separate process. Threads of OpenBLAS wait for each other, on some machines for 16 ms when
the product takes 2.
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
# Share of the initial speed; on an idle machine the median of fifteen products stays well above it.
THROTTLED = 0.8
# A last speed above this multiple of the first shows that the machine was busy during the first.
FASTER = 1.25


def gflop_per_s() -> float:
    """Return the speed of the product of two 512 x 512 matrices in float32, the median of fifteen, in GFLOP/s."""
    # The search path of this process, because numpy may be anywhere on it.
    path = {"PYTHONPATH": os.pathsep.join([str(paths.PACKAGE.parent), *filter(None, sys.path)])}
    command = [sys.executable, "-P", "-B", "-c", CODE]
    answer = subprocess.run(command, env=os.environ | ONE_THREAD | path, capture_output=True, text=True, check=True)
    return float(answer.stdout)


def timed() -> float:
    """Time the product in this process; see :func:`gflop_per_s`."""
    random = np.random.RandomState(0)
    left, right = (random.rand(EDGE, EDGE).astype(np.float32) for _ in range(2))
    left @ right  # the first one takes longer
    taken = []
    for _ in range(COUNT):
        began = time.perf_counter()
        left @ right
        taken.append(time.perf_counter() - began)
    return 2 * EDGE**3 / statistics.median(taken) / 1e9


def drift(speeds: Sequence[float]) -> float | None:
    """Return the last speed as a share of the best among the first three, or None for a single one."""
    return speeds[-1] / max(speeds[:3]) if len(speeds) > 1 else None


def is_throttled(share: float | None) -> bool:
    return share is not None and share < THROTTLED

"""Reading HDF5 in a process of its own, which can be stopped.

The HDF5 library trusts what it reads. Bytes changed at random have kept it in an endless loop and have made it ask
for all memory there is; from Python neither can be interrupted.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.weights.formats import HARMLESS_BYTES, MOST_BYTES, MOST_EXPANSION, RejectedFileError, Weights, write_npz

# What starting Python and its libraries may take on a slow machine.
SECONDS = 20.0
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from zoo.weights import io; io.read_apart(*sys.argv[2:])"
_ARRAYS, _TOLD = "weights.npz", "told.json"


def read(path: Path) -> Weights:
    """Have a file read by ``weights.read_apart`` in another process.

    Raises:
        ZooError: what that process says of the file, or that it crashed or did not come to an end.
    """
    seconds = SECONDS + path.stat().st_size / 5e6
    with tempfile.TemporaryDirectory(prefix="zoo-weights-") as folder:
        command = [sys.executable, "-P", "-B", "-c", _CODE, str(paths.PACKAGE.parent), str(path.resolve()), folder]
        try:
            answer = subprocess.run(
                command,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RejectedFileError(
                path, f"the HDF5 library did not get to its end within {seconds:.0f} seconds"
            ) from error
        told = Path(folder, _TOLD)
        if not told.is_file():
            last = (answer.stderr.strip().splitlines() or ["nothing was said"])[-1]
            raise RejectedFileError(
                path, f"the HDF5 library broke down over it (exit {answer.returncode}: {last[:200]})"
            )
        return _taken_over(path, json.loads(told.read_text(encoding="utf-8")), Path(folder, _ARRAYS))


def _taken_over(path: Path, told: dict[str, Any], arrays: Path) -> Weights:
    if "message" in told:
        raise ZooError(told["message"].replace("$FILE", str(path)), told["remedy"])
    with np.load(arrays, allow_pickle=False) as stored:
        return Weights(
            {name: stored[name] for name in stored.files}, told["kind"], dict(told["classes"]), tuple(told["doubts"])
        )


def answer(path: Path, folder: Path, read_here: Callable[[Path], Weights]) -> None:
    """The other process's part: read with little memory to waste, leave the answer in a folder."""
    _limit_memory(path.stat().st_size)
    try:
        found = read_here(path)
        write_npz(folder / _ARRAYS, found)
        told: dict[str, Any] = {"kind": found.kind, "classes": found.classes, "doubts": found.order_problems}
    except ZooError as error:
        told = {"message": error.message.replace(str(path), "$FILE"), "remedy": error.remedy}
    (folder / _TOLD).write_text(json.dumps(told), encoding="utf-8")


def _limit_memory(stored: int) -> None:
    """Twice what the file may unpack to, and room for Python; where the system knows such limits."""
    most = (2 << 30) + 3 * min(MOST_BYTES, max(HARMLESS_BYTES, MOST_EXPANSION * stored))
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))

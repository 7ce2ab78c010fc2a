"""Read HDF5 in a separate process, which can be stopped.

The HDF5 library does not validate its input. Random changes of bytes have caused infinite loops and the allocation of
all memory, which Python cannot interrupt.
"""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.weights import formats, hdf5
from zoo.weights.formats import Arrays, RejectedFileError, Weights
from zoo.weights.keras_layout import KerasConfig

# CPU time for starting Python and its libraries on a slow machine.
SECONDS = 20.0
# Multiple of the CPU time that a process may take in total, because it may wait or share its CPU.
PATIENCE = 60
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from zoo.weights import sandbox; sandbox.child(*sys.argv[2:])"
_UNENDED = "the HDF5 library did not finish within {:.0f} seconds"
_ARRAYS, _ANSWER = "weights.npz", "answer.json"


def read(path: Path) -> Weights:
    """Read the weights of a file with :func:`child` in another process."""
    answer, arrays = _answered(path, "weights")
    return Weights(arrays, answer["kind"], answer["classes"], tuple(answer["order_problems"]), answer["config"])


def read_model(path: Path) -> KerasConfig:
    """Read a saved model's description like :func:`read`; see :func:`zoo.weights.hdf5.read_model`."""
    return _answered(path, "model")[0]


def _answered(path: Path, what: str) -> tuple[KerasConfig, Arrays]:
    """Return the answer of :func:`child`, and the arrays of weights; raise the error that it reports."""
    seconds = SECONDS + path.stat().st_size / 5e6
    with tempfile.TemporaryDirectory(prefix="zoo-weights-") as folder:
        arguments = [str(path.resolve()), folder, what, str(math.ceil(seconds))]
        try:
            process = subprocess.run(
                [sys.executable, "-P", "-B", "-c", _CODE, str(paths.PACKAGE.parent), *arguments],
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PATIENCE * seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise RejectedFileError(path, _UNENDED.format(PATIENCE * seconds)) from error
        if process.returncode == -getattr(signal, "SIGXCPU", math.inf):
            raise RejectedFileError(path, _UNENDED.format(seconds) + " of processor time")
        if not Path(folder, _ANSWER).is_file():
            last = (process.stderr.strip().splitlines() or ["no message"])[-1]
            reason = f"the HDF5 library failed on it (exit {process.returncode}: {last[:200]})"
            raise RejectedFileError(path, reason)
        answer = json.loads(Path(folder, _ANSWER).read_text(encoding="utf-8"))
        if "message" in answer:
            raise ZooError(answer["message"].replace("$FILE", str(path)), answer["remedy"])
        if what == "model":
            return answer, {}
        with np.load(Path(folder, _ARRAYS), allow_pickle=False) as stored:
            return answer, dict(stored)


def child(file: str, answer_folder: str, what: str, seconds: str) -> None:
    """Read the ``weights`` or the ``model`` of a file into a folder; ``seconds`` limits the CPU time."""
    path, folder = Path(file), Path(answer_folder)
    _limit(path.stat().st_size, int(seconds))
    answer: dict[str, object]
    try:
        answer = hdf5.read_model(path) if what == "model" else _write(hdf5.read(path), folder)
    except ZooError as error:
        answer = {"message": error.message.replace(file, "$FILE"), "remedy": error.remedy}
    (folder / _ANSWER).write_text(json.dumps(answer), encoding="utf-8")


def _write(weights: Weights, folder: Path) -> dict[str, object]:
    formats.write_npz(folder / _ARRAYS, weights)
    return {name: getattr(weights, name) for name in ("kind", "classes", "order_problems", "config")}


def _limit(stored: int, seconds: int) -> None:
    """Limit memory to twice the largest unpacked size, plus Python's, on systems that support it."""
    most = (2 << 30) + 3 * min(formats.MOST_BYTES, max(formats.HARMLESS_BYTES, formats.MOST_EXPANSION * stored))
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

"""Read and write weights: files of all versions of Keras, of NumPy and of safetensors.

All are converted to float32 by ``layer/weight``, the content of the zoo's own ``weights.npz``. Files may come from
third parties: nothing is unpickled, links are not followed, and declared sizes are limited by the size of the file.
HDF5 is read in a separate process, because its library can hang.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path

from zoo.core import file_kinds
from zoo.core.errors import ZooError
from zoo.core.files import atomic_file
from zoo.weights import formats, hdf5, keras2_layout, keras3_layout, manifest, sandbox, style_any
from zoo.weights.formats import RejectedFileError, Weights

BROKEN = ("empty", "page", "unknown")


def read(path: Path) -> Weights:
    """Read a file of weights; its content determines the format, not its name.

    Formats: Keras 1 to 3 (``.h5``, ``.weights.h5``, ``.keras``), ``.npz`` and ``.safetensors``. Folders: with a
    ``manifest.json``, or with the published files for style in one pass.
    """
    with formats.readable(path):
        weights = _read(path)
    if not weights.arrays:
        raise RejectedFileError(path, f"it is a {weights.kind} file without weights")
    formats.check_names(path, weights.arrays)
    formats.check_finite(path, weights.arrays)
    return weights


def _read(path: Path) -> Weights:
    if manifest.describes(path):
        return manifest.read(path)
    if style_any.describes(path):
        return style_any.read(path)
    kind = file_kinds.of(path)
    if kind.word in BROKEN and not (kind.known and "models" in kind.known.remedies):
        raise RejectedFileError(path, f"it is {kind.about}")
    is_npz = kind.word == "npz" or (kind.word == "zip" and not kind.inside)
    if not is_npz and kind.word not in file_kinds.WEIGHTS:
        raise kind.refusal("weights")
    if kind.word == "safetensors":
        return formats.read_safetensors(path)
    if not is_npz:
        return sandbox.read(path)
    with zipfile.ZipFile(path) as archive:
        return formats.read_npz(path, archive)


def write(path: Path, weights: Weights) -> None:
    """Write weights in the format of the suffix: ``.npz``, ``.safetensors``, ``.weights.h5`` (Keras 3) or ``.h5``.

    ``.h5`` is the format of Keras 2. Keras reads it and ``.weights.h5`` by layer order.
    """
    write_to = writer_for(path)
    with atomic_file(path) as part:
        write_to(part, weights)


def writer_for(path: Path) -> Callable[[Path, Weights], None]:
    writers: dict[str, Callable[[Path, Weights], None]] = {
        ".npz": formats.write_npz,
        ".safetensors": formats.write_safetensors,
        ".weights.h5": lambda part, weights: hdf5.write(part, keras3_layout.make_keras3(weights)),
        ".h5": lambda part, weights: hdf5.write(part, keras2_layout.make_keras2(weights)),
    }
    for suffix, writer in writers.items():
        if path.name.endswith(suffix):
            return writer
    why = "; a .keras file also contains the model, which weights do not describe" if path.suffix == ".keras" else ""
    raise ZooError(f"Weights cannot be written to {str(path)!r}{why}", f"End the name in {', '.join(writers)}.")

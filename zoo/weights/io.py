"""Read and write weights: files of every Keras, numpy's and safetensors.

All become ``layer/weight`` -> float32, the content of the zoo's own ``weights.npz``. Files may come from third
parties: nothing is unpickled, no link is followed, and no size beyond the file is accepted. HDF5 is read in a
separate process, because its library can hang.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.core.files import atomic_file
from zoo.weights import formats, hdf5, keras2_layout, keras3_layout, manifest, sandbox, style_any
from zoo.weights.formats import RejectedFileError, Weights

__all__ = ["Weights", "read", "write", "writer_for"]

MISTAKEN = {
    b"<": "a web page",
    b"version https://git-lfs": "a pointer to a file that git-lfs did not fetch",
    b"\x80": "a Python pickle, which could run anything and is never opened",
}


def read(path: Path) -> Weights:
    """Read a file of weights; its content decides the format, not its name.

    Keras 1 and 2 weights and models (``.h5``), Keras 3 (``.weights.h5``, ``.keras``), ``.npz``, ``.safetensors``, the
    folder of a ``manifest.json``, or the published files for style in one pass.
    """
    with formats.readable(path):
        weights = _read(path)
    if not weights.arrays:
        raise RejectedFileError(path, f"it is a {weights.kind} file without a single weight")
    formats.check_names(path, weights.arrays)
    formats.check_finite(path, weights.arrays)
    return weights


def _read(path: Path) -> Weights:
    if manifest.describes(path):
        return manifest.read(path)
    if style_any.describes(path):
        return style_any.read(path)
    with path.open("rb") as stream:
        head = stream.read(32)
    if head.startswith(hdf5.MAGIC) or _is_keras(path, head):
        return sandbox.read(path)
    if head.startswith(b"PK"):
        with zipfile.ZipFile(path) as archive:
            return formats.read_npz(path, _without_pickle(path, archive))
    return _read_rest(path, head)


def _without_pickle(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipFile:
    if any(name.endswith("/data.pkl") for name in archive.namelist()):
        raise ZooError(
            f"{path} is refused: it is a file of torch.save, a Python pickle, which could run anything "
            "and is never opened",
            'Save it where it was made: safetensors.torch.save_file(model.state_dict(), "weights.safetensors").',
        )
    return archive


def _is_keras(path: Path, head: bytes) -> bool:
    if not head.startswith(b"PK"):
        return False
    with zipfile.ZipFile(path) as archive:
        return "config.json" in archive.namelist()


def _read_rest(path: Path, head: bytes) -> Weights:
    if not head:
        raise RejectedFileError(path, "it is empty")
    for magic, name in MISTAKEN.items():
        if head.lstrip().startswith(magic) and path.suffix != ".safetensors":
            raise RejectedFileError(path, f"it is {name}")
    if head[4:8] == b"TFL3":
        raise ZooError(
            f"{path} is refused: it is a TensorFlow Lite model, whose weights are packed for small machines",
            "Give the Keras model that it was made from: .keras or .h5.",
        )
    if path.suffix != ".safetensors":
        raise RejectedFileError(
            path, f"it is neither HDF5, .keras, .npz nor .safetensors; it begins with {head[:8]!r}"
        )
    return formats.read_safetensors(path)


def write(path: Path, weights: Weights) -> None:
    """Write weights in the format of the suffix.

    ``.npz``, ``.safetensors``, ``.weights.h5`` (Keras 3) or ``.h5`` (Keras 2). Keras reads the last two by the order
    of the layers.
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
    why = "; a .keras file holds the model itself, which weights do not describe" if path.suffix == ".keras" else ""
    raise ZooError(f"Weights cannot be written to {path.name!r}{why}", f"End the name in {', '.join(writers)}.")

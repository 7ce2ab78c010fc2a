"""Read published weights of the feature networks from any format.

A path may be a Keras HDF5, ``.npz`` or ``.safetensors`` file, or a folder with the ``model.json`` and the shards of
TensorFlow.js. It may contain only the first layers of a network.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from zoo.core.errors import listed
from zoo.core.files import atomic_file, storage_error
from zoo.weights import formats
from zoo.weights.formats import Arrays


def read(path: Path) -> "Arrays":
    """Read weights as float32 by ``layer/weight``; the layers are named as in ``zoo.models.features``."""
    if path.is_dir() or path.name == "model.json":
        return read_shards(path if path.is_dir() else path.parent)
    from zoo.weights import io

    return {_plain(name): array for name, array in io.read(path).arrays.items()}


def _plain(name: str) -> str:
    """Convert ``fire2/squeeze1x1/kernel`` to ``fire2_squeeze1x1/kernel``: Keras 3 allows no slash in layer names."""
    layer, _, weight = name.rpartition("/")
    return f"{layer.replace('/', '_')}/{weight}"


def read_shards(folder: Path) -> "Arrays":
    """Read the weights of a TensorFlow.js layers model: ``model.json`` and its float32 shards.

    Groups without shards are skipped, because the first layers of a network can be used without the last.
    """
    path = folder / "model.json"
    try:
        if path.stat().st_size > formats.MOST_JSON_BYTES:
            raise formats.RejectedFileError(path, "it is far too long")
        groups = json.loads(path.read_bytes())["weightsManifest"]
        present = [group for group in groups if any((folder / name).exists() for name in _shards(folder, group))]
        if not present:
            raise formats.RejectedFileError(path, "its shards are missing from its folder")
        return {_plain(name): array for group in present for name, array in _group(folder, group).items()}
    except OSError as error:
        raise storage_error("read", Path(error.filename or path), error) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"it is not a model of TensorFlow.js ({type(error).__name__}: {error})"
        raise formats.RejectedFileError(path, reason) from error


def _shards(folder: Path, group: dict[str, Any]) -> list[str]:
    names = [str(name) for name in group["paths"]]
    if any(Path(name).name != name for name in names):
        raise formats.RejectedFileError(folder / "model.json", f"it names shards outside its folder: {listed(names)}")
    return names


def _group(folder: Path, group: dict[str, Any]) -> "Arrays":
    arrays: Arrays = {}
    names = _shards(folder, group)
    content, begin = b"".join((folder / name).read_bytes() for name in names), 0
    for weight in group["weights"]:
        shape = tuple(int(edge) for edge in weight["shape"])
        end = begin + 4 * math.prod(shape)
        if weight["dtype"] != "float32" or "quantization" in weight or min(shape, default=1) < 1:
            raise formats.RejectedFileError(folder / "model.json", f"{weight['name']} is not plain float32")
        if end > len(content):
            raise formats.RejectedFileError(folder / "model.json", f"its shards end before {weight['name']} does")
        arrays[weight["name"]] = np.frombuffer(content[begin:end], "<f4").astype(np.float32).reshape(shape)
        begin = end
    if begin != len(content):
        raise formats.RejectedFileError(folder / "model.json", f"{listed(names)} are longer than their weights")
    return arrays


def write(path: Path, arrays: "Arrays") -> None:
    with atomic_file(path) as part:
        formats.write_npz(part, formats.Weights(arrays, "features"))

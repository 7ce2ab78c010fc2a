"""Read weights from a ``manifest.json`` and raw float32 files, the published format of style networks.

The manifest has a row per weight: ``{"NAME": {"filename": "FILE", "shape": [3, 3, 64, 128]}}``; each file is raw
little-endian float32. It may come from a third party: only regular files in its folder are opened, and only if their
length matches their shape.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from zoo.config.schemas.common import Arguments
from zoo.weights import formats
from zoo.weights.formats import Arrays, RejectedFileError, Weights, natural

NAME = "manifest.json"
_KIND = "manifest of raw float32"


def describes(path: Path) -> bool:
    return path.name == NAME or (path / NAME).is_file()


def read(path: Path) -> Weights:
    """Read a manifest, or its folder; raise OSError if it cannot be opened, or ValueError if it is not JSON.

    Weights with the names ``Variable``, ``Variable_1``, ... and the shapes of a feed-forward style network get the
    names of its layers; other weights keep their names.
    """
    manifest = path / NAME if path.is_dir() else path
    if manifest.stat().st_size > formats.MOST_JSON_BYTES:
        raise RejectedFileError(manifest, f"it is {manifest.stat().st_size:,} bytes long")
    rows = json.loads(manifest.read_text(encoding="utf-8"))
    if not isinstance(rows, dict) or not 0 < len(rows) <= formats.MOST_ENTRIES:
        raise RejectedFileError(manifest, "it is not a list of weights by name")
    checked = {name: _checked(manifest, name, rows[name]) for name in sorted(rows, key=natural)}
    declared = sum(4 * math.prod(shape) for _, shape in checked.values())
    formats.check_size(manifest, declared, sum(file.stat().st_size for file, _ in checked.values()))
    arrays = {
        name: np.fromfile(file, "<f4").astype(np.float32).reshape(shape) for name, (file, shape) in checked.items()
    }
    named = as_style_network(arrays)
    if named:
        return Weights(named, f"{_KIND}, a feed-forward style network")
    return Weights(arrays, _KIND, order_problems=("its names do not include layers",))


def _checked(manifest: Path, name: str, row: Any) -> tuple[Path, tuple[int, ...]]:
    """Return the file of a weight and its shape, after checking that they are harmless."""
    file, shape = (row.get("filename"), row.get("shape")) if isinstance(row, dict) else (None, None)
    if not isinstance(file, str) or not isinstance(shape, list):
        raise RejectedFileError(manifest, f"{name!r} has no filename and shape")
    if any(type(edge) is not int or edge < 1 for edge in shape):
        raise RejectedFileError(manifest, f"{name!r} has the shape {shape}")
    if file in ("", ".", "..") or not file.isprintable() or any(mark in file for mark in "/\\:"):
        raise RejectedFileError(manifest, f"{name!r} is in {file!r}, which is not a plain file name")
    path = manifest.parent / file
    if not path.is_file() or path.resolve().parent != manifest.parent.resolve():
        raise RejectedFileError(manifest, f"{name!r} is in {file!r}, which is not a file in its folder")
    size, needed = path.stat().st_size, 4 * math.prod(shape)
    if size != needed:
        raise RejectedFileError(manifest, f"{file!r} is {size:,} bytes long; the shape {shape} needs {needed:,}")
    return path, tuple(shape)


def as_style_network(arrays: "Arrays") -> "Arrays | None":
    """Return the weights of a feed-forward style network by ``layer/weight``, or None for another network.

    ``arrays`` are the kernel of each convolution, in order, and the shift and scale of its normalization.
    """
    parts, blocks = list(arrays.values()), (len(arrays) // 3 - 6) // 2
    if len(parts) != 18 + 6 * blocks or blocks < 0 or not all(name.startswith("Variable") for name in arrays):
        return None
    named: Arrays = {}
    for index, layer in enumerate(layers(blocks)):
        kernel, shift, scale = parts[3 * index : 3 * index + 3]
        named |= {f"{layer}/kernel": kernel, f"{layer}_norm/shift": shift, f"{layer}_norm/scale": scale}
    return named if size_of(named) else None


def layers(blocks: int) -> list[str]:
    residual = [f"block{number}_{half}" for number in range(1, blocks + 1) for half in "ab"]
    return ["conv1", "conv2", "conv3", *residual, "up1", "up2", "output"]


def size_of(arrays: "Arrays") -> Arguments | None:
    """Return the builder's arguments for the style network with these weights, or None.

    The arguments are ``filters``, ``blocks``, ``kernel_size``, and ``upsampling`` without transposed convolutions.
    """
    first = arrays.get("conv1/kernel")
    blocks = (len(arrays) // 3 - 6) // 2
    if first is None or first.ndim != 4 or first.shape[0] % 2 == 0 or blocks < 0:
        return None
    size = {"filters": first.shape[3], "blocks": blocks, "kernel_size": first.shape[0]}
    shapes = {name: array.shape for name, array in arrays.items()}
    if shapes == _shapes(**size, transposed=False):
        return {**size, "upsampling": "nearest"}
    return size if shapes == _shapes(**size) else None


def without_transposed(arrays: "Arrays") -> "Arrays":
    """Return the weights for ``upsampling="nearest"``, whose two kernels are the closest by least squares.

    Along an axis, a transposed kernel adds each value to three outputs, and a kernel after repetition to four.
    """
    change = np.linalg.pinv([[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 0, 0]])[:, 1:]
    changed = {
        name: np.einsum("ai,bj,ijoc->abco", change, change, arrays[name]).astype(np.float32)
        for name in ("up1/kernel", "up2/kernel")
    }
    return arrays | changed


def _shapes(filters: int, blocks: int, kernel_size: int, transposed: bool = True) -> dict[str, tuple[int, ...]]:
    wide, half = 4 * filters, 2 * filters
    channels = dict.fromkeys(layers(blocks), (wide, wide))
    channels |= {"conv1": (3, filters), "conv2": (filters, half), "conv3": (half, wide)}
    channels |= {"up1": (wide, half), "up2": (half, filters), "output": (filters, 3)}
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (inputs, outputs) in channels.items():
        size = kernel_size if name in ("conv1", "output") else 3
        both = (outputs, inputs) if transposed and name.startswith("up") else (inputs, outputs)
        shapes[f"{name}/kernel"] = (size, size, *both)
        shapes |= {f"{name}_norm/{part}": (outputs,) for part in ("shift", "scale")}
    return shapes

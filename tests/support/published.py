"""Small weights in the layouts in which others publish theirs, with drawn numbers."""

import json
from pathlib import Path

import h5py
import numpy as np

from zoo.weights import manifest

VGG_WIDTHS = (64, 128, 256, 512, 512)
VGG_DEPTHS = {"vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}


def style_network(folder: Path, filters: int = 2, blocks: int = 1, edge: int = 3) -> dict[str, np.ndarray]:
    """Write a small network as its publishers would, and return it under the zoo's names."""
    random, named, rows = np.random.default_rng(0), {}, {}
    folder.mkdir(exist_ok=True)
    for number, (name, shape) in enumerate(manifest._shapes(filters, blocks, edge).items()):
        named[name] = random.random(shape).astype("<f4")
        file = "Variable" + (f"_{number}" if number else "")
        named[name].tofile(folder / file)
        rows[file] = {"filename": file, "shape": list(shape)}
    (folder / "manifest.json").write_text(json.dumps(dict(sorted(rows.items()))))
    return named


def vgg(path: Path, network: str) -> Path:
    """A file with the layers, names and shapes of the one that Keras publishes without its top; drawn numbers."""
    draw, channels = np.random.default_rng(1), 3
    with h5py.File(path, "w") as file:
        names = ["input_1"]
        file.create_group("input_1").attrs["weight_names"] = np.array([], "S1")
        for block, (width, depth) in enumerate(zip(VGG_WIDTHS, VGG_DEPTHS[network], strict=True), 1):
            for turn in range(1, depth + 1):
                names.append(f"block{block}_conv{turn}")
                group, stored = file.create_group(names[-1]), [f"{names[-1]}_{kind}_1:0" for kind in "Wb"]
                group.attrs["weight_names"] = np.array([name.encode() for name in stored])
                kernel = draw.standard_normal((3, 3, channels, width), np.float32)
                group[stored[0]], group[stored[1]] = kernel * (2 / (9 * channels)) ** 0.5, np.zeros(width, "f4")
                channels = width
            names.append(f"block{block}_pool")
            file.create_group(names[-1]).attrs["weight_names"] = np.array([], "S1")
        file.attrs["layer_names"] = np.array([name.encode() for name in names])
    return path


def tflite(arrays: dict[str, np.ndarray], scales: dict[str, list[float]] | None = None) -> bytes:
    """A TensorFlow Lite model of constants alone: float32, float16, or int8 where there are scales of the filters."""
    data = bytearray(b"\0\0\0\0TFL3")
    tensors, buffers = [], [{}]
    for name, array in arrays.items():
        kind = {"f": {4: 0, 2: 1}, "i": {1: 9, 4: 2}}[array.dtype.kind][array.dtype.itemsize]
        shape = np.array(array.shape, "<i4")
        row: dict[int, object] = {0: shape, 1: bytes([kind]), 2: len(buffers).to_bytes(4, "little"), 3: name.encode()}
        if scales and name in scales:
            zeros = np.zeros(len(scales[name]), "<i8")
            row[4] = {2: np.array(scales[name], "<f4"), 3: zeros, 6: (0).to_bytes(4, "little")}
        tensors.append(row)
        buffers.append({0: np.frombuffer(array.tobytes(), np.uint8)})
    _point(data, 0, _table(data, {2: [{0: tensors}], 4: buffers}))
    return bytes(data)


def _point(data: bytearray, place: int, target: int) -> None:
    data[place : place + 4] = (target - place).to_bytes(4, "little")


def _table(data: bytearray, fields: dict[int, object]) -> int:
    """Append a table and what it refers to. Bytes of one or four are numbers; names are longer here."""
    data += bytes(-len(data) % 4)
    count, start = max(fields, default=-1) + 1, len(data)
    data += (4 + 2 * count).to_bytes(2, "little") + (4 + 4 * count).to_bytes(2, "little") + bytes(2 * count)
    data += bytes(-len(data) % 4)
    place = len(data)
    data += (place - start).to_bytes(4, "little") + bytes(4 * count)
    for number, value in fields.items():
        entry, slot = start + 4 + 2 * number, place + 4 + 4 * number
        data[entry : entry + 2] = (slot - place).to_bytes(2, "little")
        if isinstance(value, bytes) and len(value) in (1, 4):
            data[slot : slot + len(value)] = value
        else:
            _point(data, slot, _table(data, value) if isinstance(value, dict) else _vector(data, value))
    return place


def _vector(data: bytearray, value: object) -> int:
    data += bytes(-len(data) % 4)
    place = len(data)
    if isinstance(value, list):
        data += len(value).to_bytes(4, "little") + bytes(4 * len(value))
        for index, row in enumerate(value):
            _point(data, place + 4 + 4 * index, _table(data, row))
        return place
    raw = value if isinstance(value, bytes) else np.asarray(value).tobytes()
    data += (len(raw) if isinstance(value, bytes) else np.asarray(value).size).to_bytes(4, "little") + raw
    return place

"""Read the constants of a TensorFlow Lite model: its weights by name, as float32.

The file is a FlatBuffer: tables that refer to each other by offsets (https://flatbuffers.dev/internals/; fields from
tensorflow/compiler/mlir/lite/schema/schema.fbs). Google's ``flatbuffers`` package needs code that is generated from
the schema, and does not check that offsets are inside of the file. This reader checks every number; it supports only
the four kinds of tables with weights.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.weights import formats
from zoo.weights.formats import Arrays, RejectedFileError

MAGIC = b"TFL3"
# The types of weight tensors by their number in the schema.
_TYPES = {0: "<f4", 1: "<f2", 2: "<i4", 9: "<i1"}
# Field numbers of the tables.
_SUBGRAPHS, _BUFFERS, _TENSORS, _DATA = 2, 4, 0, 0
_SHAPE, _TYPE, _BUFFER, _NAME, _QUANTIZATION = 0, 1, 2, 3, 4
_SCALE, _ZERO_POINT, _AXIS = 2, 3, 6


def read(path: Path) -> "Arrays":
    """Return every constant of a model by name, dequantized; raise OSError if the file cannot be opened.

    Kernels have the layout of TensorFlow Lite: (filters, height, width, channels).
    """
    if path.stat().st_size > formats.MOST_BYTES:
        raise RejectedFileError(path, f"it is {path.stat().st_size:,} bytes long")
    content = path.read_bytes()
    if content[4:8] != MAGIC:
        raise RejectedFileError(path, "it is not a TensorFlow Lite model")
    with formats.readable(path):
        try:
            return _constants(_Table(content, _number(content, 0)))
        except (struct.error, IndexError) as error:
            raise ValueError(f"it is truncated: {error}") from error


def _constants(model: "_Table") -> "Arrays":
    buffers = model.tables(_BUFFERS)
    arrays: Arrays = {}
    stored = 0
    for tensor in model.tables(_SUBGRAPHS)[0].tables(_TENSORS):
        index = tensor.number(_BUFFER, "<I")
        data = buffers[index].content(_DATA) if index < len(buffers) else b""
        if data:
            stored += len(data)
            if stored > len(model.data):  # tensors may share a buffer, so a small file could declare gigabytes
                raise ValueError("its tensors are larger than the file")
            arrays[tensor.content(_NAME).decode("utf-8")] = _array(tensor, data)
    return arrays


def _array(tensor: "_Table", data: bytes) -> "NDArray[np.float32]":
    kind = tensor.number(_TYPE, "<b")
    if kind not in _TYPES:
        raise ValueError(f"a tensor is of type {kind}")
    stored = np.frombuffer(data, _TYPES[kind]).reshape(tensor.vector(_SHAPE, "<i4"))
    notes = tensor.tables(_QUANTIZATION, several=False)
    scale = notes[0].vector(_SCALE, "<f4") if notes else np.empty(0, np.float32)
    if not len(scale):
        return stored.astype(np.float32)
    shape = [1] * stored.ndim
    if len(scale) > 1:
        shape[notes[0].number(_AXIS, "<i")] = len(scale)
    zero = notes[0].vector(_ZERO_POINT, "<i8").astype(np.float64)
    offset = zero.reshape(shape) if len(zero) == len(scale) else 0.0
    return np.asarray((stored.astype(np.float64) - offset) * scale.reshape(shape), np.float32)


class _Table:
    """A table of a FlatBuffer; a missing field is zero or empty."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self._place = data, place
        self._fields = place - _number(data, place, "<i")
        self._length = _number(data, self._fields, "<H")

    def _field(self, number: int) -> int:
        entry = 4 + 2 * number
        if entry + 2 > self._length:
            return 0
        offset = _number(self.data, self._fields + entry, "<H")
        return self._place + offset if offset else 0

    def number(self, field: int, kind: str) -> int:
        """Return a numeric field; ``kind`` is a format of :mod:`struct`."""
        place = self._field(field)
        return _number(self.data, place, kind) if place else 0

    def vector(self, field: int, kind: str) -> "NDArray[Any]":
        """Return a field that is a list of numbers; ``kind`` is a NumPy dtype."""
        return np.frombuffer(self.content(field, np.dtype(kind).itemsize), kind)

    def content(self, field: int, size: int = 1) -> bytes:
        """Return the bytes of a field that is a list of items of ``size`` bytes."""
        place = self._field(field)
        if not place:
            return b""
        start = place + _number(self.data, place)
        end = start + 4 + size * _number(self.data, start)
        if end > len(self.data):
            raise ValueError("a list reaches beyond the end of the file")
        return self.data[start + 4 : end]

    def tables(self, field: int, several: bool = True) -> "list[_Table]":
        """Return the tables in a field: a list of tables, or a single table if ``several`` is False."""
        place = self._field(field)
        if not place:
            return []
        start = place + _number(self.data, place) + 4 if several else place
        count = len(self.content(field, 4)) // 4 if several else 1
        if count > formats.MOST_ENTRIES:
            raise ValueError(f"a list of {count:,} tables")
        places = [start + 4 * index for index in range(count)]
        return [_Table(self.data, place + _number(self.data, place)) for place in places]


def _number(data: bytes, place: int, kind: str = "<I") -> int:
    """Return a number after checking that it is inside of the data; ``struct`` accepts negative positions."""
    if not 0 <= place < len(data):
        raise ValueError(f"an offset points to byte {place:,} of {len(data):,}")
    value: int = struct.unpack_from(kind, data, place)[0]
    return value

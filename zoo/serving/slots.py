"""Files that host and worker map into memory, for the host's items and the worker's outputs."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from zoo.core.arrays import NDArray, np
from zoo.protocol.part import Json
from zoo.protocol.request import ServePart

# Largest number of images that wait to be restyled: each takes megabytes and about a second.
MOST_RESTYLED = 16


class Slots(Protocol):
    """``count`` slots of at most ``batch`` items; ``most_waiting`` limits the items that wait for a slot."""

    count: int
    batch: int
    most_waiting: float

    def put(self, slot: int, items: list[Any]) -> Json:
        """Write items; return the command for the worker."""

    def take(self, slot: int) -> Iterator[Any]:
        """Yield the outputs for the last items of a slot, in order."""


class RowSlots:
    """Items of one shape and data type ``kind``, several per slot; outputs are probabilities, float32 (classes,)."""

    most_waiting = math.inf

    def __init__(self, serve: ServePart, kind: "type[np.uint8] | type[np.int32]") -> None:
        shape = tuple(serve.shape)
        self.count, self.batch = shape[:2]
        self._counts = [0] * self.count
        self._inputs = _mapped(serve.inputs, kind, shape)
        self._outputs = _mapped(serve.outputs, np.float32, (*shape[:2], serve.classes))

    def put(self, slot: int, items: "list[NDArray[Any]]") -> Json:
        for place, item in enumerate(items):
            self._inputs[slot, place] = item
        self._counts[slot] = len(items)
        return {"slot": slot, "count": len(items)}

    def take(self, slot: int) -> "Iterator[NDArray[Any]]":
        yield from self._outputs[slot, : self._counts[slot]].copy()


class PictureSlots:
    """One image of any size per slot; the output is an image of the same size."""

    batch = 1
    most_waiting: float = MOST_RESTYLED

    def __init__(self, serve: ServePart) -> None:
        shape = tuple(serve.shape)
        self.count = shape[0]
        self._shapes: list[tuple[int, ...]] = [()] * self.count
        self._inputs, self._outputs = (_mapped(path, np.uint8, shape) for path in (serve.inputs, serve.outputs))

    def put(self, slot: int, items: "list[NDArray[Any]]") -> Json:
        (pixels,) = items
        self._shapes[slot] = pixels.shape
        self._inputs[slot, : pixels.size] = pixels.ravel()
        return {"slot": slot, "rows": pixels.shape[0], "columns": pixels.shape[1]}

    def take(self, slot: int) -> "Iterator[NDArray[Any]]":
        shape = self._shapes[slot]
        yield self._outputs[slot, : shape[0] * shape[1] * 3].reshape(shape).copy()


def _mapped(path: str, kind: Any, shape: tuple[int, ...]) -> "NDArray[Any]":
    Path(path).touch(mode=0o600)
    return np.asarray(np.memmap(path, kind, "w+", shape=shape))  # slicing a plain array is faster

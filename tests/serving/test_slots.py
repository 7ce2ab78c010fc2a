"""zoo.serving.slots: items and outputs in files that host and worker share."""

from pathlib import Path
from typing import Any

import numpy as np

from zoo.protocol.request import ServePart
from zoo.serving.slots import PictureSlots, RowSlots


def serve(folder: Path, shape: list[int], classes: int = 0) -> ServePart:
    names = {"inputs": str(folder / "in"), "outputs": str(folder / "out")}
    return ServePart(kind="x", shape=shape, classes=classes, precision="float32", **names)


def test_rows_are_put_and_taken_by_slot(tmp_path: Path) -> None:
    slots = RowSlots(serve(tmp_path, [2, 3, 4], 2), np.int32)
    assert (slots.count, slots.batch) == (2, 3)
    assert slots.put(1, [np.arange(4), np.arange(4) + 10]) == {"slot": 1, "count": 2}
    assert slots.put(0, [np.full(4, 7)]) == {"slot": 0, "count": 1}
    inputs = np.fromfile(tmp_path / "in", np.int32).reshape(2, 3, 4)
    assert inputs[1, :2].tolist() == [[0, 1, 2, 3], [10, 11, 12, 13]]
    assert inputs[0, 0].tolist() == [7] * 4
    outputs: Any = np.memmap(tmp_path / "out", np.float32, "r+", shape=(2, 3, 2))
    outputs[1] = [[0.25, 0.75], [0.5, 0.5], [9, 9]]
    rows = list(slots.take(1))
    outputs[1] = 0
    assert [row.tolist() for row in rows] == [[0.25, 0.75], [0.5, 0.5]]
    assert (tmp_path / "in").stat().st_mode & 0o777 == 0o600


def test_pictures_have_any_size(tmp_path: Path) -> None:
    slots = PictureSlots(serve(tmp_path, [2, 60]))
    assert (slots.count, slots.batch, slots.most_waiting) == (2, 1, 16)
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
    assert slots.put(1, [pixels]) == {"slot": 1, "rows": 4, "columns": 2}
    assert np.fromfile(tmp_path / "in", np.uint8).reshape(2, 60)[1, :24].tolist() == list(range(24))
    outputs: Any = np.memmap(tmp_path / "out", np.uint8, "r+", shape=(2, 60))
    outputs[1, :24] = np.arange(24)[::-1]
    (picture,) = slots.take(1)
    assert picture.shape == (4, 2, 3)
    assert picture.ravel().tolist() == list(range(24))[::-1]

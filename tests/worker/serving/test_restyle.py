"""zoo.worker.serving.restyle: images of any size are answered at their own size."""

import importlib
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import parts
from zoo.models.style_transfer.fast import GRAIN, LEAST_EDGE
from zoo.protocol.request import ModelPart, ServePart


@pytest.mark.parametrize("size", [(640, 3), (1, 32), (33, 50), (64, 48)])
def test_the_network_gets_sizes_that_it_accepts(
    size: tuple[int, int], keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    restyle: Any = importlib.import_module("zoo.worker.serving.restyle")
    asked: list[tuple[int, ...]] = []

    def outputs(_model: object, pixels: np.ndarray) -> list[np.ndarray]:
        asked.append(pixels.shape)
        return [pixels]

    monkeypatch.setattr(restyle.compat, "outputs", outputs)
    for module, name in ((restyle.network, "build"), (restyle.weights, "load"), (restyle.predictors, "prepare")):
        monkeypatch.setattr(module, name, lambda *_, **__: None)
    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
    slots = [np.memmap(tmp_path / name, np.uint8, "w+", shape=(1, 3 * 640 * 64)) for name in ("inputs", "outputs")]
    slots[0][0, : pixels.size] = pixels.ravel()
    paths = {"inputs": str(tmp_path / "inputs"), "outputs": str(tmp_path / "outputs")}
    settings = ServePart(kind="restyle", shape=list(slots[0].shape), classes=0, precision="float32", **paths)
    model = ModelPart(name="style_transfer/fast", args={})
    restyle.answerer(parts.request(serve=settings, model=model))({"slot": 0, "rows": size[0], "columns": size[1]})
    np.testing.assert_array_equal(slots[1][0, : pixels.size].reshape(pixels.shape), pixels)
    ((_, rows, columns, _),) = asked
    assert min(rows, columns) >= LEAST_EDGE
    assert rows % GRAIN == columns % GRAIN == 0

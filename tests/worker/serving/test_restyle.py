"""zoo.worker.serving.restyle: images of any size are answered at their own size."""

import importlib
import types
from typing import Any

import numpy as np
import pytest

from zoo.models.style_transfer.fast import GRAIN, LEAST_EDGE


@pytest.mark.parametrize("size", [(640, 3), (1, 32), (33, 50), (64, 48)])
def test_the_network_gets_sizes_that_it_accepts(
    size: tuple[int, int], keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    restyle: Any = importlib.import_module("zoo.worker.serving.restyle")
    asked: list[tuple[int, ...]] = []

    def outputs(_model: object, pixels: np.ndarray) -> list[np.ndarray]:
        asked.append(pixels.shape)
        return [pixels]

    monkeypatch.setattr(restyle.compat, "outputs", outputs)
    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
    np.testing.assert_array_equal(restyle._restyled(None, pixels), pixels)
    ((_, rows, columns, _),) = asked
    assert min(rows, columns) >= LEAST_EDGE
    assert rows % GRAIN == columns % GRAIN == 0

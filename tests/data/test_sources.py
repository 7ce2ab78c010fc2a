"""zoo.data.sources: where the arrays of data sets and the bundled photos come from."""

import importlib.util
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.data import sources
from zoo.data.datasets import load_row


def test_the_bundled_photos_come_in_a_fixed_order() -> None:
    assert [path.name for path in sources.bundled_photos()] == ["china.jpg", "flower.jpg"]


def test_without_scikit_learn_there_are_no_photos(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ZooError, match="not installed"):
        sources.bundled_photos()


def test_the_digits_are_the_same_every_time() -> None:
    first, again = (sources.source_of(load_row("digits")) for _ in range(2))
    assert first.sha256 == again.sha256
    assert first.published
    arrays = first.read()
    assert {name: array.shape[0] for name, array in arrays.items()} == {
        "x_train": 1438, "y_train": 1438, "x_test": 359, "y_test": 359,
    }  # fmt: skip

"""The file that features are written to, part by part."""

import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def features(keras: types.ModuleType) -> Any:
    from zoo.worker.inference import features

    return features


def test_the_file_is_whole_after_each_part(features: Any, tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(120, 3, 4)).astype(np.float32)
    out = features.FeatureFile(str(tmp_path / "f.npy"), (3, 4))
    assert np.load(tmp_path / "f.npy").shape == (0, 3, 4)
    for begin in range(0, 120, 7):
        out.add(rows[begin : begin + 7])
        assert np.array_equal(np.load(tmp_path / "f.npy"), rows[: begin + 7])
    mapped = np.load(tmp_path / "f.npy", mmap_mode="r")
    assert np.array_equal(mapped, rows)
    assert (tmp_path / "f.npy").stat().st_size == 256 + rows.nbytes


@pytest.mark.parametrize(
    ("shape", "kept"), [((1, 1, 9), (9,)), ((9,), (9,)), ((1,), (1,)), ((2, 1, 3), (2, 1, 3)), ((1, 1, 1), (1,))]
)
def test_axes_of_length_one_are_left_out_where_one_is_longer(
    features: Any, tmp_path: Path, shape: tuple[int, ...], kept: tuple[int, ...]
) -> None:
    out = features.FeatureFile(str(tmp_path / "f.npy"), shape)
    out.add(np.ones((5, *shape), np.float32))
    assert np.load(tmp_path / "f.npy").shape == (5, *kept)


def test_numbers_that_are_not_finite_are_refused(features: Any, tmp_path: Path) -> None:
    out = features.FeatureFile(str(tmp_path / "f.npy"), (2,))
    out.add(np.ones((3, 2), np.float32))
    with pytest.raises(Exception, match="not finite"):
        out.add(np.full((1, 2), np.nan, np.float32))
    assert np.load(tmp_path / "f.npy").shape == (3, 2)

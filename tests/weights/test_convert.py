"""zoo.weights.convert: every format becomes every other, and nothing is made up."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.support.weight_samples import KINDS, assert_same, drawn
from zoo.core.errors import ZooError
from zoo.weights import convert
from zoo.weights import io as weights_io


def test_every_kind_becomes_every_other_without_loss(tmp_path: Path) -> None:
    # A walk through all pairs: each kind is converted to each other kind once.
    walk = [KINDS[index] for index in (0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3, 0)]
    weights_io.write(tmp_path / f"0.{walk[0]}", drawn())
    for step, (before, after) in enumerate(itertools.pairwise(walk)):
        lines = convert.convert(tmp_path / f"{step}.{before}", tmp_path / f"{step + 1}.{after}")
        assert "9 weights, 314 parameters" in lines[0]
    assert_same(weights_io.read(tmp_path / f"12.{walk[-1]}"), drawn())
    assert not list(tmp_path.glob("*.part"))


def test_order_that_was_sorted_away_is_not_made_up(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", **dict(sorted(drawn().arrays.items())))
    for target in ("x.h5", "x.weights.h5"):
        with pytest.raises(ZooError, match="order of the"):
            convert.convert(tmp_path / "w.npz", tmp_path / target)
    convert.convert(tmp_path / "w.npz", tmp_path / "x.safetensors")
    convert.convert(tmp_path / "x.safetensors", tmp_path / "y.npz")
    with pytest.raises(ZooError, match="order of the layers"):
        convert.convert(tmp_path / "x.safetensors", tmp_path / "x.h5")


@pytest.mark.parametrize(
    ("target", "words"), [("w.pt", "'w.pt'"), ("w.keras", "the model itself"), ("no/such/w.npz", "No such file")]
)
def test_a_target_that_cannot_be_written_is_told(tmp_path: Path, target: str, words: str) -> None:
    weights_io.write(tmp_path / "source.npz", drawn())
    with pytest.raises(ZooError, match=words):
        convert.convert(tmp_path / "source.npz", tmp_path / target)


def test_a_layer_of_unknown_class_is_not_guessed(tmp_path: Path) -> None:
    weights_io.write(tmp_path / "w.npz", drawn({"odd/kernel": (2, 2), "odd/bias": (2,), "odd/more": (2,)}))
    with pytest.raises(ZooError, match="'odd'"):
        convert.convert(tmp_path / "w.npz", tmp_path / "w.weights.h5")
    convert.convert(tmp_path / "w.npz", tmp_path / "w.h5")


def test_a_file_is_not_written_over_itself(tmp_path: Path) -> None:
    weights_io.write(tmp_path / "w.npz", drawn())
    with pytest.raises(ZooError, match="itself"):
        convert.convert(tmp_path / "w.npz", tmp_path / "w.npz")


def test_show_lists_names_and_shapes(tmp_path: Path) -> None:
    weights_io.write(tmp_path / "w.npz", drawn())
    lines = convert.show(tmp_path / "w.npz")
    assert lines[0].endswith("numpy archive, 9 weights, 314 parameters")
    assert "dw/depthwise_kernel      (3, 3, 4, 1)" in lines

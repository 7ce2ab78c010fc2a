"""zoo.weights.convert: every format becomes every other, and nothing is made up."""

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.weight_samples import KINDS, assert_same, drawn, mobilenet
from zoo.cli.main import main
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
    ("target", "words"),
    [("w.pt", "w.pt'"), ("w.keras", "also contains the model"), ("no/such/w.npz", "No such file")],
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


def test_a_file_that_is_there_is_replaced_only_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = str(tmp_path / "w.npz"), tmp_path / "w.h5"
    weights_io.write(Path(source), drawn())
    target.write_text("precious")
    assert main(["weights", "convert", source, str(target)]) == 1
    assert "already exists" in capsys.readouterr().err
    assert target.read_text() == "precious"
    assert main(["weights", "convert", source, str(target), "overwrite=yes"]) == 1
    assert "overwrite=yes has no use here" in capsys.readouterr().err
    assert main(["weights", "convert", source, str(target), "overwrite=true"]) == 0
    assert_same(weights_io.read(target), drawn())


def test_a_place_that_cannot_be_written_and_a_dangling_link_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights_io.write(tmp_path / "w.npz", drawn())
    (tmp_path / "link.h5").symlink_to("gone.h5")
    assert main(["weights", "convert", str(tmp_path / "w.npz"), "/proc/w.npz"]) == 1
    assert "Cannot write /proc/w.npz" in capsys.readouterr().err
    assert main(["weights", "show", str(tmp_path / "link.h5")]) == 1
    assert "it is a link to gone.h5, which does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".h5", ".weights.h5"])
def test_a_network_inside_another_becomes_a_file_that_keras_reads(tmp_path: Path, suffix: str) -> None:
    plain = mobilenet(0.25, 3)
    inner = {("base/" * (not name.startswith("conv_preds")) + name): array for name, array in plain.arrays.items()}
    weights_io.write(tmp_path / "nested.safetensors", replace(plain, arrays=inner, order_problems=("unknown",)))
    lines = convert.convert(tmp_path / "nested.safetensors", tmp_path / f"flat{suffix}")
    assert "Written as mobilenet (alpha=0.25) with 3 classes" in lines[1]
    assert list(weights_io.read(tmp_path / f"flat{suffix}").arrays) == list(plain.arrays)
    assert "It contains mobilenet (alpha=0.25) with 3 classes" in convert.show(tmp_path / f"flat{suffix}")


def test_the_scaling_that_a_file_of_weights_cannot_hold_is_told(tmp_path: Path) -> None:
    plain = mobilenet(0.25, 3)
    seen = np.float32(0.44) * plain.arrays["conv1/kernel"].sum((0, 1, 2))
    weights_io.write(tmp_path / "w.npz", replace(plain, arrays=plain.arrays | {"conv1_bn/moving_mean": seen}))
    assert "it takes (pixel - 0) / 255" in convert.show(tmp_path / "w.npz")


def test_names_that_a_network_does_not_have_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights_io.write(tmp_path / "w.npz", drawn())
    words = ["weights", "convert", "--names", "torch", str(tmp_path / "w.npz"), str(tmp_path / "x.npz")]
    assert main(words) == 1
    assert f"{tmp_path / 'w.npz'} has no encoder" in capsys.readouterr().err
    assert not (tmp_path / "x.npz").exists()

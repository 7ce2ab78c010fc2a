"""Fine-tuning from a file by somebody else: what the file tells becomes the settings of the run."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support.weight_samples import mobilenet
from zoo.cli.main import main
from zoo.weights import io

WORDS = ["train", "model=mobilenet", "weights=w.npz", "data=folder", "data.root=in", "backend=cpu", "output.name=run"]


@pytest.fixture
def folder(pretending: Path) -> Path:
    """Pictures of two classes, and weights of half the width, trained on pixels from 0 to 1."""
    for number in range(12):
        path = pretending / "in" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 40), (number, 0, 0)).save(path)
    plain = mobilenet(0.5, 7)
    seen = np.float32(0.44) * plain.arrays["conv1/kernel"].sum((0, 1, 2))
    io.write(pretending / "w.npz", replace(plain, arrays=plain.arrays | {"conv1_bn/moving_mean": seen}))
    return pretending


def arguments_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "runs" / "run" / "request.json").read_text())["model"]["args"]
    return content


def test_width_and_scaling_come_from_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "model.input_size=64"]) == 0
    arguments = arguments_of(folder)
    assert (arguments["alpha"], arguments["classes"], arguments["input_shape"]) == (0.5, 2, [64, 64, 3])
    assert arguments["normalise"] == [[0.0] * 3, [255.0] * 3]
    record = json.loads((folder / "runs" / "run" / "run.json").read_text())
    assert record["config"]["model"]["alpha"] == 0.5
    assert "model.alpha=0.5" in record["command"]
    assert (
        "w.npz contains mobilenet (alpha=0.5) with 7 classes; taken from it: model.alpha=0.5" in capsys.readouterr().err
    )


def test_the_scaling_of_the_data_outranks_that_of_the_file(folder: Path) -> None:
    assert main([*WORDS, "model.input_size=64", "data.normalize=symmetric"]) == 0
    assert arguments_of(folder)["normalise"] == [[127.5] * 3, [127.5] * 3]


def test_another_width_is_refused_before_anything_is_built(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "model.alpha=0.25"]) == 1
    shown = capsys.readouterr().err
    assert "not model.alpha=0.25" in shown
    assert "Remove model.alpha" in shown
    assert not (folder / "runs").exists()


def test_images_below_the_smallest_input_are_refused_before_anything_runs(
    pretending: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "model=mobilenet", "data=digits", "backend=cpu"]) == 1
    shown = capsys.readouterr().err
    assert "digits has images of 28 pixels: model.input_size must be from 32 to 1,024, got 28" in shown
    assert "Train model=mnist with them" in shown
    assert not (pretending / "runs").exists()


def test_a_test_share_without_effect_and_classes_without_test_images_are_said(
    pretending: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(24):
        for name in (
            "whole/cat",
            "whole/dog",
            "parts/train/cat",
            "parts/train/dog",
            "parts/val/cat",
            "parts/val/dog",
        ):
            (pretending / name).mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (40, 40), (number, len(name), 0)).save(pretending / name / f"{number}.png")
    (pretending / "whole/owl").mkdir()
    Image.new("RGB", (40, 40), "red").save(pretending / "whole/owl/1.png")
    words = ["train", "model=mobilenet", "model.input_size=32", "backend=cpu", "data=folder"]
    assert main([*words, "data.root=parts", "data.test=0.2"]) == 1
    assert "data.test has no effect with parts, which has parts, but no test part" in capsys.readouterr().err
    assert main([*words, "data.root=whole"]) == 0
    assert "No test image of 1 class with few images: 'owl'" in capsys.readouterr().err

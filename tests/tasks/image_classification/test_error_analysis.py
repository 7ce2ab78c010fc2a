"""Confusion matrices and sheets of mistakes, from what a worker would leave."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from zoo.data.training_set import TrainingSet
from zoo.runs import plots
from zoo.tasks.image_classification import error_analysis

NAMES = ["cat", "$dog$", "a very long name of a class that nobody would read"]


def material(tmp_path: Path, count: int = 8) -> TrainingSet:
    pictures = np.zeros((count, 6, 6, 3), np.uint8)
    pictures[:, 0, 0, 0] = np.arange(count)
    np.save(tmp_path / "x.npy", pictures)
    rows = np.arange(count)[::-1]
    return TrainingSet(
        files={"x_train": tmp_path / "x.npy", "x_test": tmp_path / "x.npy"}, labels=np.zeros(count, np.int64),
        splits={"train": rows[:0], "validation": rows, "test": rows}, class_names=NAMES, input_shape=(6, 6, 3),
        normalization=None, names=[f"folder/{row}.png" for row in range(count)], skipped=[], record={},
    )  # fmt: skip


def judged(folder: Path, part: str = "test", **changes: Any) -> None:
    arrays = {
        "label": np.array([0, 0, 0, 1, 1, 2, 2, 2]),
        "best": np.array([[0], [0], [1], [1], [0], [2], [2], [1]]),
        "probability": np.array([[0.9], [0.8], [0.6], [0.9], [0.99], [0.9], [0.9], [0.7]], np.float32),
        "true": np.array([0.9, 0.8, 0.3, 0.9, 0.005, 0.9, 0.9, 0.1], np.float32),
    }
    np.savez(folder / f"judged_{part}.npz", **(arrays | changes))


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as source:
        return list(csv.reader(source))


def test_what_is_taken_for_what_is_counted(tmp_path: Path) -> None:
    judged(tmp_path)
    analysis = error_analysis.keep(tmp_path, material(tmp_path), "a title")
    assert analysis is not None
    assert (analysis["part"], analysis["items"], analysis["mistakes"]) == ("test", 8, 3)
    assert analysis["accuracy_by_class"] == pytest.approx({"cat": 2 / 3, "$dog$": 0.5, NAMES[2]: 2 / 3})
    assert rows(tmp_path / "confusion.csv")[1:] == [
        ["cat", "2", "1", "0"],
        ["$dog$", "1", "1", "0"],
        [NAMES[2], "0", "1", "2"],
    ]


def test_the_surest_mistakes_come_first_with_the_names_of_their_files(tmp_path: Path) -> None:
    judged(tmp_path)
    error_analysis.keep(tmp_path, material(tmp_path), "a title")
    listed = rows(tmp_path / "mistakes.csv")[1:]
    # Item 4 of the part is row 3 of the array.
    assert [row[0] for row in listed] == ["folder/3.png", "folder/0.png", "folder/5.png"]
    assert listed[0][1:] == ["$dog$", "cat", "0.9900", "0.0050"]
    for name in ("confusion.png", "mistakes.png"):
        with Image.open(tmp_path / name) as picture:
            assert min(picture.size) > 200


def test_the_validation_part_serves_where_there_is_no_test_part(tmp_path: Path) -> None:
    judged(tmp_path, "validation")
    analysis = error_analysis.keep(tmp_path, material(tmp_path), "a title")
    assert analysis is not None
    assert analysis["part"] == "validation"


def test_without_mistakes_there_is_no_sheet(tmp_path: Path) -> None:
    judged(tmp_path, best=np.array([[0], [0], [0], [1], [1], [2], [2], [2]]))
    analysis = error_analysis.keep(tmp_path, material(tmp_path), "a title")
    assert analysis is not None
    assert analysis["mistakes"] == 0
    assert not (tmp_path / "mistakes.png").exists()


def test_nothing_judged_is_nothing_to_keep(tmp_path: Path) -> None:
    assert error_analysis.keep(tmp_path, material(tmp_path), "a title") is None


def test_names_that_the_font_lacks_are_drawn_without_a_word(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    plots.confusion(np.eye(2, dtype=np.int64), ["\U0001f44d", "\x1b[31mred"], "a title", tmp_path / "drawn.png")
    assert not recwarn.list


@pytest.mark.parametrize("count", [2, 30, 200])
def test_a_matrix_of_any_size_can_be_drawn(tmp_path: Path, count: int) -> None:
    matrix = np.eye(count, dtype=np.int64) * 3
    plots.confusion(matrix, [f"class {number}" for number in range(count)], "a title", tmp_path / "drawn.png")
    with Image.open(tmp_path / "drawn.png") as picture:
        assert max(picture.size) < 2500

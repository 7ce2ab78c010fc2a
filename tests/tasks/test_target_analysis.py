"""The errors of labels and numbers: tables, plots, and the fields of a run's record."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from zoo.tasks import target_analysis
from zoo.tasks.target_analysis import Judged


def names(part: str, items: Sequence[int]) -> list[str]:
    return [f"{part}[{item}]" for item in items]


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as source:
        return list(csv.reader(source))


def test_wrong_labels_are_listed_the_largest_error_first(tmp_path: Path) -> None:
    predicted = np.array([[0.9, 0.2], [0.4, 0.8], [0.7, 0.99]])
    judged = Judged("labels", ["cat", "dog"], predicted, np.array([[1, 0], [1, 1], [1, 0]]), [0.5, 0.5])
    analysis = target_analysis.keep(tmp_path, judged, "t", "test", names)
    assert rows_of(tmp_path / "mistakes.csv")[1:] == [
        ["test[2]", "cat", "cat|dog", "0.99"], ["test[1]", "cat|dog", "dog", "0.6"],
    ]  # fmt: skip
    assert (analysis["mistakes"], analysis["items"], analysis["target"]) == (2, 3, "labels")
    cat, dog = analysis["labels"]
    assert (cat["items"], cat["precision"], cat["recall"]) == (3, 1.0, pytest.approx(2 / 3))
    assert (dog["items"], dog["precision"], dog["recall"], dog["average precision"]) == (1, 0.5, 1.0, 0.5)
    assert [row[0] for row in rows_of(tmp_path / "labels.csv")] == ["label", "cat", "dog"]


def test_numbers_are_compared_with_the_training_mean(tmp_path: Path) -> None:
    truth = np.array([[1.0], [2.0], [6.0]])
    judged = Judged("number", ["age"], truth + np.array([[0.5], [0.0], [-2.0]]), truth, [0.5], mean=2.0)
    analysis = target_analysis.keep(tmp_path, judged, "t", "test", names)
    assert (analysis["largest_error"], analysis["mae_of_mean"]) == (2.0, pytest.approx(5 / 3))
    assert [row[0] for row in rows_of(tmp_path / "mistakes.csv")[1:]] == ["test[2]", "test[0]", "test[1]"]
    assert (tmp_path / "scatter.png").stat().st_size > 1000
    assert set(judged.metrics("test_")) == {"test_r2", "test_mae"}

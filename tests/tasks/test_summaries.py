"""What a training says of its result."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.tasks import summaries


@pytest.mark.parametrize(
    ("counts", "mistakes", "balance", "line"),
    [
        ({"cat": 95, "dog": 5}, 5, False, "0.9500 of the images; data.balance=true"),
        ({"cat": 95, "dog": 5}, 5, True, "0.9500 of the images"),
        ({"cat": 50, "dog": 50}, 50, False, "0.5000 of the images"),
        ({"cat": 95, "dog": 5}, 4, False, ""),  # better
        ({"cat": 9, "dog": 1}, 1, False, ""),  # too few to judge
        ({"cat": 99}, 2, False, ""),
    ],
)
def test_a_network_no_better_than_its_largest_class_is_named(
    tmp_path: Path, counts: dict[str, int], mistakes: int, balance: bool, line: str
) -> None:
    judgement = {
        "items": sum(counts.values()),
        "mistakes": mistakes,
        "largest_class": {"name": "cat", "items": counts["cat"]},
        "accuracy_by_class": dict.fromkeys(counts, 0.5),
        "macro_f1": 0.5,
    }
    record = {"model": "mnist", "backend": "cpu", "stack": {"name": "torch"}, "phases": {}, "judgement": judgement}
    data = {"name": "folder", "what": "images", "reason": ""}
    run: Any = SimpleNamespace(
        record=record | {"data": data, "config": {"data": {"balance": balance}}},
        metrics={"loss": 1.0},
        exit="completed",
        folder=tmp_path,
    )
    opening = "Always predicting 'cat' would be right at least as often: "
    said = [text for text in summaries.training(run) if "Always predicting" in text]
    assert [text.removeprefix(opening).partition(" makes")[0] for text in said] == [line] * bool(line)


def test_a_loss_of_zero_has_no_sign(tmp_path: Path) -> None:
    record = {"model": "mnist", "backend": "cpu", "stack": {"name": "torch"}, "phases": {}, "config": {"data": {}}}
    data = {"name": "folder", "what": "images", "reason": ""}
    metrics = {"test_accuracy": 1.0, "test_loss": -3e-6}
    run: Any = SimpleNamespace(record=record | {"data": data}, metrics=metrics, exit="completed", folder=tmp_path)
    assert "accuracy 1.0000, loss 0.0000" in summaries.training(run)[0]

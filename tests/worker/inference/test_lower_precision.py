"""What precision=auto decides, from answers that are known."""

from collections.abc import Callable

import numpy as np
import pytest

from zoo.worker import phases
from zoo.worker.inference import lower_precision

CLASSES, BATCH = 10, 50
Predict = Callable[[np.ndarray], np.ndarray]


class Clock:
    """Stands in for the clock: predicting in float32 takes 10 s, in the lower precision as told."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def network(self, seconds: float, wrong: frozenset[int] = frozenset()) -> Predict:
        """Answer every picture with the class that its number ends in, or the next one for those that are wrong."""

        def predict(pixels: np.ndarray) -> np.ndarray:
            self.now += seconds
            numbers = pixels[:, 0].astype(int) * 256 + pixels[:, 1]
            classes = [(each + (each in wrong)) % CLASSES for each in numbers]
            return np.eye(CLASSES, dtype=np.float32)[classes]

        return predict


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(phases, "time", clock)
    return clock


def answered(comparison: lower_precision.Comparison, count: int) -> list[int]:
    """Answer so many pictures in batches, the last one filled up, and return their classes."""
    comparison.warm_up(np.zeros((BATCH, 2), np.uint8))
    classes: list[int] = []
    for first in range(0, count, BATCH):
        numbers = np.arange(first, first + BATCH)
        pixels = np.stack([numbers // 256, numbers % 256], axis=1).astype(np.uint8)
        rows = comparison(pixels, min(BATCH, count - first))
        classes += [int(each) for each in rows.argmax(axis=1)]
    return classes


@pytest.mark.parametrize(("wrong", "seconds", "chosen"), [
    (frozenset[int](), 5.0, "bfloat16"),
    (frozenset({7, 300}), 5.0, "bfloat16"),
    (frozenset({7, 300, 599}), 5.0, "float32"),
    (frozenset[int](), 11.0, "float32"),
])  # fmt: skip
def test_the_lower_precision_is_taken_where_it_changes_next_to_nothing_and_gains(
    clock: Clock, wrong: frozenset[int], seconds: float, chosen: str
) -> None:
    comparison = lower_precision.Comparison(clock.network(10.0), lambda: clock.network(seconds, wrong), "bfloat16")
    assert answered(comparison, 600) == [number % CLASSES for number in range(600)]  # those of float32, in any case
    described = comparison.described()
    assert described["precision"] == chosen
    assert (described["precision_compared"], described["precision_changed"]) == (600, len(wrong))
    assert described["precision_time"] == pytest.approx(seconds / 10)
    assert described["precision_decided"]


def test_after_the_decision_one_network_answers(clock: Clock) -> None:
    lower = clock.network(5.0, frozenset({700}))
    comparison = lower_precision.Comparison(clock.network(10.0), lambda: lower, "bfloat16")
    assert answered(comparison, 730)[700] == 1
    assert comparison.described()["precision_compared"] == 600


def test_the_comparison_ends_as_soon_as_too_many_have_another_class(clock: Clock) -> None:
    lower = clock.network(5.0, frozenset({1, 60, 61}))
    comparison = lower_precision.Comparison(clock.network(10.0), lambda: lower, "bfloat16")
    assert answered(comparison, 600) == [number % CLASSES for number in range(600)]
    described = comparison.described()
    assert (described["precision"], described["precision_compared"]) == ("float32", 2 * BATCH)


def test_few_pictures_are_answered_in_float32(clock: Clock) -> None:
    comparison = lower_precision.Comparison(clock.network(10.0), lambda: clock.network(5.0), "bfloat16")
    assert len(answered(comparison, 130)) == 130
    described = comparison.described()
    assert (described["precision"], described["precision_compared"]) == ("float32", 130)
    assert not described["precision_decided"]


def test_without_a_lower_precision_nothing_is_compared(clock: Clock) -> None:
    comparison = lower_precision.Comparison(clock.network(10.0), lambda: pytest.fail("there is none"), None)
    assert len(answered(comparison, 70)) == 70
    assert comparison.described()["precision"] == "float32"
    assert comparison.described()["precision_compared"] == 0

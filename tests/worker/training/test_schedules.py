"""Learning rates by step, smoothed labels, weights of classes: what training computes without a framework."""

import types
from typing import Any

import numpy as np
import pytest

from tests.support import parts


@pytest.fixture
def worker(keras: types.ModuleType) -> Any:
    """The schedules and the batches of pictures."""
    from zoo.worker.training import image_batches, schedules

    return types.SimpleNamespace(schedules=schedules, pictures=image_batches)


def rates(worker: Any, schedule: str, warmup: float, steps: int = 100) -> list[float]:
    settings = parts.training(learning_rate=0.1, schedule=schedule, warmup=warmup)
    return [worker.schedules.learning_rate(settings, step, steps) for step in range(steps)]


def test_a_constant_rate_climbs_first_and_stays(worker: Any) -> None:
    values = rates(worker, "constant", 0.1)
    assert values[:10] == pytest.approx([0.01 * step for step in range(1, 11)])
    assert set(values[10:]) == {0.1}


def test_cosine_falls_to_a_hundredth(worker: Any) -> None:
    values = rates(worker, "cosine", 0.0)
    assert values[0] == pytest.approx(0.1)
    assert values[50] == pytest.approx(0.0505)
    assert 0.001 <= values[-1] < 0.0012
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(("warmup", "top"), [(0.0, 30), (0.5, 50)])
def test_one_cycle_climbs_from_a_25th_and_ends_at_a_10000th(worker: Any, warmup: float, top: int) -> None:
    values = rates(worker, "one_cycle", warmup)
    assert values[0] == pytest.approx(0.1 / 25)
    assert values[top] == pytest.approx(0.1)
    assert values[: top + 1] == sorted(values[: top + 1])
    assert values[top:] == sorted(values[top:], reverse=True)
    assert values[-1] < 0.1 / 500


def test_smoothed_labels_sum_to_one(worker: Any) -> None:
    labels = np.eye(4, dtype=np.float32)
    assert worker.schedules.smooth_labels(labels, 0.0) is labels
    values = worker.schedules.smooth_labels(labels, 0.2)
    np.testing.assert_allclose(values.sum(1), 1)
    np.testing.assert_allclose(np.diag(values), 0.85)


def test_every_class_counts_the_same(worker: Any) -> None:
    labels = np.array([0] * 6 + [1] * 3 + [3])
    weights = worker.pictures.class_weights(labels, 4)
    sums = np.bincount(labels, weights[labels], minlength=4)
    np.testing.assert_allclose(sums[[0, 1, 3]], 10 / 3)
    assert weights[labels].mean() == pytest.approx(1)


def test_a_rate_climbs_linearly_before_it_falls_to_a_share(worker: Any) -> None:
    settings = parts.text_training(learning_rate=0.1, schedule="cosine", warmup=0.5, final_lr_ratio=0.5)
    values = [worker.schedules.learning_rate(settings, step, 8) for step in range(9)]
    assert values[:4] == pytest.approx([0.025, 0.05, 0.075, 0.1])
    assert values[4:] == pytest.approx(
        [0.1, 0.1 - 0.05 * (2 - 2**0.5) / 4, 0.075, 0.05 + 0.05 * (2 - 2**0.5) / 4, 0.05]
    )


def test_a_training_of_one_step_has_a_rate(worker: Any) -> None:
    for schedule in ("constant", "cosine", "one_cycle"):
        assert rates(worker, schedule, 0.0, 1) == [pytest.approx(0.1)]

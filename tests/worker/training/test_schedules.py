"""Learning rates by step, smoothed labels, weights of classes: what training computes without a framework."""

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def worker() -> Iterator[Any]:
    """The schedules and the batches of pictures; a stub stands in for Keras, which the host does not have."""
    keras = types.ModuleType("keras")
    keras.__dict__.update(__version__="3.15.1", ops=np, layers=types.SimpleNamespace(Layer=object))
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "keras", keras)
        patch.delenv("ZOO_KERAS", raising=False)
        from zoo.worker.training import image_batches, schedules

        yield types.SimpleNamespace(schedules=schedules, pictures=image_batches)
    for name in set(sys.modules) - known:
        if name.startswith(("zoo.models", "zoo.worker")):
            del sys.modules[name]


def rates(worker: Any, schedule: str, warmup: float, steps: int = 100) -> list[float]:
    settings = {"learning_rate": 0.1, "schedule": schedule, "warmup": warmup}
    return [worker.schedules.learning_rate(settings, step, steps) for step in range(steps)]


def test_a_constant_rate_climbs_first_and_stays(worker: Any) -> None:
    found = rates(worker, "constant", 0.1)
    assert found[:10] == pytest.approx([0.01 * step for step in range(1, 11)])
    assert set(found[10:]) == {0.1}


def test_cosine_falls_to_a_hundredth(worker: Any) -> None:
    found = rates(worker, "cosine", 0.0)
    assert found[0] == pytest.approx(0.1)
    assert found[50] == pytest.approx(0.0505)
    assert 0.001 <= found[-1] < 0.0012
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(("warmup", "top"), [(0.0, 30), (0.5, 50)])
def test_one_cycle_climbs_from_a_25th_and_ends_at_a_10000th(worker: Any, warmup: float, top: int) -> None:
    found = rates(worker, "one_cycle", warmup)
    assert found[0] == pytest.approx(0.1 / 25)
    assert found[top] == pytest.approx(0.1)
    assert found[: top + 1] == sorted(found[: top + 1])
    assert found[top:] == sorted(found[top:], reverse=True)
    assert found[-1] < 0.1 / 500


def test_smoothed_labels_sum_to_one(worker: Any) -> None:
    labels = np.eye(4, dtype=np.float32)
    assert worker.schedules.smooth_labels(labels, 0.0) is labels
    found = worker.schedules.smooth_labels(labels, 0.2)
    np.testing.assert_allclose(found.sum(1), 1)
    np.testing.assert_allclose(np.diag(found), 0.85)


def test_every_class_counts_the_same(worker: Any) -> None:
    labels = np.array([0] * 6 + [1] * 3 + [3])
    weights = worker.pictures.class_weights(labels, 4)
    sums = np.bincount(labels, weights[labels], minlength=4)
    np.testing.assert_allclose(sums[[0, 1, 3]], 10 / 3)
    assert weights[labels].mean() == pytest.approx(1)

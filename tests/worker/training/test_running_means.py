"""zoo.worker.training.running_means: batches count by their items."""

import math

import pytest

from zoo.worker.training.running_means import RunningMeans


def test_means_are_over_items_and_continue_in_another_process() -> None:
    means = RunningMeans()
    assert math.isnan(means.loss)
    assert math.isnan(means.accuracy)
    means.add(2.0, 0.5, 4)
    assert (means.loss, means.accuracy) == (2.0, 0.5)
    resumed = RunningMeans(means.state())
    assert (resumed.loss, resumed.accuracy) == (2.0, 0.5)
    for each in (means, resumed):
        each.add(1.0, 1.0, 1)
        assert (each.loss, each.accuracy) == (pytest.approx(1.8), pytest.approx(0.6))
    assert resumed.state() == {"sums": [pytest.approx(9.0), pytest.approx(3.0)], "count": 5}
    assert RunningMeans(RunningMeans().state()).state() == {"sums": [0.0, 0.0], "count": 0}

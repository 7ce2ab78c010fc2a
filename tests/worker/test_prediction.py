"""Batches of one size, whatever is asked for."""

import types
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def prediction(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    from zoo.worker import prediction

    def predict(model: list[int], batch: np.ndarray) -> np.ndarray:
        model.append(len(batch))
        return batch * 2

    monkeypatch.setattr(prediction.compat, "predict", predict)
    return prediction


def test_the_last_batch_is_padded_and_cut(prediction: Any) -> None:
    sizes: list[int] = []
    rows = np.arange(7.0).reshape(7, 1)
    predicted = prediction.probabilities(sizes, lambda x: x + 1, rows, 3)
    np.testing.assert_array_equal(predicted, (rows + 1) * 2)
    assert sizes == [3, 3, 3]


def test_fewer_items_than_a_batch_are_predicted_at_once(prediction: Any) -> None:
    sizes: list[int] = []
    assert len(prediction.probabilities(sizes, lambda x: x, np.zeros((2, 1)), 5)) == 2
    assert sizes == [2]


def test_a_stop_ends_it_after_the_batch_in_hand(prediction: Any) -> None:
    stop = types.SimpleNamespace(asked=False)
    sizes = []
    for predicted in prediction.predict_batches([], [np.ones((3, 1))] * 3, 3, stop):
        sizes.append(len(predicted))
        stop.asked = True
    assert sizes == [3]


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_outputs_that_are_no_finite_numbers_are_refused(prediction: Any, number: float) -> None:
    from zoo.worker.errors import UserError

    with pytest.raises(UserError, match="not finite numbers"):
        prediction.probabilities([], lambda x: x, np.array([[1.0], [number]]), 1)

"""zoo.worker.training.weight_average: the average of the weights, and that the model gets its own back."""

import types

import numpy as np
import pytest

from zoo.worker.training.weight_average import WeightAverage


class Model:
    def __init__(self) -> None:
        self.weights = [np.zeros(2, np.float32), np.array([0])]

    def get_weights(self) -> list[np.ndarray]:
        return self.weights

    def set_weights(self, arrays: list[np.ndarray]) -> None:
        self.weights = list(arrays)


def averaged(decay: float, values: list[float]) -> tuple[Model, WeightAverage]:
    model = Model()
    average = WeightAverage(model, decay)
    for step, value in enumerate(values, 1):
        model.weights = [np.full(2, value, np.float32), np.array([step])]
        average.update(step)
    return model, average


def test_the_share_that_stays_grows_to_the_decay() -> None:
    model, average = averaged(0.5, [1.0, 3.0, 5.0, 2.0, 8.0, 1.0, 4.0, 9.0, 3.0, 7.0, 2.0])
    wanted = 1.0
    for step, value in enumerate([3.0, 5.0, 2.0, 8.0, 1.0, 4.0, 9.0, 3.0, 7.0, 2.0], 2):
        share = min(0.5, (1 + step) / (10 + step))
        wanted = share * wanted + (1 - share) * value
    with average.in_place():
        np.testing.assert_allclose(model.weights[0], wanted, rtol=1e-6)
        assert model.weights[0].dtype == np.float32
        assert model.weights[1].tolist() == [11]  # a counter has no average
    assert model.weights[0].tolist() == [2.0, 2.0]


def test_the_model_gets_its_weights_back_after_an_error() -> None:
    model, average = averaged(0.9, [1.0, 3.0])
    with pytest.raises(KeyError), average.in_place():
        raise KeyError
    assert model.weights[0].tolist() == [3.0, 3.0]


def test_without_a_decay_nothing_is_kept() -> None:
    model, average = averaged(0.0, [1.0, 3.0])
    with average.in_place():
        assert model.weights[0].tolist() == [3.0, 3.0]
    assert average.capture() == {}


def test_a_checkpoint_holds_it() -> None:
    model, average = averaged(0.9, [1.0, 3.0])
    kept = average.capture()
    assert list(kept) == ["ema/00000", "ema/00001"]
    again = WeightAverage(model, 0.9)
    again.restore({"weights/00000": np.zeros(1), **dict(reversed(kept.items()))})
    for one in (average, again):
        one.update(3)
    for name, array in average.capture().items():
        np.testing.assert_array_equal(again.capture()[name], array)
    again.restore({})
    assert again.capture() == {}
    again.update(4)
    assert again.capture()["ema/00000"].tolist() == [3.0, 3.0]


def test_the_average_is_a_copy(keras: types.ModuleType) -> None:
    model, average = averaged(0.9, [1.0])
    model.weights[0] += 5
    assert average.capture()["ema/00000"].tolist() == [1.0, 1.0]

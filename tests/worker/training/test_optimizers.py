"""zoo.worker.training.optimizers: Adam and L-BFGS take the published path, the same on every stack."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from zoo.worker.training import optimizers

START = np.array([[-1.0, 1.5]], np.float32)
Path = list[tuple[int, list[float], float]]


def valley(x: np.ndarray) -> tuple[list[float], np.ndarray]:
    """Rosenbrock's function with 10 in the place of 100; the minimum is at (1, 1)."""
    a, b = (float(value) for value in x.reshape(-1))
    gradient = [-2 * (1 - a) - 40 * a * (b - a * a), 20 * (b - a * a)]
    return [(1 - a) ** 2, 10 * (b - a * a) ** 2], np.array(gradient, x.dtype).reshape(x.shape)


def path(method: Any, steps: int, function: Any = valley, rate: float = 0.25, last: int = 0) -> tuple[Path, np.ndarray]:
    seen: Path = []

    def after(step: int, x: np.ndarray, terms: list[float]) -> bool:
        seen.append((step, x.reshape(-1).tolist(), float(sum(terms))))
        return step == last

    return seen, method(function, START, steps, 0.25, after)


def test_adam_is_the_published_algorithm_with_a_gradient_of_unit_size_and_half_a_cosine() -> None:
    seen, end = path(optimizers.adam, 40)
    x, first, second = START.astype(float).reshape(-1), np.zeros(2), np.zeros(2)
    for step, there, loss in seen:
        terms, gradient = valley(x)
        assert loss == pytest.approx(sum(terms), rel=1e-3)
        unit = gradient / np.abs(gradient).mean()
        first, second = 0.9 * first + 0.1 * unit, 0.999 * second + 0.001 * unit**2
        rate = 0.25 * (0.55 + 0.45 * math.cos(math.pi * (step - 1) / 40))
        x = x - rate * (first / (1 - 0.9**step)) / np.sqrt(second / (1 - 0.999**step))
        assert there == pytest.approx(x, abs=1e-3)
    assert len(seen) == 40
    assert seen[-1][1] == end.reshape(-1).tolist()
    assert (START == [[-1.0, 1.5]]).all()


def test_lbfgs_takes_this_path() -> None:
    seen, end = path(optimizers.lbfgs, 30)
    assert [step for step, _, _ in seen][:19] == [1, 3, 4, 7, *range(9, 14), *range(15, 25)]
    assert [loss for _, _, loss in seen][:12] == pytest.approx(
        [
            6.5,
            4.691594,
            4.663039,
            2.650110,
            2.532338,
            2.310399,
            1.869902,
            1.343763,
            1.034819,
            0.711505,
            0.470193,
            0.252271,
        ],
        rel=1e-4,
    )
    assert seen[1][1] == pytest.approx([-1.1538461, 1.4038461])
    assert seen[3][1] == pytest.approx([-0.4531757, -0.0266643], rel=1e-4)
    assert end == pytest.approx(np.ones((1, 2)), abs=1e-5)


def test_lbfgs_ends_at_the_bottom_of_a_bowl_after_few_looks() -> None:
    def bowl(x: np.ndarray) -> tuple[list[float], np.ndarray]:
        return [float((x * x).sum())], 2 * x

    seen, end = path(optimizers.lbfgs, 50, bowl)
    assert np.abs(end).max() < 1e-6
    assert seen[2][2] < 1e-9
    flat = path(optimizers.lbfgs, 50, lambda x: ([1.0 + abs(float(x[0, 0]) + 1)], np.ones_like(x)))
    assert len(flat[0]) == 1, "no step helps"


@pytest.mark.parametrize("method", [optimizers.adam, optimizers.lbfgs])
def test_it_stops_when_it_is_told_to(method: Callable[..., Any]) -> None:
    seen, end = path(method, 40, last=4)
    assert seen[-1][0] == 4
    assert end.reshape(-1).tolist() == seen[-1][1]


@pytest.mark.parametrize("method", [optimizers.adam, optimizers.lbfgs])
def test_a_loss_that_is_no_number_is_an_error(method: Callable[..., Any]) -> None:
    with pytest.raises(FloatingPointError, match="the loss became nan at step"):
        path(method, 5, lambda x: ([math.nan], x))
    with pytest.raises(FloatingPointError, match="the loss became"):
        path(method, 5, lambda x: ([1.0], x * math.inf))


def test_lbfgs_steps_back_from_where_the_loss_is_no_number() -> None:
    def wall(x: np.ndarray) -> tuple[list[float], np.ndarray]:
        terms, gradient = valley(x)
        return ([math.inf], gradient) if x[0, 0] < -1.02 else (terms, gradient)

    seen, end = path(optimizers.lbfgs, 60, wall, last=4)
    assert [step for step, _, _ in seen] == [1, 4]
    assert end[0, 0] == pytest.approx(-1 - 0.3076923 / 64)  # twice an eighth of the first move


def test_lbfgs_moves_on_where_the_first_step_shows_no_curvature() -> None:
    """The slope is far below one, as for pixels, and grows along the first step."""

    def function(x: np.ndarray) -> tuple[list[float], np.ndarray]:
        return [float(-1e-6 * (x**2).sum())], (-2e-6 * x).astype(np.float32)

    lengths: list[float] = []
    optimizers.lbfgs(function, np.ones(9, np.float32), 4, 4.0, lambda _, x, __: lengths.append(float(np.abs(x).mean())))
    assert lengths == pytest.approx([1, 5, 6, 7])


def test_lbfgs_ends_where_no_step_helps() -> None:
    looks: list[float] = []

    def flat(x: np.ndarray) -> tuple[list[float], np.ndarray]:
        looks.append(float(x[0, 0]))
        return [1.0], np.ones_like(x)

    seen, end = path(optimizers.lbfgs, 50, flat)
    assert [step for step, _, _ in seen] == [1]
    assert (end == START).all()
    assert [-1 - x for x in looks] == [0.0, *(0.25 / 2**n for n in range(7))]  # half as far each time, to a 64th


def test_lbfgs_takes_the_steepest_way_once_what_it_remembers_does_not_help() -> None:
    looks: list[np.ndarray] = []

    def refusing(x: np.ndarray) -> tuple[list[float], np.ndarray]:
        looks.append(x.copy())
        return ([99.0], np.ones_like(x)) if 10 <= len(looks) <= 16 else valley(x)

    seen, end = path(optimizers.lbfgs, 60, refusing)
    assert [step for step, _, _ in seen if 8 < step < 17] == [9]
    (before,) = (np.array([x]) for step, x, _ in seen if step == 9)
    gradient = valley(before)[1]
    assert looks[16] == pytest.approx(before - 0.25 / 4 * gradient / np.abs(gradient).mean(), rel=1e-4)
    assert end == pytest.approx(np.ones((1, 2)), abs=1e-4)

"""Where two curves cross."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.tasks.benchmarks.crossover import crossover, scientific, words

SIZES = (1e2, 1e4, 1e6, 1e8)


def linear(fixed: float, each: float) -> dict[float, float]:
    return {size: fixed + each * size for size in SIZES}


def test_a_device_with_a_long_start_and_a_high_speed_wins_late() -> None:
    size = crossover(linear(0.0, 1e-6), linear(1.0, 1e-7))
    # The lines cross at 1.11e6; between two sizes both are taken for straight on logarithmic axes.
    assert size is not None
    assert 1e6 < size < 2e6


@pytest.mark.parametrize(
    ("challenger", "size"),
    [(linear(0.0, 1e-7), 0.0), (linear(1.0, 1e-5), None), ({}, None), ({5.0: 1.0}, None)],
)
def test_always_and_never(challenger: dict[float, float], size: float | None) -> None:
    assert crossover(linear(0.0, 1e-6), challenger) == size


def test_a_lead_that_is_lost_again_does_not_count() -> None:
    base = dict.fromkeys(SIZES, 1.0)
    size = crossover(base, {1e2: 0.5, 1e4: 2.0, 1e6: 0.5, 1e8: 0.25})
    assert size == pytest.approx(1e5)


@given(power=st.floats(2.1, 7.9), gain=st.floats(0.1, 3.0))
def test_straight_lines_cross_where_they_do(power: float, gain: float) -> None:
    at = 10**power
    base = {size: size**0.5 for size in SIZES}
    crossing = crossover(base, {size: size**0.5 * (at / size) ** gain for size in SIZES})
    assert crossing == pytest.approx(at, rel=1e-6)


def test_it_is_said_in_words() -> None:
    names = "the CPU", "the GPU"
    base = {1e2: 1.0, 1e4: 1.0, 1e6: 1.0}
    assert words(base, {1e2: 4.0, 1e4: 2.0, 1e6: 0.5}, names) == (
        "From n = 1e5 on the GPU is faster than the CPU: 2 times as fast at n = 1e6."
    )
    assert words(base, {1e2: 0.5, 1e4: 0.5, 1e6: 0.25}, names).startswith("At every size the GPU is faster than")
    assert "is not faster than" in words(base, {1e2: 0.5, 1e6: 4.0}, names)
    assert words(base, base, names).endswith("at n = 1e6 it takes as long.")
    assert "not timed at any common size" in words(base, {7.0: 1.0}, names)


@pytest.mark.parametrize(("value", "text"), [(3.04e6, "3e6"), (1.25e7, "1.2e7"), (640.0, "640"), (12.0, "12")])
def test_sizes_as_people_write_them(value: float, text: str) -> None:
    assert scientific(value) == text

"""zoo.config.bounds: a loss stays below its bound, an accuracy above."""

import pytest

from zoo.config import bounds


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("test_loss", "at_most"),
        ("test_perplexity", "at_most"),
        ("test_accuracy", "at_least"),
        ("loss_scale", "at_least"),
    ],
)
def test_the_direction_of_a_bound_follows_from_the_metric(name: str, direction: str) -> None:
    assert bounds.of(name, 0.5) == {direction: 0.5}


@pytest.mark.parametrize(
    ("row", "words", "met"),
    [
        ({"at_least": 0.5}, "at least 0.5", [False, True, True]),
        ({"at_most": 0.5}, "at most 0.5", [True, True, False]),
    ],
)
def test_a_bound_itself_is_met(row: dict[str, float], words: str, met: list[bool]) -> None:
    assert [bounds.is_met(row, value) for value in (0.25, 0.5, 0.75)] == met
    assert bounds.words(row) == words

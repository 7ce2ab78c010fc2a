"""What is drawn of a language model's logits, and how a memory that is full goes on."""

import numpy as np
import pytest

from zoo.worker.errors import UserError
from zoo.worker.inference import sampling

LOGITS = np.log(np.array([0.5, 0.3, 0.05, 0.1, 0.04, 0.01]))


class Memory:
    """Says which tokens it holds."""

    def __init__(self, length: int) -> None:
        self.length, self.tokens = length, list[int]()

    @property
    def position(self) -> int:
        return len(self.tokens)

    def reset(self) -> None:
        self.tokens = []

    def read(self, tokens: list[int]) -> list[int]:
        self.tokens += tokens
        return list(self.tokens)


def draws(count: int, temperature: float, top_k: int | None, top_p: float | None = None) -> np.ndarray:
    random = np.random.RandomState(3)
    drawn = [sampling.sample(LOGITS, temperature, top_k, random, top_p) for _ in range(count)]
    return np.bincount(drawn, minlength=len(LOGITS)) / count


def test_padding_and_the_unknown_are_never_drawn() -> None:
    shares = draws(4000, 1.0, None)
    assert shares[:2].tolist() == [0, 0]
    assert np.abs(shares[2:] - np.array([0.25, 0.5, 0.2, 0.05])).max() < 0.03


def test_cold_draws_take_the_likeliest() -> None:
    assert draws(50, 0.0, None)[3] == 1
    assert draws(50, 1e-3, None)[3] == 1
    assert draws(4000, 0.5, None)[3] > 0.7


def test_only_the_likeliest_few_are_drawn() -> None:
    shares = draws(4000, 1.0, 2)
    assert set(np.flatnonzero(shares)) == {2, 3}
    assert draws(50, 5.0, 1)[3] == 1


def test_only_the_likeliest_that_make_up_a_share_are_drawn() -> None:
    # Of tokens 2 to 5 the chances are 0.25, 0.5, 0.2, 0.05.
    assert set(np.flatnonzero(draws(4000, 1.0, None, 0.6))) == {2, 3}
    assert set(np.flatnonzero(draws(4000, 1.0, None, 0.76))) == {2, 3, 4}
    assert draws(50, 1.0, None, 1e-6)[3] == 1
    assert np.array_equal(draws(4000, 1.0, None, 1.0), draws(4000, 1.0, None))
    assert set(np.flatnonzero(draws(4000, 5.0, 2, 0.99))) == {2, 3}


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_nothing_is_drawn_where_a_logit_is_no_number(temperature: float) -> None:
    with pytest.raises(UserError, match="not finite numbers"):
        sampling.sample(np.array([0, 0, 1, np.nan]), temperature, None, np.random.RandomState(3))


def test_a_full_memory_reads_the_later_half_again() -> None:
    memory, seen = Memory(4), [2, 3]
    memory.read(seen)
    for token in (4, 5):
        seen.append(token)
        assert sampling.step(memory, seen) == seen
    seen.append(6)
    assert sampling.step(memory, seen) == [5, 6]
    seen.append(7)
    assert sampling.step(memory, seen) == [5, 6, 7]

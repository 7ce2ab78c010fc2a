"""Batches that are made ready beside the step in hand."""

import itertools
import threading
import time
from collections.abc import Iterator

import pytest

from zoo.worker.training.prefetch import prefetch


def test_everything_comes_in_its_order() -> None:
    assert list(prefetch(iter(range(100)))) == list(range(100))
    assert list(prefetch(iter([]))) == []


def test_the_next_one_is_made_while_one_is_in_use() -> None:
    prepared: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(5):
            prepared.append(number)
            yield number

    seen = prefetch(numbers())
    assert next(seen) == 0
    until = time.monotonic() + 10
    while len(prepared) < 3 and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(0.05)
    assert prepared == [0, 1, 2]  # one waits, the next has been made and waits for room
    assert list(seen) == [1, 2, 3, 4]


def test_an_error_comes_in_its_turn() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("torn")

    seen = prefetch(numbers())
    assert [next(seen), next(seen)] == [1, 2]
    with pytest.raises(ValueError, match="torn"):
        next(seen)


def test_the_thread_ends_with_the_one_it_works_for() -> None:
    before = threading.active_count()
    for number in prefetch(itertools.count()):
        if number == 3:
            break
    assert threading.active_count() <= before  # another test's may have ended meanwhile

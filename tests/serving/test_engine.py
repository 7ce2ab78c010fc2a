"""zoo.serving.engine: how many items a batch gets, without a worker."""

import asyncio
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.config.schemas.serving import ServeConfig
from zoo.protocol.events import BatchEvent
from zoo.serving.engine import LEAST_SHARED, Engine
from zoo.serving.errors import RequestError
from zoo.serving.metrics import Metrics


class Slots:
    """Two slots of a memory that is not there."""

    count = 2
    most_waiting = math.inf

    def __init__(self, batch: int) -> None:
        self.batch, self.sent = batch, list[list[Any]]()

    def put(self, slot: int, items: list[Any]) -> dict[str, Any]:
        self.sent.append(items)
        return {"slot": slot, "count": len(items)}

    def take(self, slot: int) -> list[Any]:
        return self.sent[0]


async def sizes(batch: int, *asked: int) -> list[int]:
    """Return the sizes of the batches that were sent after each number of items that came."""
    slots: Any = Slots(batch)
    engine = Engine(SimpleNamespace(name="a"), None, ServeConfig(max_wait_ms=0), Metrics(), slots)  # type: ignore
    engine.is_ready = True  # its worker takes everything and never answers
    tasks = []
    for count in asked:
        tasks.append(asyncio.ensure_future(engine.ask(list(range(count)))))
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [len(items) for items in slots.sent]


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ((1,), [1]),
        ((32,), [16, 16]),  # shared out evenly over both slots
        ((33,), [17, 16]),
        ((200,), [64, 64]),
        ((8, 3), [8]),  # the next batch waits until it is half as large
        ((8, 3, 1), [8, 4]),
        ((7, 4), [7, 4]),
        ((8, 4, 50), [8, 4]),  # no slot is free
    ],
)
def test_the_next_batch_is_sent_once_it_is_half_as_large_as_the_running_one(
    asked: tuple[int, ...], sent: list[int]
) -> None:
    assert LEAST_SHARED == 8
    assert asyncio.run(sizes(64, *asked)) == sent


class Case:
    """An engine whose worker a test plays; its outputs are the items."""

    def __init__(self, batch: int = 4, most_waiting: float = math.inf, **limits: Any) -> None:
        self.slots: Any = Slots(batch)
        self.slots.most_waiting = most_waiting
        self.slots.take = lambda slot: self.sent[slot]
        self.sent: dict[int, list[Any]] = {}
        self.commands: list[dict[str, Any]] = []
        self.killed: list[str] = []
        self.metrics = Metrics()
        model: Any = SimpleNamespace(name="m")
        self.engine = Engine(model, None, ServeConfig(**limits), self.metrics, self.slots)  # type: ignore[arg-type]
        self.engine.is_ready = True
        self.engine._kill = self.killed.append  # type: ignore[method-assign]

        def send(command: dict[str, Any]) -> None:
            self.commands.append(command)
            self.sent[command["slot"]] = self.slots.sent[-1]

        self.engine._send = send  # type: ignore[method-assign]

    def take(self, slot: int, **fields: Any) -> None:
        self.engine._take(BatchEvent(slot=slot, **fields))


async def _answered(case: Case) -> None:
    asked = [asyncio.ensure_future(case.engine.ask(items)) for items in (["a"], ["b", "c"])]
    await asyncio.sleep(0)
    slots = [command["slot"] for command in case.commands]
    for slot in slots:
        case.take(slot, seconds=0.5)
    case.take(9)  # a slot that nothing runs in
    assert await asyncio.gather(*asked) == [["a"], ["b", "c"]]
    assert sorted(case.engine._free) == [0, 1]
    assert case.engine._running == {}


def test_items_are_answered_in_their_order_and_slots_are_free_again() -> None:
    case = Case()
    asyncio.run(_answered(case))
    text = case.metrics.text().decode()
    assert 'zoo_batch_items_sum{model="m"} 3.0' in text
    assert 'zoo_batch_seconds_sum{model="m"} 1.0' in text
    assert 'zoo_waiting_items{model="m"} 0.0' in text


async def _refused(case: Case, count: int, before: int = 0) -> RequestError:
    case.engine.is_ready = False
    waiting = [asyncio.ensure_future(case.engine.ask([0] * before))] if before else []
    await asyncio.sleep(0)
    with pytest.raises(RequestError) as caught:
        await case.engine.ask([0] * count)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    return caught.value


@pytest.mark.parametrize(
    ("settings", "count", "before", "status", "words"),
    [
        ({"max_queue": 3, "timeout_s": 0.1}, 4, 0, 413, "The request has 4 items; m accepts at most 3"),
        ({"max_queue": 9, "most_waiting": 2, "timeout_s": 0.1}, 3, 0, 413, "The request has 3 items; m accepts at m"),
        ({"max_queue": 3, "timeout_s": 0.1}, 2, 2, 429, "The queue of m is full: 2 items wait, of at most 3"),
        ({"max_queue": 3, "timeout_s": 0.1}, 3, 0, 504, "No response within 0.1 s"),
        ({"max_queue": 3, "timeout_s": 0.1}, 1, 2, 504, "No response within 0.1 s"),
    ],
)
def test_what_cannot_wait_is_refused(
    settings: dict[str, Any], count: int, before: int, status: int, words: str
) -> None:
    error = asyncio.run(_refused(Case(**settings), count, before))
    assert (error.status, error.message[: len(words)]) == (status, words)
    assert error.retry_after == (None if status == 413 else 1)


def test_a_worker_that_cannot_be_started_is_told_to_clients() -> None:
    case = Case(timeout_s=0.1)
    case.engine._failures, case.engine.reason = 1, "no memory"
    error = asyncio.run(_refused(case, 1))
    assert (error.status, error.message) == (503, "The worker of m cannot be started: no memory")


async def _failed(case: Case, end: Callable[[Case], None]) -> list[Any]:
    asked = [asyncio.ensure_future(case.engine.ask([name])) for name in "abcdef"]
    await asyncio.sleep(0)
    end(case)
    for task in asked:
        if not task.done():
            await asyncio.sleep(0)
    results = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 5)
    return [result.message if isinstance(result, RequestError) else result for result in results]


def test_a_problem_of_the_worker_is_that_of_its_batch() -> None:
    case = Case(batch=1, timeout_s=0.2)

    def end(case: Case) -> None:
        first, second = case.commands[0]["slot"], case.commands[1]["slot"]
        case.take(first, problem="the picture is black")
        case.take(second, seconds=0.1)

    results = asyncio.run(_failed(case, end))
    assert results[:2] == ["the picture is black", ["b"]]
    assert len(case.commands) == 4  # the slots were used again


def test_a_worker_that_is_lost_fails_its_batches_and_frees_their_slots() -> None:
    case = Case(batch=1, timeout_s=0.2)

    def end(case: Case) -> None:
        case.engine._fail_running(RequestError(503, "lost"))
        assert case.engine._free == [0, 1]
        case.engine._fail_waiting(RequestError(503, "never"))

    assert asyncio.run(_failed(case, end)) == ["lost", "lost", "never", "never", "never", "never"]
    assert not case.engine._waiting


async def _hung(case: Case) -> None:
    task = asyncio.ensure_future(case.engine.ask(["a"]))
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_a_worker_that_hangs_is_killed() -> None:
    case = Case(hang_s=0.1)
    asyncio.run(_hung(case))
    assert case.killed == ["it did not answer within 0.1 s"]


async def _waited(case: Case, *groups: int) -> list[tuple[int, float]]:
    loop = asyncio.get_running_loop()
    began, tasks, sizes = loop.time(), [], []
    plain = case.engine._send

    def send(command: dict[str, Any]) -> None:
        plain(command)
        sizes.append((command["count"], loop.time() - began))

    case.engine._send = send  # type: ignore[method-assign]
    for count in groups:
        tasks.append(asyncio.ensure_future(case.engine.ask([0] * count)))
        await asyncio.sleep(0)
    await asyncio.sleep(0.3)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return sizes


def test_the_first_items_wait_for_more_where_the_settings_say_so() -> None:
    (together,) = asyncio.run(_waited(Case(batch=8, max_wait_ms=100.0), 1, 2))
    assert together[0] == 3
    assert together[1] >= 0.09
    (full,) = asyncio.run(_waited(Case(batch=4, max_wait_ms=9000.0), 1, 3))
    assert full[0] == 4

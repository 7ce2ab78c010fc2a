"""zoo.serving.engine: how many items a batch gets, without a worker."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.config.schemas.serving import ServeConfig
from zoo.serving.engine import LEAST_SHARED, Engine
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

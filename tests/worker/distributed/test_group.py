"""Processes that meet, agree, stop together, and miss one that is gone: here threads, which connect just the same."""

import os
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def settings(processes: int, **more: Any) -> dict[str, Any]:
    known = {"processes": processes, "host": "127.0.0.1", "port": None, "join_s": 5.0, "threads": 1}
    return known | {"id": "aa", "key": "0" * 32} | more


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """What each of some functions returns or raises, all called at once."""
    results: list[Any] = [None] * len(works)

    def call(number: int) -> None:
        try:
            results[number] = works[number]()
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def groups(folder: Path, count: int) -> list[Any]:
    from zoo.worker.distributed import channel
    from zoo.worker.distributed.group import Group

    def join(rank: int) -> Any:
        asked = types.SimpleNamespace(asked=False, reason="interrupted")
        links, hosts = channel.meet(settings(count), str(folder), rank)
        return Group(rank, settings(count), links, hosts, asked, "torch")

    return at_once(*(lambda rank=rank: join(rank) for rank in range(count)))


def test_all_get_the_rows_of_all_in_order_and_what_the_first_says(keras: types.ModuleType, tmp_path: Path) -> None:
    three = groups(tmp_path, 3)
    rows = at_once(*(lambda g=g: g.gather({"x": np.full(g.rank + 1, g.rank)}) for g in three))
    assert all(row["x"].tolist() == [0, 1, 1, 2, 2, 2] for row in rows)
    assert at_once(*(lambda g=g: g.agree(g.rank + 7) for g in three)) == [7, 7, 7]
    assert not list(tmp_path.glob(".meeting*"))
    at_once(*(g.close for g in three))


def test_a_signal_to_any_of_them_stops_all_after_the_same_step(keras: types.ModuleType, tmp_path: Path) -> None:
    """No thread waits for another here but where the group has it wait: at a barrier, as gradients are one."""
    from zoo.worker import distributed

    pair, meet = groups(tmp_path, 2), threading.Barrier(2)

    def steps(group: Any) -> int:
        for step in range(1, 2000):
            time.sleep(0.01)
            group.enter(distributed.share_of_batch((np.zeros(1), np.zeros(1)), 0, 2))
            meet.wait(10)
            if step == 5 and group.rank == 1:
                group._asked.asked = True
            group.after_step(False)
            if group.stop.asked:
                return step
        return 0

    first, second = at_once(*(lambda g=g: steps(g) for g in pair))
    assert first == second > 5
    at_once(*(g.close for g in pair))


def test_a_checkpoint_that_is_due_for_the_first_is_due_for_all(keras: types.ModuleType, tmp_path: Path) -> None:
    from zoo.worker import distributed

    pair, meet = groups(tmp_path, 2), threading.Barrier(2)

    def steps(group: Any) -> list[int]:
        saved = []
        for step in range(1, 8):
            group.enter(distributed.share_of_batch((np.zeros(1), np.zeros(1)), 0, 2))
            meet.wait(10)
            if group.after_step(group.rank == 0 and step == 3):
                saved.append(step)
        return saved

    assert at_once(*(lambda g=g: steps(g) for g in pair)) == [[4], [4]]
    at_once(*(g.close for g in pair))


def test_one_that_does_not_come_is_named(keras: types.ModuleType, tmp_path: Path) -> None:
    from zoo.worker.distributed import channel

    few = settings(3, join_s=1.0)
    first, _ = at_once(lambda: channel.meet(few, str(tmp_path), 0), lambda: channel.meet(few, str(tmp_path), 1))
    assert "2 of 3 processes came" in str(first)
    assert "missing: 2" in str(first)


def test_each_knows_the_process_of_the_other(keras: types.ModuleType, tmp_path: Path) -> None:
    pair = groups(tmp_path, 2)
    assert [link.pid for group in pair for link in group._links] == [os.getpid()] * 2
    at_once(*(g.close for g in pair))


def test_a_port_that_is_taken_and_a_folder_that_is_not_shared(keras: types.ModuleType, tmp_path: Path) -> None:
    import socket

    from zoo.worker.distributed import channel

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = settings(2, port=other.getsockname()[1])
        with pytest.raises(Exception, match="is taken on"):
            channel.meet(taken, str(tmp_path), 0)
    with pytest.raises(Exception, match=r"this folder is not the one that the others share"):
        channel.meet(settings(2, join_s=0.2), str(tmp_path), 1)


def test_two_trainings_at_one_address(keras: types.ModuleType, tmp_path: Path) -> None:
    from zoo.worker.distributed import channel

    other = settings(2, key="1" * 32)
    first, second = at_once(
        lambda: channel.meet(settings(2, join_s=2.0), str(tmp_path), 0),
        lambda: channel.meet(other, str(tmp_path), 1),
    )
    assert "two trainings use one address" in str(second)
    assert "1 of 2 processes came" in str(first)

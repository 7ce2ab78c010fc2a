"""Processes that agree, stop together, and miss one that stands still: here threads, with an engine in memory."""

import threading
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.parts import distributed


class Engine:
    """Store and sums of an engine, in memory.

    Args:
        shared: the values of the store.
        meet: where all are for a sum.
        size: how many there are.
    """

    describe = "memory"

    def __init__(self, shared: dict[str, Any], meet: threading.Barrier, size: int) -> None:
        self.shared, self.meet, self.size = shared, meet, size
        self.leave = lambda: None

    def put(self, key: str, text: str) -> None:
        assert key not in self.shared, "no store lets a value be put twice"
        self.shared[key] = text

    def get(self, key: str, patience_ms: int) -> str:
        deadline = time.monotonic() + min(patience_ms / 1000, 20.0)
        while key not in self.shared:
            if time.monotonic() > deadline:
                raise TimeoutError(key)
            time.sleep(0.002)
        return str(self.shared[key])

    def delete(self, key: str) -> None:
        del self.shared[key]

    def total(self, array: Any) -> Any:
        sums = self.shared.setdefault("sums", [])
        sums.append(np.array(array))
        self.meet.wait(10)
        total = np.sum(sums[-self.size :], axis=0, dtype=array.dtype)
        self.meet.wait(10)
        return total


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


def groups(count: int) -> list[Any]:
    from zoo.worker.distributed.group import ConnectedGroup

    settings, shared, meet = distributed(count), {}, threading.Barrier(count)
    built = []
    for rank in range(count):
        asked = types.SimpleNamespace(asked=False, reason="interrupted")
        group = ConnectedGroup(rank, settings, ["a:1"] * count, asked, lambda *_: None, "torch")
        group.engine = Engine(shared, meet, count)
        group.rows = [{"host": "a", "process": 70 + each, "time": 9.0 * each} for each in range(count)]
        built.append(group)
    return built


def test_all_get_the_rows_of_all_in_order_and_the_value_of_the_first(keras: types.ModuleType) -> None:
    from zoo.worker.distributed import together

    def part(begin: int, end: int) -> dict[str, Any]:
        return {"x": -1.0 * np.arange(begin, end), "y": np.arange(begin, end)[:, None] % 2 == 0}

    three = groups(3)
    for rows in at_once(*(lambda g=g: together(g, 40_000, part) for g in three)):
        for name, whole in part(0, 40_000).items():
            assert rows[name].tobytes() == whole.tobytes()
            assert (rows[name].dtype, rows[name].shape) == (whole.dtype, whole.shape)
    assert at_once(*(lambda g=g: g.agree(g.rank + 7) for g in three)) == [7, 7, 7]


def test_values_of_any_length_arrive(keras: types.ModuleType) -> None:
    values = [["\u00fc" * 100_000, None], {"a": 1.5}]
    assert at_once(*(lambda g=g: g.gather_values(values[g.rank]) for g in groups(2))) == [values] * 2


def test_one_process_needs_no_engine(keras: types.ModuleType) -> None:
    from zoo.worker.distributed import Group

    group, stop = Group(), types.SimpleNamespace(asked=False, reason="interrupted")
    assert group.gather_values({"a": 1}) == [{"a": 1}]
    assert group.enter((np.zeros((5, 2)), np.zeros(5))) == 5
    assert group.after_step(True)
    assert not group.after_step(False)
    group.ask_to_stop(stop, "max_minutes")
    assert (stop.asked, stop.reason) == (True, "max_minutes")


def test_weights_of_the_first_become_those_of_all(keras: types.ModuleType) -> None:
    pair, models = groups(2), []
    for g in pair:
        model = Model([np.full((2, 2), 1.0 + g.rank), np.arange(3) + g.rank])
        models.append(model)
    at_once(*(lambda g=g: g.unite(models[g.rank]) for g in pair))
    for model in models:
        assert [each.tolist() for each in model.weights] == [[[1.0, 1.0], [1.0, 1.0]], [0, 1, 2]]


class Model:
    """As much of a model as has weights."""

    def __init__(self, weights: list[Any]) -> None:
        self.weights = weights

    def get_weights(self) -> list[Any]:
        return self.weights

    def set_weights(self, weights: list[Any]) -> None:
        self.weights = weights


def steps(group: Any, act: Callable[[Any, int], bool]) -> tuple[list[int], int]:
    """Steps that ended with a checkpoint, and the one that was the last of at most nine."""
    from zoo.worker import distributed

    saved = []
    for step in range(1, 10):
        group.enter(distributed.ShareOfBatch((np.zeros(1), np.zeros(1)), 0, 2))
        if group.after_step(act(group, step)):
            saved.append(step)
        if group.stop.asked:
            break
    return saved, step


@pytest.mark.parametrize("reason", ["interrupted", "max_minutes"])
def test_a_signal_to_any_of_them_stops_all_after_the_same_step(keras: types.ModuleType, reason: str) -> None:
    def act(group: Any, step: int) -> bool:
        if step == 5 and group.rank == 1:
            group.asked.asked, group.asked.reason = True, reason
        return False

    pair = groups(2)
    assert at_once(*(lambda g=g: steps(g, act) for g in pair)) == [([], 5)] * 2
    assert [g.stop.reason for g in pair] == [reason] * 2


def test_a_checkpoint_that_is_due_for_one_is_due_for_all(keras: types.ModuleType) -> None:
    result = at_once(*(lambda g=g: steps(g, lambda g, step: g.rank == 0 and step == 3) for g in groups(2)))
    assert result == [([3], 9)] * 2


def test_a_signal_outside_of_steps_is_known_to_all(keras: types.ModuleType) -> None:
    pair = groups(2)
    pair[1].asked.asked = True
    at_once(*(g.settle_stop for g in pair))
    assert [g.stop.asked for g in pair] == [True, True]


def ended(pair: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the groups report once they watch each other."""
    from zoo.worker.distributed import group

    said: list[tuple[str, str]] = []
    monkeypatch.setattr(group, "SILENT_S", 0.5)
    monkeypatch.setattr(group, "BEAT_S", 0.05)
    monkeypatch.setattr(group.os, "_exit", lambda code: None)
    threads = [threading.Thread(target=each._watch) for each in pair]
    for each in pair:
        each._report = lambda message, kind: said.append((message, kind))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return said


def test_one_that_stands_still_is_named(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ended(groups(3)[:2], monkeypatch)
    assert said[0][0].startswith("process 2 of 3 (process id 72 on a) does not answer")
    assert said[0][1] == "GroupError"


def test_the_first_is_named_where_its_store_never_returns(
    keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of PyTorch while the process that has it is stopped: a request waits for its cancellation."""
    pair = groups(2)
    pair[1].engine.get = lambda key, patience_ms: time.sleep(3)
    said = ended(pair[1:], monkeypatch)
    assert "process 0 of 2 (process id 70 on a) does not answer" in said[0][0]


def test_one_that_begins_no_step_is_named_unless_it_is_busy(
    keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.worker import distributed
    from zoo.worker.distributed import group

    monkeypatch.setattr(group, "LATE_S", 0.3)
    three = groups(3)
    batch = distributed.ShareOfBatch((np.zeros(1), np.zeros(1)), 0, 2)
    for each in three[:2]:
        each.enter(batch)
    three[0].enter(batch)  # the second one has begun a step less, the third none, but it is busy
    assert "process 1 of 3 (process id 71 on a) hangs: it has not begun step 2" in ended(three, monkeypatch)[0][0]


def test_clocks_that_differ_are_named(keras: types.ModuleType) -> None:
    (words,) = groups(2)[0].clocks()
    assert "9 s ahead of" in words


def test_an_error_of_its_own_is_reported_at_once(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from zoo.worker.distributed import group

    said: list[str] = []
    second = groups(2)[1]
    second._report = lambda message, _kind: said.append(message)
    monkeypatch.setattr(group.os, "_exit", lambda code: said.append(str(code)))
    second.explain(ValueError("no such column"))
    assert said == ["process 1 on a: no such column", "1"]


def test_an_error_that_follows_from_another_end_waits_for_the_cause(
    keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.worker.distributed import group

    waited: list[float] = []
    monkeypatch.setattr(group.time, "sleep", waited.append)
    monkeypatch.setattr(group.os, "_exit", lambda code: None)
    groups(2)[0].explain(RuntimeError("[gloo/transport/tcp/pair.cc] Connection closed by peer"))
    assert waited == [group.SILENT_S + 2 * group.BEAT_S]


def test_the_heartbeat_does_not_fill_the_store(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from zoo.worker.distributed import group

    monkeypatch.setattr(group, "BEAT_S", 0.01)
    pair = groups(2)
    threads = [threading.Thread(target=each._watch, daemon=True) for each in pair]
    for thread in threads:
        thread.start()
    time.sleep(1)
    for each in pair:
        each._over = True
    for thread in threads:
        thread.join(30)
    assert any(int(key.split("/")[1]) > 5 for key in pair[0].engine.shared)
    assert len(pair[0].engine.shared) <= 6


def test_all_end_together(keras: types.ModuleType) -> None:
    left: list[int] = []
    pair = groups(2)
    for each in pair:
        each.engine.leave = lambda rank=each.rank: left.append(rank)
    at_once(*(g.close for g in pair))
    assert sorted(left) == [0, 1]
    pair[0].fail("a process that leaves first is not a fault")

"""The job that answers what is served, slot by slot or several slots at once."""

import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import parts
from zoo.protocol.request import ServePart

WAIT_S = 10.0


class Events:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, dict[str, Any]]] = []

    def emit(self, event: str, **fields: Any) -> None:
        self.emitted.append((event, fields))

    def slots(self) -> list[int]:
        return [fields["slot"] for event, fields in self.emitted if event == "batch"]


def run(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch, answer: Any, slots: list[int]) -> tuple[Any, Events]:
    """Let the job answer these slots; return what it tells of itself, and what it reported."""
    monkeypatch.setattr(keras, "utils", types.SimpleNamespace(get_custom_objects=dict), raising=False)
    from zoo.worker.jobs import serve
    from zoo.worker.serving import pictures

    def commands(stop: Any) -> Iterator[dict[str, int]]:
        for slot in slots:
            if stop.asked:
                return
            yield {"slot": slot}

    monkeypatch.setattr(serve, "iter_commands", commands)
    monkeypatch.setattr(pictures, "answerer", lambda _request: answer)
    events = Events()
    stop = types.SimpleNamespace(asked=False)
    return serve.run(
        parts.request(
            serve=ServePart(kind="pictures", inputs="", outputs="", shape=[], classes=0, precision="float32")
        ),
        events,
        stop,
        {},
    ), events


def test_a_device_that_takes_two_slots_has_the_second_before_it_has_done_the_first(
    keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    second_began = threading.Event()

    def answer(asked: dict[str, int]) -> None:
        if asked["slot"] == 1:
            second_began.set()
        assert second_began.wait(WAIT_S), "slot 1 waited for slot 0"

    answer.at_once = 2  # type: ignore[attr-defined]
    done, events = run(keras, monkeypatch, answer, [0, 1])
    assert sorted(events.slots()) == [0, 1]
    assert done == {"metrics": {"batches": 2}, "stopped": None}


def test_other_devices_answer_in_the_main_thread_and_in_order(
    keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set()
    done, events = run(keras, monkeypatch, lambda _asked: threads.add(threading.get_ident()), [0, 1, 0])
    assert events.slots() == [0, 1, 0]
    assert threads == {threading.get_ident()}
    assert done["metrics"] == {"batches": 3}


@pytest.mark.parametrize("at_once", [1, 2])
def test_what_goes_wrong_ends_the_worker_and_what_the_model_refuses_does_not(
    keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    from zoo.worker.errors import UserError

    def answer(asked: dict[str, int]) -> None:
        if asked["slot"] == 0:
            raise UserError("the outputs are no numbers")
        if asked["slot"] == 1:
            raise MemoryError("the device is full")

    answer.at_once = at_once  # type: ignore[attr-defined]
    _, events = run(keras, monkeypatch, answer, [0, 2])
    assert [fields.get("problem") for _, fields in events.emitted if "slot" in fields and fields["slot"] == 0] == [
        "the outputs are no numbers"
    ]
    with pytest.raises(MemoryError, match="the device is full"):
        run(keras, monkeypatch, answer, [2, 1])

"""Events: read from lines of JSON, and written again."""

from typing import Any

import pytest

from zoo.protocol import events
from zoo.protocol.part import ProtocolError


@pytest.mark.parametrize(
    "event",
    [
        events.StartEvent(versions={"keras": "3"}, device=events.DeviceProof(name="a", device_kind="cpu", proof="b")),
        events.EpochEvent(epoch=2, epochs=9, loss=0.5, best=True, t=1.5),
        events.StepEvent(step=1, steps=2, unit="images"),
        events.BatchEvent(slot=0, problem="no"),
        events.DoneEvent(metrics={"a": 1}, phases={"train_s": 2.0}),
    ],
)
def test_an_event_comes_back(event: events.Event) -> None:
    json = event.to_json()
    assert events.EVENTS[json["event"]] is type(event)
    assert events.event_of(json) == event


def test_what_is_not_set_is_not_written() -> None:
    assert events.WarningEvent(message="a", t=1.0).to_json() == {"event": "warning", "message": "a", "t": 1.0}


@pytest.mark.parametrize(
    ("json", "words"),
    [
        ({"event": "dance"}, "an event should be one of start, ready, "),
        ([1], "got None"),
        ({"event": ["epoch"]}, "got ['epoch']"),
        ({"event": "epoch", "epoch": "1"}, "epoch should be a whole number, got '1'"),
        ({"event": "epoch", "epoch": True}, "epoch should be a whole number, got True"),
        ({"event": "error", "message": "a"}, "type is missing"),
        ({"event": "text", "text": "a", "loud": True}, "loud is unknown, its value is True"),
    ],
)
def test_what_is_no_event_is_told(json: Any, words: str) -> None:
    with pytest.raises(ProtocolError) as error:
        events.event_of(json)
    assert words in str(error.value)

"""zoo.runs.event_log: epochs of all workers of a run, also from a file that grows or is damaged."""

import json
from pathlib import Path
from typing import Any

import pytest

from zoo.protocol.events import EpochEvent, StepEvent
from zoo.runs import event_log


def line(event: str, **fields: Any) -> str:
    return json.dumps({"event": event, "t": 1.0, **fields}) + "\n"


def epoch(number: int, loss: float = 0.5) -> str:
    return line("epoch", epoch=number, epochs=9, loss=loss)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"event": 1}'])
def test_a_line_that_is_no_event_is_skipped(content: bytes) -> None:
    assert event_log.parse(content) is None


def test_lines_have_a_largest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    content = epoch(1).encode()
    monkeypatch.setattr(event_log, "LONGEST", len(content))
    assert event_log.parse(content) is not None
    monkeypatch.setattr(event_log, "LONGEST", len(content) - 1)
    assert event_log.parse(content) is None


def test_epochs_that_were_trained_again_count_once(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    assert event_log.epochs(path) == []
    path.write_text(
        epoch(1, 1.0) + epoch(2, 2.0) + epoch(3, 3.0) + "damaged\n" + line("resume", epoch=2) + epoch(2, 4.0)
    )
    assert [(row.epoch, row.loss) for row in event_log.epochs(path)] == [(1, 1.0), (2, 4.0)]
    heard = [EpochEvent(epoch=3, loss=5.0), EpochEvent(epoch=1, loss=6.0)]
    assert [(row.epoch, row.loss) for row in event_log.epochs(path, heard)] == [(1, 6.0), (2, 4.0), (3, 5.0)]


def test_a_growing_file_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    tail = event_log.Tail(path)
    assert list(tail.new()) == []
    assert tail.last_epoch() is None
    whole = line("step", step=4)
    path.write_text(epoch(1) + whole[:10])
    assert [type(event) for event in tail.new()] == [EpochEvent]
    assert list(tail.new()) == []
    with path.open("a") as out:
        out.write(whole[10:])
    (event,) = tail.new()
    assert isinstance(event, StepEvent)
    assert event.step == 4


def test_the_last_epoch_of_a_growing_file(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    tail = event_log.Tail(path)
    path.write_text(epoch(1) + epoch(2, 0.25))
    for _ in range(2):
        last = tail.last_epoch()
        assert last is not None
        assert (last.epoch, last.loss) == (2, 0.25)
    with path.open("a") as out:
        out.write(line("resume", epoch=2))
    last = tail.last_epoch()
    assert last is not None
    assert last.epoch == 1
    path.write_text(epoch(1, 0.125))  # another file, shorter than the one before
    last = tail.last_epoch()
    assert last is not None
    assert (last.epoch, last.loss) == (1, 0.125)


def test_a_line_that_is_too_long_is_no_reason_to_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "LONGEST", 200)
    path = tmp_path / "events.jsonl"
    path.write_text("x" * 1000 + "\n" + epoch(7))
    last = event_log.Tail(path).last_epoch()
    assert last is not None
    assert last.epoch == 7
    assert [row.epoch for row in event_log.epochs(path)] == [7]

"""Read ``events.jsonl``: the events of all workers of a run, across interruptions."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from zoo.protocol.events import EpochEvent, Event, ResumeEvent, event_of

# Longer lines are not events.
LONGEST = 1 << 20


def parse(line: bytes) -> Event | None:
    """Return the event in a line, or None if the line is truncated, damaged or too long."""
    try:
        return event_of(json.loads(line)) if len(line) <= LONGEST else None
    except (ValueError, RecursionError):
        return None


def read(path: Path) -> Iterator[Event]:
    """Yield all valid events of a file in order, or none if it is missing."""
    if not path.is_file():
        return
    with path.open("rb") as source:
        while line := source.readline(LONGEST + 1):
            if event := parse(line):
                yield event


def epochs(path: Path, heard: Iterable[EpochEvent] = ()) -> list[EpochEvent]:
    """Return the last result of each epoch of a run; add epochs in ``heard``, which a full disk may have lost."""
    rows: dict[int, EpochEvent] = {}
    for event in (*read(path), *heard):
        enter(rows, event)
    return [rows[number] for number in sorted(rows)]


def enter(rows: dict[int, EpochEvent], event: Event) -> None:
    """Add an epoch; epochs after the start of a resumed run are trained again."""
    if isinstance(event, ResumeEvent):
        for epoch in [epoch for epoch in rows if epoch >= event.epoch]:
            del rows[epoch]
    elif isinstance(event, EpochEvent):
        rows[event.epoch] = event


class Tail:
    """The events of a growing ``events.jsonl``; only new lines are read."""

    def __init__(self, path: Path) -> None:
        self._path, self._read, self._rows = path, 0, dict[int, EpochEvent]()

    def new(self) -> Iterator[Event]:
        """Yield the events in complete lines that were written since the last call."""
        size = self._path.stat().st_size if self._path.is_file() else 0
        if size < self._read:  # another file
            self._read, self._rows = 0, {}
        if size > self._read:
            with self._path.open("rb") as source:
                source.seek(self._read)
                while line := source.readline(LONGEST + 1):
                    if not line.endswith(b"\n") and len(line) <= LONGEST:
                        break  # still being written
                    self._read += len(line)
                    if event := parse(line):
                        yield event

    def last_epoch(self) -> EpochEvent | None:
        """Read the new events; return the last epoch so far."""
        for event in self.new():
            enter(self._rows, event)
        return self._rows[max(self._rows)] if self._rows else None

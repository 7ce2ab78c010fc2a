"""Read ``events.jsonl``: the events of all workers of a run, through every interruption."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Event = dict[str, Any]
# A line that is longer is no event of ours.
LONGEST = 1 << 20


def parse(line: bytes) -> Event | None:
    """Return one event, or None where the line is none: torn, damaged or too long."""
    try:
        event = json.loads(line) if len(line) <= LONGEST else None
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def read(path: Path) -> Iterator[Event]:
    """Yield all whole events of a file in their order; skip what is no event. Without a file there are none."""
    if not path.is_file():
        return
    with path.open("rb") as source:
        while line := source.readline(LONGEST + 1):
            event = parse(line)
            if event is not None:
                yield event


def epochs(path: Path, heard: Iterable[Event] = ()) -> list[Event]:
    """Return the epochs of a run, each as it was trained last: after an interruption some are trained again.

    Args:
        path: ``events.jsonl``.
        heard: epochs that were received besides: a full disk may have kept none of them.
    """
    rows: dict[int, Event] = {}
    for event in (*read(path), *heard):
        number = event.get("epoch")
        if not isinstance(number, int) or isinstance(number, bool):
            continue
        if event["event"] == "resume":
            rows = {epoch: row for epoch, row in rows.items() if epoch < number}
        elif event["event"] == "epoch":
            rows[number] = event
    return [rows[number] for number in sorted(rows)]

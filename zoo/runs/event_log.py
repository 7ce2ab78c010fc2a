"""Reading ``events.jsonl`` again: what the workers of a run said, through every interruption."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

# A line that is longer is no event of ours.
LONGEST = 1 << 20


def parse(line: bytes) -> dict[str, Any] | None:
    """One event, or None where the line is none: torn, damaged or too long."""
    try:
        event = json.loads(line) if len(line) <= LONGEST else None
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def read(path: Path) -> Iterator[dict[str, Any]]:
    """All whole events of a file, in their order; what is no event is passed over. No file, no events."""
    if not path.is_file():
        return
    with path.open("rb") as source:
        while line := source.readline(LONGEST + 1):
            event = parse(line)
            if event is not None:
                yield event


def epochs(path: Path, heard: Iterable[dict[str, Any]] = ()) -> list[dict[str, Any]]:
    """The epochs of a run, each as it was trained last: after an interruption some are trained again.

    Args:
        path: ``events.jsonl``.
        heard: epochs that were heard besides: a full disk may have kept none of them.
    """
    found: dict[int, dict[str, Any]] = {}
    for event in (*read(path), *heard):
        number = event.get("epoch")
        if not isinstance(number, int) or isinstance(number, bool):
            continue
        if event["event"] == "resume":
            found = {epoch: row for epoch, row in found.items() if epoch < number}
        elif event["event"] == "epoch":
            found[number] = event
    return [found[number] for number in sorted(found)]

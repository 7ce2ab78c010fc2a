"""Watching a run that another process does: its events so far, then each as it comes."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.core import console
from zoo.runs import event_display, event_log, lock, records

PAUSE_S = 0.3


def follow(folder: Path) -> str:
    """Show a run until it ends, or what it was where it has ended; nothing in the folder is changed.

    Returns:
        How it ended: ``completed``, ``interrupted``, ``failed`` or ``killed``.

    Raises:
        ZooError: it is no run folder.
    """
    record = records.read(folder)
    running = lock.is_held(folder)
    console.say(printable(f"{folder}: {record.get('model')}, begun {record.get('started')}"))
    if running:
        console.say("Ctrl-C leaves it alone and ends the watching.")
    with event_display.following("Waiting for its next step") as show:
        for event in _events(folder):
            # The folder may come from a stranger: what cannot be shown is passed over.
            with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
                show(printable(event))
    return state(folder, records.read(folder))


def state(folder: Path, record: dict[str, Any]) -> str:
    """How a run stands: what its record says, but for one that says it runs while nobody works on it."""
    told = str(record["exit"])
    return "killed" if told == "running" and not lock.is_held(folder) else told


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / "events.jsonl"
    while not path.is_file() and lock.is_held(folder):
        time.sleep(PAUSE_S)
    if not path.is_file():
        return
    begun = b""
    with path.open("rb") as source:
        while True:
            held = lock.is_held(folder)  # asked first: what was written before it was let go is still read
            line = begun + source.readline(event_log.LONGEST)
            if line.endswith(b"\n"):
                event, begun = event_log.parse(line), b""
                if event is not None:
                    yield event
            elif not held or len(line) > event_log.LONGEST:
                return
            else:
                begun = line
                time.sleep(PAUSE_S)


def printable(value: Any) -> Any:
    """The same with no character that would move a terminal's cursor or change its colours."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in value)
    if isinstance(value, dict):
        return {key: printable(item) for key, item in value.items()}
    return [printable(item) for item in value] if isinstance(value, list) else value

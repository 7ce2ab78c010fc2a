"""Follow a run of another process: past events, then new ones as they arrive."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.core import console
from zoo.execution import event_display
from zoo.protocol.events import Event
from zoo.runs import event_log, lock, records

PAUSE_S = 0.3


def follow(folder: Path, figures: Sequence[str]) -> str:
    """Show the events of a run, with the metrics ``figures``, until it ends; return its exit state.

    The state is ``completed``, ``interrupted``, ``failed`` or ``killed``. The run folder is not changed.
    """
    record = records.read(folder)
    running = lock.is_held(folder)
    console.say(f"{folder}: {record.get('model')}, begun {record.get('started')}")
    if running:
        console.say("Press Ctrl-C to stop watching; the run continues.")
    with event_display.following("Waiting for the next step", figures) as show:
        for event in _events(folder):
            show(event)
    return str(records.read(folder)["exit"])


def _events(folder: Path) -> Iterator[Event]:
    tail = event_log.Tail(folder / "events.jsonl")
    while True:
        running = lock.is_held(folder)  # checked first, to read everything written before the release
        yield from tail.new()
        if not running:
            return
        time.sleep(PAUSE_S)

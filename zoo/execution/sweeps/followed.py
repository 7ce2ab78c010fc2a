"""The state of a sweep's runs, read again only after changes: there may be hundreds on a network disk."""

from collections.abc import Collection
from pathlib import Path

from zoo.execution.sweeps.record import Element, Sweep
from zoo.protocol.events import EpochEvent
from zoo.runs import event_log, records
from zoo.runs.records import Json

Stamp = tuple[int, int, int]


class Followed:
    """The runs of a sweep as of the last update."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._runs: dict[str, Json | None] = {}
        self._stamps: dict[str, list[Stamp]] = {}
        self._logs: dict[Path, event_log.Tail] = {}

    def look(self, running: Collection[str], waiting: Collection[str]) -> None:
        """Update the runs that may have changed; ``running`` and ``waiting`` are names of elements."""
        for element in self._sweep.elements:
            run = self._runs.get(element.name)
            ended = run["exit"] if run else ""
            if element.name in self._runs and (ended == "completed" or element.name in waiting):
                continue
            stamps = [_stamp(folder / records.RECORD) for folder in self._sweep.attempts(element)]
            # The record of a killed run stays at "running"; only its lock shows that it ended.
            settled = element.name in running or ended != "running"
            if stamps != self._stamps.get(element.name) or not settled:
                self._runs[element.name], self._stamps[element.name] = self._sweep.run_of(element), stamps

    def run(self, element: Element) -> Json | None:
        return self._runs.get(element.name)

    def last_epoch(self, folder: Path) -> EpochEvent | None:
        return self._logs.setdefault(folder, event_log.Tail(folder / "events.jsonl")).last_epoch()


def _stamp(path: Path) -> Stamp:
    """Return values that change when a file is replaced; zeros for a missing file."""
    try:
        seen = path.stat()
    except OSError:
        return (0, 0, 0)
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns)

"""What is known of the runs of a sweep, maybe hundreds on a network's disk: read again only where they changed."""

from collections.abc import Collection
from pathlib import Path

from zoo.execution.sweeps.record import Element, Sweep
from zoo.protocol.events import EpochEvent
from zoo.runs import event_log, records
from zoo.runs.records import Json

Stamp = tuple[int, int, int]


class Followed:
    """The runs of a sweep as they were when somebody looked last.

    Args:
        sweep: of which.
    """

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._runs: dict[str, Json | None] = {}
        self._stamps: dict[str, list[Stamp]] = {}
        self._logs: dict[Path, event_log.LastEpoch] = {}

    def look(self, running: Collection[str], waiting: Collection[str]) -> None:
        """Read what may have changed.

        Args:
            running: names of the elements that an engine has.
            waiting: of those that none has yet.
        """
        for element in self._sweep.elements:
            run = self._runs.get(element.name)
            ended = run["exit"] if run else ""
            if element.name in self._runs and (ended == "completed" or element.name in waiting):
                continue
            stamps = [_stamp(folder / records.RECORD) for folder in self._sweep.attempts(element)]
            # A run that was killed keeps its record: who holds its lock tells.
            settled = element.name in running or ended != "running"
            if stamps != self._stamps.get(element.name) or not settled:
                self._runs[element.name], self._stamps[element.name] = self._sweep.run_of(element), stamps

    def run(self, element: Element) -> Json | None:
        """Return the record of an element's run, as :meth:`Sweep.run_of`."""
        return self._runs.get(element.name)

    def last_epoch(self, folder: Path) -> EpochEvent | None:
        """Return the last epoch of a run so far."""
        return self._logs.setdefault(folder, event_log.LastEpoch(folder / "events.jsonl")).look()


def _stamp(path: Path) -> Stamp:
    """What differs once a file has been replaced; zeros where there is none."""
    try:
        seen = path.stat()
    except OSError:
        return (0, 0, 0)
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns)

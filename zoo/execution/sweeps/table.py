"""The table of a sweep: one row for each of its runs."""

import statistics
import time
from collections.abc import Collection
from pathlib import Path

from zoo.core import console
from zoo.execution.sweeps.drive import Progress
from zoo.execution.sweeps.record import Element, Sweep
from zoo.protocol.events import EpochEvent
from zoo.runs import event_log, records
from zoo.runs.records import Json
from zoo.runs.result import HEADLINES

# Minimum pause between updates: seconds, and a multiple of an update's duration, for slow disks.
PACE_S, REST = 1.0, 10.0
HEADINGS = ["run", "settings", "state", "where", "result", "seconds"]
MEANS = ["settings", "seeds", "mean", "deviation", ""]
Stamp = tuple[int, int, int]


class Followed:
    """The runs of a sweep, read again only after changes: there may be hundreds on a network disk."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self.runs: dict[str, Json | None] = {}
        self._stamps: dict[str, list[Stamp]] = {}
        self._logs: dict[Path, event_log.Tail] = {}

    def look(self, running: Collection[str], waiting: Collection[str]) -> None:
        """Update the runs that may have changed; ``running`` and ``waiting`` are names of elements."""
        for element in self._sweep.elements:
            run = self.runs.get(element.name)
            ended = run["exit"] if run else ""
            if element.name in self.runs and (ended == "completed" or element.name in waiting):
                continue
            stamps = [_stamp(folder / records.RECORD) for folder in self._sweep.attempts(element)]
            # The record of a killed run stays at "running"; only its lock shows that it ended.
            settled = element.name in running or ended != "running"
            if stamps != self._stamps.get(element.name) or not settled:
                self.runs[element.name], self._stamps[element.name] = self._sweep.run_of(element), stamps

    def last_epoch(self, folder: Path) -> EpochEvent | None:
        return self._logs.setdefault(folder, event_log.Tail(folder / "events.jsonl")).last_epoch()


def _stamp(path: Path) -> Stamp:
    """Return values that change when a file is replaced; zeros for a missing file."""
    try:
        seen = path.stat()
    except OSError:
        return (0, 0, 0)
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns)


def rows(sweep: Sweep, progress: Progress | None = None, followed: Followed | None = None) -> list[list[str]]:
    """Return the cells of all runs; without ``followed``, the last known state, read all runs."""
    shown, followed = progress or Progress(places=sweep.places()), followed or Followed(sweep)
    waiting = {each.name for each in shown.waiting}
    followed.look(shown.running, waiting)
    return [_row(element, shown, waiting, followed) for element in sweep.elements]


def _row(element: Element, progress: Progress, waiting: set[str], followed: Followed) -> list[str]:
    run, place = followed.runs.get(element.name) or {}, progress.places.get(element.name, "")
    state = _state(element, str(run.get("exit", "")), progress, waiting)
    result = _headline(run.get("metrics") or {})
    if run and state == "running":
        epoch = followed.last_epoch(Path(run["folder"]))
        result = f"epoch {epoch.epoch}/{epoch.epochs or '?'} {_headline(epoch.to_json())}".strip() if epoch else ""
    seconds = run.get("seconds")
    spent = f"{seconds:.1f}" if isinstance(seconds, int | float) else ""
    return [element.name, " ".join(element.chosen), state, place, result, spent]


def _state(element: Element, ended: str, progress: Progress, waiting: set[str]) -> str:
    tried = f", attempt {progress.failures[element.name] + 1}" if progress.failures[element.name] else ""
    if ended == "completed":
        return ended
    if element.name in progress.running:
        return ("running" if ended == "running" else "queued") + tried
    if element.name in waiting:
        return "waiting" + tried
    if element.name in progress.canceled:
        return "canceled"
    return ended or ("failed" if progress.failures[element.name] else "missing")


def over_seeds(sweep: Sweep) -> list[list[str]]:
    """Return the cells of :data:`MEANS` for runs that differ only in their seeds; mark the best mean."""
    groups: dict[str, list[float]] = {}
    records = [(element, (sweep.run_of(element) or {}).get("metrics") or {}) for element in sweep.elements]
    name = next((name for name in HEADLINES for _, metrics in records if name in metrics), "")
    for element, metrics in records:
        if isinstance(metrics.get(name), int | float):
            settings = " ".join(word for word in element.chosen if not word.startswith("seed="))
            groups.setdefault(settings, []).append(metrics[name])
    if not any(len(values) > 1 for values in groups.values()):
        return []
    means = {settings: statistics.fmean(values) for settings, values in groups.items()}
    best = (min if name.endswith("loss") else max)(means.values())
    return [
        [settings, str(len(values)), f"{name} {means[settings]:.4f}",
         f"{statistics.stdev(values):.4f}" if len(values) > 1 else "", "best" if means[settings] == best else ""]
        for settings, values in groups.items()
    ]  # fmt: skip


def _headline(metrics: Json) -> str:
    name = next((name for name in HEADLINES if isinstance(metrics.get(name), int | float)), "")
    return f"{name} {metrics[name]:.4f}" if name else ""


class Shown:
    """Redraws the table on a terminal; without one (``draw`` is None), prints a line per change of state."""

    def __init__(self, sweep: Sweep, draw: "console.Draw | None") -> None:
        self._sweep, self._draw, self._followed = sweep, draw, Followed(sweep)
        self._states: dict[str, str] = {}
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show the state of the sweep at a limited rate; the final state is always shown."""
        began = time.monotonic()
        if began < self._next and (progress.running or progress.waiting):
            return
        table = rows(self._sweep, progress, self._followed)
        self._next = time.monotonic() + max(PACE_S, REST * (time.monotonic() - began))
        if self._draw is not None:
            self._draw(table)
        else:
            ended = sum(row[2] == "completed" for row in table)
            for name, settings, state, place, result, spent in table:
                shown = state.partition(",")[0]
                if self._states.get(name) != state and shown in ("running", "completed"):
                    words = [f"[{ended}/{len(table)}]", name, settings, state, f"on {place}" if place else "", result]
                    console.say(" ".join(word for word in [*words, f"{spent} s" if spent else ""] if word))
                self._states[name] = state

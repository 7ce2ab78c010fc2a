"""The table of a sweep: one row for each of its runs."""

from pathlib import Path

from zoo.core import console
from zoo.runs import event_log
from zoo.runs.records import Json
from zoo.runs.result import HEADLINES
from zoo.runs.sweeps.drive import Progress
from zoo.runs.sweeps.record import Element, Sweep

HEADINGS = ["run", "settings", "state", "where", "result", "seconds"]


def rows(sweep: Sweep, progress: Progress | None = None) -> list[list[str]]:
    """Return the cells of all runs.

    Args:
        sweep: of which.
        progress: while it is at work; else None.
    """
    shown = progress or Progress(places=sweep.places())
    return [_row(sweep, element, shown) for element in sweep.elements]


def _row(sweep: Sweep, element: Element, progress: Progress) -> list[str]:
    run = sweep.run_of(element)
    state, place = _state(element, run, progress), progress.places.get(element.name, "")
    result = _epochs(Path(run["folder"])) if run and state == "running" else _result(run or {})
    seconds = (run or {}).get("seconds")
    spent = f"{seconds:.1f}" if isinstance(seconds, int | float) else ""
    return [element.name, " ".join(element.chosen), state, place, result, spent]


def _state(element: Element, run: Json | None, progress: Progress) -> str:
    ended = str(run["exit"]) if run else ""
    tried = f", attempt {progress.failures[element.name] + 1}" if progress.failures[element.name] else ""
    if ended == "completed":
        return ended
    if element.name in progress.running:
        return ("running" if ended == "running" else "queued") + tried
    if any(element.name == each.name for each in progress.waiting):
        return "waiting" + tried
    return ended or ("failed" if progress.failures[element.name] else "missing")


def _epochs(folder: Path) -> str:
    rows = event_log.epochs(folder / "events.jsonl")
    if not rows:
        return ""
    name = next((name for name in HEADLINES if isinstance(rows[-1].get(name), float)), "")
    shown = f" {name} {rows[-1][name]:.4f}" if name else ""
    return f"epoch {rows[-1]['epoch']}/{rows[-1].get('epochs', '?')}{shown}"


def _result(run: Json) -> str:
    metrics = run.get("metrics") or {}
    name = next((name for name in HEADLINES if isinstance(metrics.get(name), int | float)), "")
    return f"{name} {metrics[name]:.4f}" if name else ""


class Shown:
    """Shows the table while it changes: on a terminal drawn anew, elsewhere a line for every change of a state.

    Args:
        sweep: of which.
        draw: draws rows anew; None where there is no terminal.
    """

    def __init__(self, sweep: Sweep, draw: "console.Draw | None") -> None:
        self._sweep, self._draw = sweep, draw
        self._states: dict[str, str] = {}

    def __call__(self, progress: Progress) -> None:
        """Show where the sweep stands."""
        table = rows(self._sweep, progress)
        if self._draw is not None:
            self._draw(table)
        else:
            self._say(table)

    def _say(self, table: list[list[str]]) -> None:
        ended = sum(row[2] == "completed" for row in table)
        for name, settings, state, place, result, spent in table:
            shown = state.partition(",")[0]
            if self._states.get(name) != state and shown in ("running", "completed"):
                words = [f"[{ended}/{len(table)}]", name, settings, state, f"on {place}" if place else "", result]
                console.say(" ".join(word for word in [*words, f"{spent} s" if spent else ""] if word))
            self._states[name] = state

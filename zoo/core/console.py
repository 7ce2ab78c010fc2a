"""What people see while they wait: sentences, warnings and bars on standard error.

Results go to standard output, so a script that reads them is never disturbed by these.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol


class Bar(Protocol):
    """A moving bar, or its plain-text stand-in where there is no terminal."""

    def advance(self, amount: float) -> None: ...
    def label(self, text: str) -> None: ...
    def note(self, text: str) -> None: ...


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def is_terminal() -> bool:
    """True where bars can be drawn."""
    return sys.stderr.isatty()


def _harmless(text: str) -> str:
    """Without signs that would steer the terminal: some of it may come from a stranger's file."""
    return "".join(sign for sign in text if sign.isprintable() or sign in "\n\t")


def say(text: str) -> None:
    """Print a sentence for the user."""
    print(_harmless(text), file=sys.stderr, flush=True)


def write(text: str) -> None:
    """Go on with the line."""
    print(_harmless(text), end="", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print a warning that should not be overlooked."""
    if is_terminal():
        _console().print(_harmless(text), style="bold yellow", markup=False)
    else:
        say(f"WARNING: {text}")


def fail(message: str, remedy: str) -> None:
    """Print an error and what to do about it."""
    if is_terminal():
        console = _console()
        console.print(f"error: {_harmless(message)}", style="bold red", markup=False)
        if remedy:
            console.print(_harmless(remedy), markup=False)
    else:
        say(f"error: {message}" + (f"\n{remedy}" if remedy else ""))


def leave_terminal(log: Path) -> None:
    """Write what would be shown into a file from now on: the terminal is gone, and writing there would fail."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(handle, stream)
    os.close(handle)


class _Drawn:
    def __init__(self, progress: Any, task: Any) -> None:
        self._progress, self._task = progress, task

    def advance(self, amount: float) -> None:
        self._progress.advance(self._task, amount)

    def label(self, text: str) -> None:
        self._progress.update(self._task, description=text)

    def note(self, text: str) -> None:
        self._progress.update(self._task, note=text)


class _Plain:
    """One line at the start and then one every ten seconds: readable in a log file."""

    def __init__(self, label: str, total: float | None, unit: str) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._done, self._note, self._spoken = 0.0, "", time.monotonic()
        say(label)

    def advance(self, amount: float) -> None:
        self._done += amount
        if time.monotonic() - self._spoken >= 10.0:
            self._spoken = time.monotonic()
            share = f"{100 * self._done / self._total:.0f} %" if self._total else f"{self._done:g} {self._unit}"
            say(f"{self._label}: {share} {self._note}".rstrip())

    def label(self, text: str) -> None:
        self._label = text

    def note(self, text: str) -> None:
        self._note = text


@contextlib.contextmanager
def bar(label: str, total: float | None = None, unit: str = "") -> Iterator[Bar]:
    """A bar over ``total`` units (bytes where ``unit`` is ``"B"``), or a spinner where the total is unknown."""
    if not is_terminal():
        yield _Plain(label, total, unit)
        return
    from rich import progress as rich_progress

    columns: list[Any] = [
        rich_progress.SpinnerColumn(),
        rich_progress.TextColumn("{task.description}", markup=False),
    ]
    if total is not None:
        columns += [rich_progress.BarColumn(), rich_progress.TaskProgressColumn()]
    if unit == "B":
        columns += [rich_progress.DownloadColumn(), rich_progress.TransferSpeedColumn()]
    columns += [
        rich_progress.TextColumn("{task.fields[note]}", markup=False),
        rich_progress.TimeElapsedColumn(),
    ]
    if total is not None:
        columns += [rich_progress.TimeRemainingColumn()]
    with rich_progress.Progress(*columns, console=_console(), transient=True) as drawn:
        yield _Drawn(drawn, drawn.add_task(label, total=total, note=""))


def table(title: str, headings: list[str], rows: list[list[str]]) -> None:
    """Print a table on standard output."""
    from rich.console import Console
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", header_style="bold", highlight=False)
    for heading in headings:
        drawn.add_column(heading, overflow="fold")
    from rich.text import Text

    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    # Where nobody looks (a pipe, a file), a narrow guess at the width would fold every cell.
    width = None if sys.stdout.isatty() else 160
    Console(highlight=False, width=width).print(drawn)

"""Print messages, warnings and progress bars on standard error; standard output is for results only."""

import contextlib
import itertools
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from zoo.core import planning


class Bar(Protocol):
    """A progress bar, or its plain-text replacement without a terminal."""

    def advance(self, amount: float) -> None: ...
    def label(self, text: str) -> None: ...
    def note(self, text: str) -> None: ...


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def is_terminal() -> bool:
    return sys.stderr.isatty()


def allows(what: str, wanted: str) -> bool:
    """Return True for ``yes``, or if the user agrees in a terminal for ``ask``."""
    if wanted != "ask" or planning.is_planning() or not (sys.stdin.isatty() and is_terminal()):
        return wanted == "yes"
    with contextlib.suppress(EOFError):
        return _console().input(f"{what}? \\[Y/n] ").strip().lower() in ("", "y", "yes")
    return False


def in_notebook() -> bool:
    """Return True in a Jupyter kernel, which can show and update HTML."""
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython() if ipython else None, "kernel")


# Unicode categories that control a terminal or reverse the direction of text. Joiners are formats (Cf) too, but
# several languages and many emoji need them.
_CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"


def escape_controls(text: str, keep: str = "\n\t") -> str:
    r"""Replace characters that could control a terminal with escapes such as ``\x1b``, except those in ``keep``."""
    if text.isprintable():
        return text
    harmful = {letter for letter in text if unicodedata.category(letter) in _CONTROLS} - {*keep, *_JOINERS}
    return text.translate({ord(letter): letter.encode("unicode_escape").decode("ascii") for letter in harmful})


# Parts of paths with line breaks, which messages show as escapes.
_broken: set[str] = set()


def expect_path(text: str) -> None:
    """Show the line breaks of a path as escapes in all further messages; ``text`` may be ``KEY=PATH``."""
    if not text.isprintable():
        parts = text.partition("=")[2].split("/") + text.split("/")
        _broken.update(part for part in parts if "\n" in part.strip() or "\t" in part.strip())


def without_passwords(text: str) -> str:
    """Replace the user and password of addresses, and secrets in their queries."""
    text = re.sub(r"(?i)([?&][^=&\s]*(?:token|key|secret|password|signature)[^=&\s]*=)[^&\s'\"]+", r"\1***", text)
    return re.sub(r"(?<=://)[^\s/@]+@", "***@", text)


def _message(text: str) -> str:
    text = re.sub(r"(?m)^(.{20000}).+", r"\1...", text)  # a name or a cell of a file may have any length
    text = without_passwords(text)
    for part in sorted(_broken, key=len, reverse=True):
        text = text.replace(part, escape_controls(part, keep=""))
    return escape_controls(text)


def say(text: str) -> None:
    print(_message(text), file=sys.stderr, flush=True)


def write(text: str) -> None:
    """Continue the current line."""
    print(escape_controls(text), end="", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    if is_terminal():
        _console().print(_message(text), style="bold yellow", markup=False)
    else:
        say(f"WARNING: {text}")


SHOWN_SKIPPED = 3


def warn_of_skipped(skipped: Sequence[tuple[str, str]]) -> None:
    """Warn about the first skipped files or lines, and print the total."""
    for where, reason in skipped[:SHOWN_SKIPPED]:
        warn(f"Skipped {where}: {reason}")
    if len(skipped) > SHOWN_SKIPPED:
        warn(f"{len(skipped):,} were skipped in total; skipped.csv lists them")


def fail(message: str, remedy: str) -> None:
    if is_terminal():
        console = _console()
        console.print(f"error: {_message(message)}", style="bold red", markup=False)
        if remedy:
            console.print(_message(remedy), markup=False)
    else:
        say(f"error: {message}" + (f"\n{remedy}" if remedy else ""))


def leave_terminal(log: Path) -> None:
    """Redirect output to a log file, because writing to a closed terminal would fail."""
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
        self._progress.update(self._task, description=escape_controls(text))

    def note(self, text: str) -> None:
        self._progress.update(self._task, note=escape_controls(text))


class _Plain:
    """Progress as lines for a log file: one at the start, then one every ten seconds."""

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


class _Cell:
    """Progress in a notebook cell, redrawn at most four times a second."""

    def __init__(self, label: str, total: float | None) -> None:
        self._label, self._total = label, total
        self._done, self._note, self._drawn = 0.0, "", 0.0
        self._handle = sys.modules["IPython"].display.display(self, display_id=True)

    def _repr_html_(self) -> str:
        import html

        place = f'value="{self._done:g}" max="{self._total:g}"' if self._total else ""
        return f"{html.escape(self._label)} <progress {place}></progress> {html.escape(self._note)}"

    def __repr__(self) -> str:
        return f"{self._label} {self._note}".rstrip()

    def draw(self, pause_s: float = 0.25) -> None:
        if time.monotonic() - self._drawn >= pause_s:
            self._drawn = time.monotonic()
            self._handle.update(self)

    def advance(self, amount: float) -> None:
        self._done += amount
        self.draw()

    def label(self, text: str) -> None:
        self._label = escape_controls(text)

    def note(self, text: str) -> None:
        self._note = escape_controls(text)
        self.draw()


@contextlib.contextmanager
def bar(label: str, total: float | None = None, unit: str = "") -> Iterator[Bar]:
    """Show a bar over ``total`` units (bytes if ``unit`` is ``"B"``), or a spinner if the total is unknown."""
    if in_notebook():
        cell = _Cell(escape_controls(label), total)
        yield cell
        cell.draw(0.0)
        return
    if not is_terminal():
        yield _Plain(label, total, unit)
        return
    from rich import progress as rich
    from rich.cells import cell_len
    from rich.table import Column

    shown = _console()

    class Note(rich.TextColumn):
        def render(self, task: Any) -> Any:
            note = super().render(task)
            taken = cell_len(task.description) + (11 if total is None else 25)  # spinner, shortest bar, share, times
            note.truncate(max(1, shown.width - taken), overflow="ellipsis")
            return note

    # On a narrow screen, first the bar shrinks, then the end of the note; the times stay whole.
    columns: list[Any] = [rich.SpinnerColumn(), rich.TextColumn("{task.description}", markup=False)]
    if total is not None:
        columns += [rich.BarColumn(None, table_column=Column(max_width=40)), rich.TaskProgressColumn()]
    if unit == "B":
        columns += [rich.DownloadColumn(), rich.TransferSpeedColumn()]
    columns += [Note("{task.fields[note]}", markup=False)]
    columns += [rich.TimeElapsedColumn(Column(no_wrap=True))]
    if total is not None:
        columns += [rich.TimeRemainingColumn(table_column=Column(no_wrap=True))]
    with rich.Progress(*columns, console=shown, transient=True, expand=total is None) as drawn:
        yield _Drawn(drawn, drawn.add_task(escape_controls(label), total=total, note=""))


def output(*lines: object) -> None:
    print(escape_controls("\n".join(map(str, lines))))


def output_json(value: object, indent: int | None = None) -> None:
    """Print a value as JSON on standard output; dataclasses become objects, paths become text."""
    import json

    print(json.dumps(value, indent=indent, sort_keys=True, default=_plain))


def _plain(value: Any) -> Any:
    import dataclasses

    is_row = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return dataclasses.asdict(value) if is_row else str(value)


def table_of(title: str, rows: list[dict[str, str]]) -> None:
    """Print rows with the same keys as a table on standard output, or nothing without rows."""
    if rows:
        table(title, list(rows[0]), [list(row.values()) for row in rows])


Draw = Callable[[list[list[str]]], None]


@contextlib.contextmanager
def live_table(title: str, headings: list[str]) -> Iterator[Draw | None]:
    """Yield a function that redraws a table on standard error, or None without a terminal."""
    if not is_terminal():
        yield None
        return
    from rich.live import Live

    with Live(console=_console(), transient=True, refresh_per_second=4) as live:
        yield lambda rows: live.update(_table(title, headings, _on_one_line(rows)))


def table(title: str, headings: list[str], rows: list[list[str]]) -> None:
    """Print a table on standard output without splitting words, or a line per cell if the terminal is too narrow."""
    from rich.cells import cell_len
    from rich.console import Console

    rows = _on_one_line(rows)
    columns = list(zip(headings, *rows, strict=True))
    least = [max(cell_len(word) for cell in cells for word in [" ", *cell.split()]) for cells in columns]
    more = [max(map(cell_len, cells)) - width for cells, width in zip(columns, least, strict=True)]
    needed = sum(least) + 3 * len(columns) + 1
    # In a pipe or a file, the guessed width is too narrow and would fold every cell.
    screen = Console(highlight=False, width=None if sys.stdout.isatty() else max(160, needed))
    if rows and needed > screen.width:
        edge = max(map(len, headings))
        cells = [
            f"{name:<{edge}}  {cell}" for row in rows for name, cell in [*zip(headings, row, strict=True), ("", "")]
        ]
        output(*[title] * bool(title), *map(str.rstrip, cells))
        return
    share = min(1.0, max(0, screen.width - needed) / max(1, sum(more)))
    widths = [width + int(share * extra) for width, extra in zip(least, more, strict=True)]
    screen.print(_table(title, headings, rows, widths))


def _on_one_line(rows: list[list[str]]) -> list[list[str]]:
    return [[escape_controls(cell, keep="") for cell in row] for row in rows]


def _table(title: str, headings: list[str], rows: list[list[str]], widths: Sequence[int | None] = ()) -> Any:
    from rich.table import Table
    from rich.text import Text

    drawn = Table(
        title=Text(escape_controls(title)) if title else None, title_justify="left", header_style="bold",
        highlight=False,
    )  # fmt: skip
    for heading, width in itertools.zip_longest(headings, widths):
        drawn.add_column(heading, overflow="fold", width=width)
    for row in rows:
        drawn.add_row(*map(Text, row))
    return drawn

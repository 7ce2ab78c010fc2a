r"""Write and read CSV files that are safe to open in a spreadsheet.

Class names, texts and file names come from users and third parties. A spreadsheet runs a cell that begins with ``=``,
``+``, ``-``, ``@``, a tab or a carriage return. Such text gets a leading apostrophe (OWASP, CSV injection), which
:func:`rows` removes. Numbers are unchanged. Characters that control a terminal, or reverse the direction of text, are
written as escapes such as ``\x1b``.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

# Leading apostrophes are escaped too, so that reading restores the original text.
_FORMULA = re.compile("'*[=+\\-@\t\r]")
# Control a terminal, or reverse the direction of text.
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")


class Writer:
    """A row writer like :func:`csv.writer` that escapes formulas."""

    def __init__(self, stream: TextIO) -> None:
        self._writer = csv.writer(stream)

    def writerow(self, cells: Iterable[object]) -> None:
        self._writer.writerow(map(escaped, cells))

    def writerows(self, rows: Iterable[Iterable[object]]) -> None:
        for row in rows:
            self.writerow(row)


def write(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Write a table, the names of its columns first."""
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        Writer(out).writerows(rows)


def write_skipped(path: Path, skipped: Sequence[tuple[str, str]]) -> None:
    """Write ``skipped.csv``, a row per skipped file or line, if any; raise OSError if it cannot be written."""
    if skipped:
        write(path, [("file", "reason"), *skipped])


def escaped(cell: object) -> object:
    """Return a cell without controls, with a leading apostrophe if it is text that a spreadsheet would run."""
    if not isinstance(cell, str):
        return cell
    text = _CONTROL.sub(lambda control: control[0].encode("unicode_escape").decode(), cell)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def plain(cell: Any) -> Any:
    """Remove the apostrophe of :func:`escaped`."""
    is_escaped = isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell)
    return cell[1:] if is_escaped else cell


def rows(source: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield each row as a dictionary by column name, like :class:`csv.DictReader`."""
    for row in csv.DictReader(source):
        yield {plain(name): plain(cell) for name, cell in row.items()}

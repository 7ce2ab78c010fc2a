"""Write and read CSV files in which a spreadsheet runs no text as a formula.

Class names, texts and names of files come from users and from strangers. A spreadsheet runs a cell that begins with
``=``, ``+``, ``-``, ``@``, a tab or a carriage return, so such a text is written with an apostrophe before it (the
advice of OWASP on CSV injection). Numbers stay as they are, and :func:`rows` takes the apostrophe off again.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

# Apostrophes count, so that what is read back is what was written.
_FORMULA = re.compile("'*[=+\\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")


class Writer:
    """A writer of rows, like that of :mod:`csv`."""

    def __init__(self, stream: TextIO) -> None:
        self._writer = csv.writer(stream)

    def writerow(self, cells: Iterable[object]) -> None:
        """Write one row."""
        self._writer.writerow([escape_formula(cell) for cell in cells])

    def writerows(self, rows: Iterable[Iterable[object]]) -> None:
        """Write several rows."""
        for row in rows:
            self.writerow(row)


def write_skipped(path: Path, skipped: Sequence[tuple[str, str]]) -> None:
    """Write ``skipped.csv``, a row for each file or line that was left out; nothing where all was read.

    Raises:
        OSError: it cannot be written.
    """
    if skipped:
        with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as out:
            Writer(out).writerows([("file", "reason"), *skipped])


def escape_formula(cell: object) -> object:
    """Return a cell with an apostrophe before it where it is a text that a spreadsheet would run."""
    runs = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if runs else cell


def plain(cell: Any) -> Any:
    """Return a cell as it was before :func:`escape_formula`."""
    escaped = isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell)
    return cell[1:] if escaped else cell


def rows(source: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield each row by the names of its columns, as :class:`csv.DictReader` does."""
    for row in csv.DictReader(source):
        yield {plain(name): plain(cell) for name, cell in row.items()}

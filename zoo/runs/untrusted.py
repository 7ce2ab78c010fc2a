"""Read run folders that may come from third parties or be incomplete."""

import csv
import itertools
import math
import stat
from pathlib import Path
from typing import Any

from zoo.core import csv_files, files
from zoo.core.errors import ZooError
from zoo.runs import records

MOST_ROWS = 500
MOST_CELLS = 200
MOST_RECORD_BYTES = 32_000_000
MOST_FILE_BYTES = 16_000_000


class Untrusted:
    """A value from JSON; a missing value or a value of the wrong type reads as empty."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def part(self, *keys: str) -> "Untrusted":
        value = self.value
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return Untrusted(value)

    def text(self, *keys: str) -> str:
        """Return a text or a number as text of limited length; empty for other values."""
        value = self.part(*keys).value
        if isinstance(value, bool):
            return str(value).lower()
        small = isinstance(value, int) and abs(value) < 10**30
        return cut(str(value)) if isinstance(value, str | float) or small else ""

    def number(self, *keys: str) -> float | None:
        return finite(self.part(*keys).value)

    def items(self, *keys: str) -> list[tuple[str, "Untrusted"]]:
        value = self.part(*keys).value
        pairs = value.items() if isinstance(value, dict) else ()
        return [(cut(str(key)), Untrusted(item)) for key, item in itertools.islice(pairs, MOST_ROWS)]

    def numbers(self, *keys: str) -> list[tuple[str, float]]:
        """Return the items that are numbers."""
        return [(name, value) for name, row in self.items(*keys) if (value := row.number()) is not None]

    def rows(self, *keys: str) -> list["Untrusted"]:
        value = self.part(*keys).value
        return [Untrusted(item) for item in value[:MOST_ROWS]] if isinstance(value, list) else []

    def words(self, *keys: str) -> list[str]:
        return [text for row in self.rows(*keys) if (text := row.text())]


def finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e30 and math.isfinite(value) else None


def number_in(text: str | None) -> float | None:
    try:
        return finite(float(text or "nan"))
    except ValueError:
        return None


def cut(text: str, most: int = 2_000) -> str:
    """Shorten a text to ``most`` characters, and add the number of omitted characters."""
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} more characters)"


def read_record(folder: Path) -> Untrusted:
    path = folder / records.RECORD
    try:
        size = path.stat().st_size if path.is_file() else 0
    except OSError:
        size = 0  # the problem is reported below
    if size > MOST_RECORD_BYTES:
        raise ZooError(f"{path} has {size:,} bytes and is not the record of a run", "Give another run.")
    return Untrusted(records.as_written(folder))


def read_json(folder: Path, name: str) -> Untrusted:
    path = own_file(folder, name)
    return Untrusted(files.read_json(path, "Give another folder.") if path else None)


def own_file(folder: Path, name: str, most: int = MOST_FILE_BYTES) -> Path | None:
    """Return the path of a regular file (not a link) of at most ``most`` bytes in a folder, or None."""
    path = folder / name
    try:
        status = path.lstat()
    except (OSError, ValueError):  # ValueError: the name contains NUL
        return None
    return path if stat.S_ISREG(status.st_mode) and status.st_size <= most else None


def table(folder: Path, name: str, most: int = MOST_ROWS) -> list[dict[str, str]]:
    """Return the first rows of a CSV file, or an empty list if it is missing or damaged."""
    path = own_file(folder, name)
    if path is None:
        return []
    try:
        with path.open(newline="", encoding="utf-8", errors="replace") as source:
            rows = [list(row.items())[:MOST_CELLS] for row in itertools.islice(csv_files.rows(source), most)]
    except (OSError, csv.Error):
        return []
    return [{key: cut(text) for key, text in row if isinstance(key, str) and isinstance(text, str)} for row in rows]


def text_file(folder: Path, name: str, most: int = 6_000) -> str:
    path = own_file(folder, name, MOST_RECORD_BYTES)
    if path is None:
        return ""
    try:
        with path.open(encoding="utf-8", errors="replace") as source:
            return source.read(most)
    except OSError:
        return ""


def names(folder: Path, *suffixes: str) -> list[str]:
    """Return the sorted names of files with one of these suffixes, at most 48."""
    try:
        paths = sorted(path.name for path in folder.iterdir() if path.suffix.lower() in suffixes)
    except OSError:
        return []
    return [name for name in paths if own_file(folder, name)][:48]

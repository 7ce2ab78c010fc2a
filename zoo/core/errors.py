"""Errors that users see: what is wrong, the value received, what to do."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

INTERRUPTED = 130


class ZooError(Exception):
    """A failure that the user can fix, shown as text without a traceback.

    Args:
        message: what is wrong, with the value received.
        remedy: what to do about it; shown on separate lines.
        exit_code: 130 for an interruption, 1 for all other errors.
    """

    def __init__(self, message: str, remedy: str = "", exit_code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.exit_code = exit_code

    def __str__(self) -> str:
        return f"{self.message}\n{self.remedy}" if self.remedy else self.message

    def on_one_line(self) -> str:
        """Return message and remedy as sentences on one line."""
        end = "" if self.message.endswith(("?", ".")) else "."
        return f"{self.message}{end} {self.remedy}" if self.remedy else self.message


class NoLockError(ZooError):
    """A stack has no lock for a platform."""


class MissingInterpreterError(ZooError):
    """A Python version that a stack needs is not installed and could not be downloaded."""


class UnreachableIndexError(ZooError):
    """A package of a lock is not available from any reachable package index."""


class StorageError(ZooError):
    """A file or folder, ``path``, cannot be read or written; ``__cause__`` is the system's error."""

    def __init__(self, message: str, remedy: str, path: Path) -> None:
        super().__init__(message, remedy)
        self.path = path


def listed(entries: Iterable[str], separator: str = ", ", most: int = 10) -> str:
    """Join the first entries for a message, followed by the number of remaining entries."""
    texts = [text if "\n" in separator else text.replace("\n", "\\n") for text in entries]
    if len(texts) <= most + 1:  # naming the last entry is no longer than counting it
        return separator.join(texts)
    link = "\n  " if "\n" in separator else " "
    return f"{separator.join(texts[:most])}{link}and {len(texts) - most:,} more"


def counted(count: int, noun: str, plural: str = "") -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {plural or noun + 's'}"


def bulleted(problems: Iterable[str]) -> str:
    return listed((f"  - {problem}" for problem in problems), "\n")


def typed(value: Any) -> str:
    """Return a value as users type it on the command line, such as ``null`` or ``[a,b]``; text gets quotes."""
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)


def nearest(word: str, valid: list[str]) -> str:
    """Return ``; did you mean 'x'?`` for the closest valid word, or an empty string."""
    match = closest(word, valid)
    return f"; did you mean {match!r}?" if match else ""


def closest(word: str, valid: list[str]) -> str | None:
    """Return the most similar valid word in either case, or None; a near match after the first ``_`` wins."""
    import difflib

    whole = {name.lower(): name for name in valid}
    names = {name.partition("_")[2].lower(): name for name in valid if "_" in name} | whole
    if near := difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.85):
        return names[near[0]]
    return whole.get(next(iter(difflib.get_close_matches(word.lower(), whole, n=1)), ""))


def not_installed(error: ImportError) -> ZooError | None:
    """Return the error for a Python without the zoo's dependencies, or None if a module of the zoo is missing."""
    import sys

    if not error.name or error.name.partition(".")[0] == "zoo":
        return None
    return ZooError(
        f"{sys.executable} lacks {error.name}, which this program needs",
        "Start it in its own environment: python3 scripts/run.py python -m zoo ... (stacks lack it, too)",
    )


def require_known(kind: str, names: Iterable[str], valid: Collection[str]) -> None:
    """Raise the error of :func:`unknown` for the first name that is not valid."""
    for name in names:
        if name not in valid:
            raise unknown(kind, name, list(valid))


def unknown(kind: str, word: str, valid: list[str]) -> ZooError:
    remedy = f"Choose one of: {listed(sorted(valid))}" if valid else f"No {kind} is stored there."
    return ZooError(f"There is no {kind} called {word!r}{nearest(word, valid)}", remedy)

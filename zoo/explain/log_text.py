"""The text of a log, made searchable: without escapes, and in time that grows with its length and no faster.

A pattern is looked for only where all its words stand in the log, so hundreds of patterns cost little more than one.
"""

import functools
import re
from collections.abc import Iterator

BEFORE, AFTER = 400, 800
# A pattern that stands in a log thousands of times says no more than in its first and last places.
PLACES = 200
LINE, LONGEST = 300, 4000
CHUNK, OVERLAP = 1 << 22, 256
WORD = re.compile(rb"[a-z_]+")
ESCAPE = re.compile(rb"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,256}(?:\x07|\x1b\\)|[@-Z^_])")
SPACES = bytes(value if chr(value) in "abcdefghijklmnopqrstuvwxyz_" else 32 for value in range(256))
# Logs are pasted through editors that exchange quotes and spaces; files of PowerShell have a NUL after each letter.
REPLACED = (
    (b"\0", b""),
    (b"\x08", b""),
    (b"\r\n", b"\n"),
    (b"\r", b"\n"),
    ("\u2018".encode(), b"'"),
    ("\u2019".encode(), b"'"),
    ("\u201c".encode(), b'"'),
    ("\u201d".encode(), b'"'),
    ("\u00a0".encode(), b" "),
)


class LogText:
    """A log as bytes, and the same in lower case; bytes, since ``lower`` leaves every place where it was."""

    def __init__(self, text: str) -> None:
        self.data = _clean(text.encode("utf-8", errors="replace"))
        self.low = self.data.lower()
        self.words = _words(self.low)
        self.vocabulary = b" ".join(self.words)

    def may_have(self, pattern: bytes) -> bool:
        """Whether the words of a pattern stand somewhere in the log."""
        whole, cut = _pattern_words(pattern)
        return self.words.issuperset(whole) and all(word in self.vocabulary for word in cut)

    def has(self, pattern: str) -> bool:
        """Whether a pattern stands anywhere in the log."""
        wanted = pattern.lower().encode()
        return self.may_have(wanted) and wanted in self.low

    def places(self, pattern: str) -> Iterator[int]:
        """Where a pattern stands: its first places and, of very many, its last."""
        wanted = pattern.lower().encode()
        if not self.may_have(wanted):
            return
        first = -1
        for _ in range(PLACES):
            first = self.low.find(wanted, first + 1)
            if first < 0:
                return
            yield first
        yield from self._last_places(wanted, first)

    def _last_places(self, wanted: bytes, after: int) -> Iterator[int]:
        place = len(self.low)
        for _ in range(PLACES):
            place = self.low.rfind(wanted, after + 1, place)
            if place < 0:
                return
            yield place

    def around(self, place: int, length: int, lines: int) -> str:
        """The line of a place, with as many lines before and after it as asked for."""
        before = self.data[max(0, place - BEFORE) : place].split(b"\n")[-1 - lines :]
        after = self.data[place : place + length + AFTER].split(b"\n")[: 1 + lines]
        return _decoded(b"\n".join(before) + b"\n".join(after))

    def line_start(self, place: int) -> int:
        """The beginning of the line of a place, or of what is near it where the line is very long."""
        return max(self.data.rfind(b"\n", max(0, place - LONGEST), place) + 1, place - LONGEST)

    def line(self, start: int, place: int) -> str:
        """The line of a place, and not too much of it."""
        begin = start
        if place - start > LINE // 2:
            # A line that is cut begins with a whole word.
            begin = self.data.find(b" ", place - LINE // 2, place) + 1 or place - LINE // 2
        return printable(_decoded(self.data[begin : begin + LINE]).partition("\n")[0])

    def number(self, place: int) -> int:
        """The number of the line of a place; lines count from 1."""
        return self.data.count(b"\n", 0, place) + 1


def printable(text: str) -> str:
    """A text without what a terminal might obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


def _clean(data: bytes) -> bytes:
    if b"\x1b" in data:
        data = ESCAPE.sub(b"", data)
    for old, new in REPLACED:
        data = data.replace(old, new)
    return data


def _words(low: bytes) -> set[bytes]:
    words: set[bytes] = set()
    for begin in range(0, len(low), CHUNK):
        words.update(low[begin : begin + CHUNK + OVERLAP].translate(SPACES).split())
    return words


@functools.cache
def _pattern_words(pattern: bytes) -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    """The words of a pattern, and those at its ends, which may be parts of longer words in a log."""
    words = list(WORD.finditer(pattern))
    cut = tuple(word.group() for word in words if word.start() == 0 or word.end() == len(pattern))
    return frozenset(word.group() for word in words if word.group() not in cut), cut


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")

"""A searchable log without escape sequences, with searches in linear time.

A pattern is searched for only if all its words occur in the log, so hundreds of patterns take little more time than
one.
"""

import functools
import re

from zoo.core import paths, schema

BEFORE, AFTER = 400, 800
# Only the first and last matches of thousands are needed.
PLACES = 200
ENDING = 1 << 16
LINE, LONGEST = 300, 4000
CHUNK, OVERLAP = 1 << 22, 256
WORD = re.compile(rb"[a-z_]+")
ESCAPE = re.compile(rb"\x1b(?:\[[0-?]{0,32}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,256}(?:\x07|\x1b\\)|[@-Z^_])")
INSIDE = (
    "Either versions of packages do not fit each other, or an unexpected file or argument was passed. "
    "Compare the versions with those that the program requires, and install releases that belong together."
)
SPACES = bytes(value if chr(value) in "abcdefghijklmnopqrstuvwxyz_" else 32 for value in range(256))
# Editors replace quotes and spaces in pasted logs; files of PowerShell have a NUL after each letter.
REPLACED = (
    (b"\0", b""), (b"\x08", b""), (b"\r\n", b"\n"), (b"\r", b"\n"),
    ("\u2018".encode(), b"'"), ("\u2019".encode(), b"'"), ("\u201c".encode(), b'"'), ("\u201d".encode(), b'"'),
    ("\u00a0".encode(), b" "),
)  # fmt: skip


class LogText:
    """A log as bytes, and in lower case; ``lower`` keeps all positions of bytes."""

    def __init__(self, text: str) -> None:
        data = text.encode("utf-8", errors="replace")
        data = ESCAPE.sub(b"", data) if b"\x1b" in data else data
        for old, new in REPLACED:
            data = data.replace(old, new)
        self.data, self.low = data, data.lower()
        self.words = set[bytes]()
        for begin in range(0, len(self.low), CHUNK):
            self.words.update(self.low[begin : begin + CHUNK + OVERLAP].translate(SPACES).split())
        self.vocabulary = b" ".join(word for word in self.words if len(word) < LONGEST)

    def has(self, pattern: str) -> bool:
        wanted = pattern.lower().encode()
        whole, cut = _pattern_words(wanted)
        return self.words.issuperset(whole) and all(word in self.vocabulary for word in cut) and wanted in self.low

    def places(self, pattern: str) -> list[int]:
        """Return the positions of a pattern; if there are many, only the first and last :data:`PLACES`."""
        places = [at.start() for at in re.finditer(re.escape(pattern.lower().encode()), self.low)]
        return places[:PLACES] + places[PLACES:][-PLACES:]

    def around(self, place: int, length: int, lines: int) -> str:
        """Return the line at a position, with ``lines`` more before and after it."""
        before = self.data[max(0, place - BEFORE) : place].split(b"\n")[-1 - lines :]
        after = self.data[place : place + length + AFTER].split(b"\n")[: 1 + lines]
        return (b"\n".join(before) + b"\n".join(after)).decode(errors="replace")

    def line_start(self, place: int) -> int:
        """Return the start of the line of a position, or a position nearby in a very long line."""
        return max(self.data.rfind(b"\n", max(0, place - LONGEST), place) + 1, place - LONGEST)

    def line(self, place: int) -> str:
        begin = self.line_start(place)
        if place - begin > LINE // 2:
            # Cut at the start of a word.
            begin = self.data.find(b" ", place - LINE // 2, place) + 1 or place - LINE // 2
        return printable(self.data[begin : begin + LINE].decode(errors="replace").partition("\n")[0])

    def is_source(self, place: int) -> bool:
        """Return True if the line is source code that a traceback quotes, below its file and line number."""
        start = self.line_start(place)
        above = self.line_start(max(0, start - 1))
        quoted = self.data.startswith(b"    ", start) and kind("frame").match(self.data, above, start)
        return bool(quoted or kind("numbered").match(self.data, start))

    def last_exception(self) -> tuple[int, str]:
        """Return the line number and text of the last exception near the end, or 0 and no text."""
        places = [match.start() for match in kind("exception").finditer(self.data, max(0, len(self.data) - ENDING))]
        return (
            (self.number(places[-1]), self.data[places[-1] :][:AFTER].decode(errors="replace")) if places else (0, "")
        )

    def origin(self, place: int) -> dict[str, str]:
        """Return ``where`` the frames above a position lie, and a command that shows the ``versions``."""
        begin = max(self.data.rfind(b"Traceback (most", 0, place), place - ENDING, 0)
        own, packages = "", dict[str, None]()
        for at in kind("place").finditer(self.data, begin, place):
            frame = printable(b"".join(at.groups(b"")).decode(errors="replace")).replace('"', "")
            if installed := kind("installed").search(frame.encode()):
                packages = {installed[1].decode(): None} | packages
            elif not kind("standard").search(frame.encode()):
                own, packages = frame, {}
        if not packages:
            return {"where": f"The error arises in {own}."} if own else {}
        packages |= dict.fromkeys(name.decode() for name in kind("named").findall(self.line(place).encode()))
        names = list(packages)[:3]
        called = f" The program calls it in {own}." if own else ""
        where = f"The last frames are inside {' and '.join(names)}. {INSIDE}{called}"
        return {"where": where, "versions": f"python -m pip show {' '.join(names)}"}

    def number(self, place: int) -> int:
        return self.data.count(b"\n", 0, place) + 1


@functools.cache
def kind(name: str) -> re.Pattern[bytes]:
    """Return the expression of ``lines.yaml`` for a kind of line or a part of it."""
    return re.compile(schema.read_yaml(paths.PACKAGE / "explain" / "lines.yaml")[name].encode(), re.MULTILINE)


def printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


@functools.cache
def _pattern_words(pattern: bytes) -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    """Return the inner words of a pattern, and those at its ends, which may be cut off."""
    words = list(WORD.finditer(pattern))
    cut = tuple(word.group() for word in words if word.start() == 0 or word.end() == len(pattern))
    return frozenset(word.group() for word in words if word.group() not in cut), cut

"""What is known of the libraries of macOS: which symbols were seen in which versions.

The facts stand in ``macos.txt``. A section is one library on one architecture::

    arm64 /usr/lib/libobjc.A.dylib
    looked at 11.3 12.0 14.2
    11.3-14.2 _objc_alloc _objc_msgSend
    12.0-14.2 _objc_retain_x1
    11.2 lacks _objc_alloc

``looked at`` names the SDKs whose whole list of symbols of the library was read: a symbol of the section that is
not in the list of an SDK is not in that macOS, and neither is one on a line with ``lacks``. The other lines give the
first and the last version in which symbols were seen: in such a list, or bound by a binary that was linked with that
SDK, whose linker therefore had them. Of symbols that stand nowhere in the file, nothing is known.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FACTS = Path(__file__).resolve().with_name("macos.txt")
PRESENT, ABSENT, UNKNOWN = "present", "absent", "unknown"
# A library as such, seen or not.
LIBRARY = ""

Version = tuple[int, ...]


@dataclass
class LibraryFacts:
    """What is known of one library: SDKs that were read whole, when symbols were seen, and when not."""

    looked_at: set[Version] = field(default_factory=set)
    lacking: dict[Version, set[str]] = field(default_factory=dict)
    seen: dict[str, tuple[Version, Version]] = field(default_factory=dict)

    def add(self, symbol: str, version: Version) -> None:
        """Enter that a symbol was seen in a version."""
        first, last = self.seen.get(symbol, (version, version))
        self.seen[symbol] = min(first, version), max(last, version)

    def state(self, symbol: str, version: Version) -> str:
        """Return PRESENT, ABSENT or UNKNOWN for a symbol in a version of macOS.

        A symbol that was seen before and after a version is taken to be there, one that a list of the same time
        lacks is not.
        """
        if symbol not in self.seen:  # Nobody looked for it.
            return UNKNOWN
        without = {at for at in self.looked_at if symbol != LIBRARY}
        without |= {at for at, symbols in self.lacking.items() if symbol in symbols}
        first, last = self.seen[symbol]
        if first <= version <= last:
            return PRESENT
        near = [at for at in without if (version <= at < first if version < first else last < at <= version)]
        return ABSENT if near else UNKNOWN


Facts = dict[tuple[str, str], LibraryFacts]


def version(text: str) -> Version:
    """Return a version of macOS such as ``"12.3"`` as numbers."""
    major, minor = re.fullmatch(r"(\d+)\.(\d+)", text).groups()  # type: ignore[union-attr]
    return int(major), int(minor)


def text(number: Version) -> str:
    """Return a version as text."""
    return ".".join(map(str, number))


def read(path: Path = FACTS) -> Facts:
    """Return the facts of a file."""
    facts: Facts = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        head, _, rest = line.partition(" ")
        if not line or head == "#":
            continue
        if rest.startswith(("/", "@")):
            current = facts.setdefault((head, rest), LibraryFacts())
        elif head == "looked":
            current.looked_at = {version(word) for word in rest.split()[1:]}
        elif rest.startswith("lacks "):
            current.lacking.setdefault(version(head), set()).update(rest.split()[1:])
        else:
            first, last = (version(word) for word in head.split("-"))
            current.seen |= {name.replace(ITSELF, LIBRARY): (first, last) for name in rest.split()}
    return facts


# How the file spells the library as such.
ITSELF = "(itself)"


def lines(facts: Facts, width: int = 110) -> Iterator[str]:
    """Yield the lines of a file of facts, without its comment."""
    for (arch, library), known in sorted(facts.items()):
        yield ""
        yield f"{arch} {library}"
        if known.looked_at:
            yield "looked at " + " ".join(map(text, sorted(known.looked_at)))
        for at, symbols in sorted(known.lacking.items()):
            yield f"{text(at)} lacks {' '.join(sorted(symbols))}"
        spans: dict[tuple[Version, Version], list[str]] = {}
        for symbol, span in sorted(known.seen.items()):
            spans.setdefault(span, []).append(symbol or ITSELF)
        for (first, last), names in sorted(spans.items()):
            head = f"{text(first)}-{text(last)}"
            line = head
            for name in names:
                if line != head and len(line) + len(name) >= width:
                    yield line
                    line = head
                line += f" {name}"
            yield line

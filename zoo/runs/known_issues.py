"""Explaining a log: which known issues its lines are signs of, why they happen and what to do.

The knowledge is data, ``known_issues.yaml``. Plain texts are searched for, and a regular expression only looks
at the few hundred characters around one that was found, so the time grows with the log's length and no faster.
"""

import dataclasses
import functools
import re
from collections.abc import Iterator

from zoo.core import paths, schema

BEFORE, AFTER = 300, 500
# A text that stands in a log thousands of times says no more than in its first places.
PLACES = 200
LINE = 300


@dataclasses.dataclass(frozen=True)
class Issue:
    """One entry of ``known_issues.yaml``; the keys are explained at its top."""

    id: str
    backends: list[str]
    effect: str
    cause: str
    remedy: str
    command: str
    source: str
    says: list[str] = dataclasses.field(default_factory=list)
    near: str = ""
    lines: int = 0
    probe: str = ""
    vague: bool = False


@dataclasses.dataclass(frozen=True)
class Finding:
    """A line that is explained: what it means, what to type and who says so. ``number`` counts from 1."""

    id: str
    cause: str
    remedy: str
    command: str
    source: str
    effect: str
    line: str
    number: int

    @property
    def harmless(self) -> bool:
        """True where nothing needs to be done."""
        return self.effect == "harmless"


def explain(text: str, backend: str | None = None) -> list[Finding]:
    """Find the known issues in a log.

    Args:
        text: what was printed, of any length.
        backend: the backend that ran, where it is known; issues of others are left out. ``cpu`` runs any
            stack, so there nothing is left out.

    Returns:
        One finding an issue, in the order of ``known_issues.yaml``; empty where nothing is known.
    """
    data = text.encode("utf-8", errors="replace")
    # Bytes, since lower() there leaves every place where it was.
    low = data.lower()
    claimed: dict[int, list[Issue]] = {}
    found = []
    for issue in _concerning(backend):
        places = [place for place in _places(issue, data, low) if not _taken(issue, claimed.get(place, []))]
        if places:
            found.append(_finding(issue, data, places[0]))
        for place in places:
            claimed.setdefault(place, []).append(issue)
    return found


def render(findings: list[Finding]) -> str:
    """The findings as text for people, what needs doing first; without any, what to add to a report."""
    if not findings:
        return (
            "Nothing in this log is a known issue.\n"
            "To report it, attach the whole log, the output of `python -m zoo doctor --json` and, of a run, run.json."
        )
    ordered = sorted(findings, key=lambda found: found.harmless)
    return "\n\n".join("\n".join(_told(found)) for found in ordered)


def _told(found: Finding) -> list[str]:
    what = "harmless" if found.harmless else found.effect
    lines = [f"line {found.number}: {found.line}", f"  {what}: {found.cause}", f"  what to do: {found.remedy}"]
    lines += [f"    {found.command}"] if found.command else []
    return [*lines, f"  source: {found.source} ({found.id})"]


@functools.cache
def issues() -> tuple[Issue, ...]:
    """All known issues, in the order in which they are looked for."""
    return tuple(Issue(**row) for row in schema.read(paths.PACKAGE / "runs" / "known_issues.yaml"))


def _concerning(backend: str | None) -> list[Issue]:
    if backend in (None, "cpu"):
        return [issue for issue in issues() if not issue.vague]
    return [issue for issue in issues() if backend in issue.backends or not issue.backends]


def _taken(issue: Issue, before: list[Issue]) -> bool:
    """True where an earlier issue for the same backend has explained the line already."""
    return any(
        not (issue.backends and other.backends) or set(issue.backends) & set(other.backends) for other in before
    )


def _places(issue: Issue, data: bytes, low: bytes) -> Iterator[int]:
    """The beginnings of the lines in which an issue shows."""
    near = _compiled(issue.near) if issue.near else None
    for say in issue.says:
        wanted = say.lower().encode()
        place = low.find(wanted)
        for _ in range(PLACES):
            if place < 0:
                break
            if near is None or near.search(_around(issue, data, place, place + len(wanted))):
                yield data.rfind(b"\n", 0, place) + 1
            place = low.find(wanted, place + 1)


def _around(issue: Issue, data: bytes, begin: int, end: int) -> str:
    """The line of a text that was found, with as many before and after it as the issue wants to see."""
    before = data[max(0, begin - BEFORE) : begin].split(b"\n")[-1 - issue.lines :]
    after = data[end : end + AFTER].split(b"\n")[: 1 + issue.lines]
    return (b"\n".join(before) + data[begin:end] + b"\n".join(after)).decode("utf-8", errors="replace")


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _finding(issue: Issue, data: bytes, place: int) -> Finding:
    line = data[place : place + LINE].decode("utf-8", errors="replace").partition("\n")[0].strip()
    number = data.count(b"\n", 0, place) + 1
    return Finding(issue.id, issue.cause, issue.remedy, issue.command, issue.source, issue.effect, line, number)

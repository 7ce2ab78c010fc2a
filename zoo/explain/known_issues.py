"""Explaining a log: which known issues its lines are signs of, why they happen and what to do.

The knowledge is data: ``issues/SUBJECT.yaml``. Plain texts are searched for, and a regular expression only sees the
few hundred characters around one that was found, so the time grows with the log's length and no faster.
"""

import dataclasses
import functools
import graphlib
import re
from collections.abc import Iterator

from zoo.core import paths, schema
from zoo.explain import log_clues
from zoo.explain.log_text import LogText, printable

# In an entry's sentences {name} stands for the group of that name, {name,other|else} for the first that was read.
FIELD = re.compile(r"\{([\w,]+)(?:\|([^{}]*))?\}")
VALUE = 120


@dataclasses.dataclass(frozen=True)
class Issue:
    """One entry of ``issues/SUBJECT.yaml``: what goes wrong with Keras on a GPU, and what to do about it.

    Attributes:
        backends: that it concerns; empty for all.
        effect: ``fatal``, ``silent-wrong``, ``silent-cpu``, ``slow`` or ``harmless``.
        source: ``owner/repository#number``, a document, or ``measured``: found by trials of this project on Linux or
            by reading the published wheels.
        excerpt: what a user's log looks like, with the first of the backends if there is one.
        before: ids of issues that do not explain a line that this one explains. A line is explained once, so a
            special case comes before a more general one.
        patterns: texts to search for, in any case; one of them must be in the log.
        context_pattern: a regular expression for the line of such a text (400 characters before it, 800 after), where
            the text alone is not enough. ``cause``, ``remedy`` and ``command`` may use its named groups: ``{name}``,
            or ``{name|what to write without it}``.
        unless: a regular expression; where it matches the same lines, they are not a sign of this issue.
        details: regular expressions that only read more groups from the same lines.
        requires: texts of which one must be in the log.
        absent: texts of which none may be in the log.
        replaces: ids of issues that are not reported next to this one.
        lines: how many lines before and after the line of the text the expressions see as well.
        probe: in place of ``patterns``: the check of the worker that finds an issue which is never printed.
        vague: the text means this only where one of these backends is known to have run.
        general: reported only where no special issue explains the log, and only the first of them.
    """

    id: str
    backends: list[str]
    effect: str
    cause: str
    remedy: str
    command: str
    source: str
    excerpt: str = ""
    before: list[str] = dataclasses.field(default_factory=list)
    patterns: list[str] = dataclasses.field(default_factory=list)
    context_pattern: str = ""
    unless: str = ""
    details: list[str] = dataclasses.field(default_factory=list)
    requires: list[str] = dataclasses.field(default_factory=list)
    absent: list[str] = dataclasses.field(default_factory=list)
    replaces: list[str] = dataclasses.field(default_factory=list)
    lines: int = 0
    probe: str = ""
    vague: bool = False
    general: bool = False


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
        One finding an issue, by line; empty where nothing is known.
    """
    log = LogText(text)
    claimed: dict[int, list[Issue]] = {}
    findings: dict[str, Finding] = {}
    for issue in _concerning(backend):
        matches = [match for match in _matches(issue, log) if not _taken(issue, claimed.get(match[0], []))]
        if matches:
            findings[issue.id] = _finding(issue, log, *matches[0])
        for line, _, _ in matches:
            claimed.setdefault(line, []).append(issue)
    return _without_replaced(findings)


def _without_replaced(findings: dict[str, Finding]) -> list[Finding]:
    """Leave out what a special issue says better than a general one; of general ones keep the first."""
    matched = [issue for issue in issues() if issue.id in findings]
    replaced = {name for issue in matched for name in issue.replaces}
    general = [issue.id for issue in matched if issue.general and issue.id not in replaced]
    special = any(not issue.general and issue.effect != "harmless" and issue.id not in replaced for issue in matched)
    replaced |= set(general if special else general[1:])
    kept = (finding for name, finding in findings.items() if name not in replaced)
    return sorted(kept, key=lambda finding: finding.number)


def render(findings: list[Finding], text: str = "") -> str:
    """The findings as text for people, what needs doing first; without any, what the log itself shows."""
    if not findings:
        return log_clues.render(text)
    ordered = sorted(findings, key=lambda finding: finding.harmless)
    return "\n\n".join("\n".join(_lines(finding)) for finding in ordered)


def _lines(finding: Finding) -> list[str]:
    effect = "harmless" if finding.harmless else finding.effect
    lines = [
        f"line {finding.number}: {finding.line}",
        f"  {effect}: {finding.cause}",
        f"  what to do: {finding.remedy}",
    ]
    lines += [f"    {finding.command}"] if finding.command else []
    return [*lines, f"  source: {finding.source} ({finding.id})"]


@functools.cache
def issues() -> tuple[Issue, ...]:
    """Return all known issues in the order in which they are searched for, general ones last."""
    files = sorted((paths.PACKAGE / "explain" / "issues").glob("*.yaml"))
    return in_order([Issue(**row) for file in files for row in schema.read_yaml(file)])


def in_order(unordered: list[Issue]) -> tuple[Issue, ...]:
    """Sort issues as their ``before`` says, general ones last.

    Raises:
        graphlib.CycleError: they say that an issue comes before itself.
    """
    by_id = {issue.id: issue for issue in unordered}
    order: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter(dict.fromkeys(by_id, ()))
    for issue in unordered:
        for later in issue.before:
            order.add(later, issue.id)
    return tuple(sorted((by_id[name] for name in order.static_order()), key=lambda issue: issue.general))


def _concerning(backend: str | None) -> list[Issue]:
    if backend in (None, "cpu"):
        return [issue for issue in issues() if not issue.vague]
    return [issue for issue in issues() if backend in issue.backends or not issue.backends]


def _taken(issue: Issue, before: list[Issue]) -> bool:
    """True where an earlier issue for the same backend has explained the line already."""
    return any(
        not (issue.backends and other.backends) or set(issue.backends) & set(other.backends) for other in before
    )


def _matches(issue: Issue, log: LogText) -> Iterator[tuple[int, int, dict[str, str]]]:
    """The lines in which an issue shows, the places in them, and what was read there."""
    if (issue.requires and not any(map(log.has, issue.requires))) or any(map(log.has, issue.absent)):
        return
    for pattern in issue.patterns:
        for place in log.places(pattern):
            values = _values(issue, log.around(place, len(pattern), issue.lines))
            if values is not None:
                yield log.line_start(place), place, values


def _values(issue: Issue, context: str) -> dict[str, str] | None:
    """What the groups of an issue's expression read in a context; None where it is no sign of the issue."""
    if issue.unless and _compiled(issue.unless).search(context):
        return None
    if issue.context_pattern and not _compiled(issue.context_pattern).search(context):
        return None
    matches = [_compiled(pattern).search(context) for pattern in (*issue.details, issue.context_pattern)]
    groups = [item for match in matches if match for item in match.groupdict().items()]
    return {name: printable(value)[:VALUE].rstrip(".,:") for name, value in reversed(groups) if value}


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _finding(issue: Issue, log: LogText, start: int, place: int, values: dict[str, str]) -> Finding:
    cause, remedy, command = (_filled(text, values) for text in (issue.cause, issue.remedy, issue.command))
    line, number = log.line(start, place), log.number(place)
    return Finding(issue.id, cause, remedy, command, issue.source, issue.effect, line, number)


def _filled(text: str, values: dict[str, str]) -> str:
    filled = FIELD.sub(lambda field: _first(field[1].split(","), values) or field[2] or "", text)
    return re.sub(r" +(?= |[.,:;)](?:\s|$))", "", filled)


def _first(names: list[str], values: dict[str, str]) -> str:
    return next((values[name] for name in names if name in values), "")

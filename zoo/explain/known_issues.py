"""Explain a log: find known issues in its lines, with their causes and remedies.

The issues are in ``issues/SUBJECT.yaml``. They are found by plain text. Regular expressions are only applied to a few
hundred characters around a match, so the time is linear in the length of the log.
"""

import dataclasses
import functools
import graphlib
import itertools
import re
from collections.abc import Iterator

from zoo.core import paths, schema
from zoo.explain import keras_names, log_clues
from zoo.explain.log_text import LogText, kind, printable

# In the texts of an issue, {name} is replaced by a group, and {name,other|else} by the first group with a value.
FIELD = re.compile(r"\{([\w,]+)(?:\|([^{}]*))?\}")
VALUE = 120
SECOND = "Other known lines of this log. They can be consequences, or not related to the failure:"


@dataclasses.dataclass(frozen=True)
class Issue:
    """One entry of ``issues/SUBJECT.yaml``: a problem with Keras on a GPU, and its remedy.

    Attributes:
        backends: affected backends; empty for all.
        effect: ``fatal``, ``silent-wrong``, ``silent-cpu``, ``slow`` or ``harmless``.
        source: ``owner/repository#number``, a document, or ``measured`` (found by this project).
        excerpt: an example of a log, from the first backend if any.
        before: ids of more general issues. A line is explained once, and this issue takes precedence over them.
        patterns: texts in lower case to search for, ignoring case; one of them must be in the log.
        context_pattern: a regular expression that must match the line of a text as well. The messages may use its
            groups, ``where`` and ``versions`` (see ``LogText.origin``): ``{name}``, or ``{name|alternative}``.
        unless: a regular expression; if it matches the same lines, the issue is excluded.
        details: regular expressions for further groups from the same lines.
        requires: texts of which one must be in the log.
        absent: texts that must not be in the log.
        replaces: ids of issues that are not reported together with this one.
        lines: number of additional lines before and after the match for the expressions.
        probe: instead of ``patterns``, the worker's check that detects a silent issue.
        vague: whether one of the backends must be known to have run.
        general: whether to report the issue only if no special or earlier general issue explains the log.
        rank: the general issue with the lowest rank is reported. Subjects have rank 0 (from the last exception on, if
            any), and forms of messages rank 1 (the last). Consequences have rank 2, and places in libraries rank 3.
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
    rank: int = 0


@dataclasses.dataclass(frozen=True)
class Finding:
    """An explained line, with cause, remedy and source. ``number`` counts from 1."""

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
        return self.effect == "harmless"


def explain(text: str, backend: str | None = None) -> list[Finding]:
    """Return a finding for each known issue in a log: those of its last exception first, harmless ones last.

    Issues of backends other than ``backend``, if known, are excluded. With ``cpu``, which runs any stack, none are.
    """
    log = LogText(text)
    claimed: dict[int, list[Issue]] = {}
    findings: dict[str, Finding] = {}
    for issue in _concerning(backend, log):
        matches = [match for match in _matches(issue, log) if not _taken(issue, claimed.get(match[0], []))]
        if matches:
            _, place, values = matches[-1 if issue.rank == 1 else 0]
            values = log.origin(place) | values
            values |= keras_names.releases(values) if "{releases" in issue.cause else {}
            cause, remedy, command = (_filled(text, values) for text in (issue.cause, issue.remedy, issue.command))
            shown = (issue.source, issue.effect, log.line(place), log.number(place))
            findings[issue.id] = Finding(issue.id, cause, remedy, command, *shown)
        for line, _, _ in matches:
            claimed.setdefault(line, []).append(issue)
    last, message = log.last_exception()
    chained = log.has("above exception") or any(issue.rank == 2 for issue in issues() if issue.id in findings)
    chained |= any(_is("prevented", f"{row.line}\n{message}") for row in findings.values())
    forms = {issue.id for issue in issues() if issue.general and issue.rank < 2 and not chained}
    kept = {name: row for name, row in findings.items() if row.number >= last or not _unrelated(row, message, forms)}
    return _without_replaced(kept, 0 if chained else last, message)


def _unrelated(finding: Finding, message: str, forms: set[str]) -> bool:
    weak = (finding.id in forms and not finding.line.startswith("File ")) or _is("warning", finding.line)
    return bool(weak) and not finding.harmless and not _related(finding.line, message)


def _related(one: str, other: str) -> bool:
    """Return True if both lines name a device or share a word, or if the other one only reports or follows from it."""
    words, others = (set(kind("word").findall(text.lower().encode())) for text in (one, other))
    both = _is("device", one) and _is("device", other)
    return both or not words.isdisjoint(others) or _is("prevented", f"{one}\n{other}") or _is("reporting", other)


def _is(name: str, line: str) -> bool:
    return bool(kind(name).search(line.encode()))


def _without_replaced(findings: dict[str, Finding], ending: int, message: str) -> list[Finding]:
    """Drop findings that a special issue explains better, and all general findings except one (see ``rank``).

    A special issue that is not related to the last exception (line ``ending``) does not hide a general one.
    """
    matched = [issue for issue in issues() if issue.id in findings]
    replaced = {name for issue in matched for name in issue.replaces}
    general = [issue for issue in matched if issue.general and issue.id not in replaced]
    at = {name: finding.number for name, finding in findings.items()}
    general.sort(key=lambda issue: (issue.rank, {0: at[issue.id] < ending, 1: -at[issue.id]}.get(issue.rank, 0)))
    others = {issue.id for issue in matched if issue.general or issue.effect == "harmless"} | replaced
    special = [(findings[issue.id], issue.lines) for issue in matched if issue.id not in others]
    hides = any(row.number + lines >= ending or _related(row.line, message) for row, lines in special)
    replaced |= {issue.id for issue in (general if hides else general[1:])}
    broader = {name for issue in matched for name in issue.before}
    kept = (row for name, row in findings.items() if name not in replaced)
    return sorted(kept, key=lambda row: (row.harmless, row.number < ending, row.id in broader, row.number))


def render(findings: list[Finding], text: str = "") -> str:
    """Return the findings as text; without any, return clues from the log itself."""
    parts = ["\n".join(_lines(finding)) for finding in findings]
    known = [row for row in findings if not row.harmless]
    clues = log_clues.find(text)
    before = (clues.number not in (0, row.number) if row.harmless else row.number < clues.start for row in findings)
    unexplained = all(before) and not any(_related(row.line, clues.line) for row in known)
    if unexplained and known:
        return "\n\n".join([clues.render(known=True), SECOND, *parts])
    parts[1:1] = [SECOND] * (len(known) > 1)
    return "\n\n".join([*parts, *([clues.render(known=False)] * unexplained)])


def _lines(row: Finding) -> list[str]:
    likely = ", possible causes" if _is("several", row.cause) else ", probable cause"
    label = ", cause not known" if row.cause.startswith("General meaning") else likely
    effect = row.effect if row.harmless else row.effect + label
    return [
        f"line {row.number}: {row.line}", f"  {effect}: {row.cause}", f"  what to do: {row.remedy}",
        *([f"    {row.command}"] if row.command else []), f"  source: {row.source} ({row.id})",
    ]  # fmt: skip


@functools.cache
def issues() -> tuple[Issue, ...]:
    """Return all known issues in search order, general issues last."""
    path = paths.PACKAGE / "explain" / "issues"
    rows = [row for file in sorted(path.glob("*.yaml")) for row in schema.read_yaml(file)]
    schema.refuse("folder", path, [why for row in rows for why in schema.violations(row, Issue, f"{row.get('id')}.")])
    return in_order([Issue(**row) for row in rows])


def in_order(unordered: list[Issue]) -> tuple[Issue, ...]:
    """Sort issues by their ``before``, general issues last; raise CycleError for a cycle."""
    by_id = {issue.id: issue for issue in unordered}
    order: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter(dict.fromkeys(by_id, ()))
    for issue in unordered:
        for later in issue.before:
            order.add(later, issue.id)
    ordered = (by_id[name] for name in order.static_order())
    return tuple(sorted(ordered, key=lambda issue: (issue.general, issue.rank)))


def _concerning(backend: str | None, log: LogText) -> list[Issue]:
    candidates = [issue for issue in issues() if any(map(log.has, issue.patterns))]
    if backend in (None, "cpu"):
        return [issue for issue in candidates if not issue.vague]
    return [issue for issue in candidates if backend in issue.backends or not issue.backends]


def _taken(issue: Issue, before: list[Issue]) -> bool:
    """Return True if an earlier issue for the same backend has explained the line."""
    own = set(issue.backends)
    return any(not own or not other.backends or own & set(other.backends) for other in before)


def _matches(issue: Issue, log: LogText) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Yield the lines that show an issue, the positions in them, and the groups."""
    if (issue.requires and not any(map(log.has, issue.requires))) or any(map(log.has, issue.absent)):
        return
    for pattern in filter(log.has, issue.patterns):
        for place in itertools.filterfalse(log.is_source, log.places(pattern)):
            values = _values(issue, log.around(place, len(pattern), issue.lines))
            if values is not None:
                yield log.line_start(place), place, values


def _values(issue: Issue, context: str) -> dict[str, str] | None:
    unwanted = issue.unless and _compiled(issue.unless).search(context)
    if unwanted or not _compiled(issue.context_pattern).search(context):
        return None
    matches = [_compiled(pattern).search(context) for pattern in (*issue.details, issue.context_pattern)]
    groups = [item for match in matches if match for item in match.groupdict().items()]
    return {name: printable(value)[:VALUE].rstrip(".,:") for name, value in reversed(groups) if value}


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _filled(text: str, values: dict[str, str]) -> str:
    filled = FIELD.sub(lambda at: next((values[key] for key in at[1].split(",") if key in values), at[2] or ""), text)
    return re.sub(r"^ | +(?= |[.,:;)](?:\s|$))", "", filled)

"""Check that evidence can be true: places and steps that exist, text without markup, and possible numbers.

A careful forger passes all of it, so that a maintainer also looks at the page. What this finds are mistakes, records
that were edited by hand, and machines of another time or release.
"""

import datetime
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from scripts.maintenance.evidence.intake import Evidence
from zoo.certification import plan, results, steps
from zoo.certification.results import NOT_RUN, PASSED, SKIPPED, Place, StepResult
from zoo.config import search_space
from zoo.core.errors import ZooError, bulleted
from zoo.core.files import file_sha256
from zoo.environments import backends, stacks
from zoo.explain import known_issues
from zoo.runs.records import Json

# More than the fastest device; a faster product of matrices was not computed.
MOST_GFLOP_PER_S = 5e6
# Other work may slow the machine while the peak is measured, so that a share of it can come out above 1.
MOST_SHARE = 1.5
FRACTIONS = ("accuracy", "val_accuracy", "test_accuracy", "test_top5_accuracy", "train_accuracy", "token_accuracy")
# Ends of names of what took time.
TIMED = ("median_ms", "q1_ms", "q3_ms", "median_s", "items_per_s", "gflop_per_s")
# A worker may take less memory than before.
SIGNED = ("grown_bytes",)
_COMMIT = re.compile(r"[0-9a-f]{40}(-dirty)?|version [\w.+-]{1,40}")
# What goes into pages is one line without markup.
_PLAIN = re.compile(r"[\w .,:;/()@+'&#=%~\[\]-]{0,400}")
_WORD = re.compile(r"[\w.=/,:+\[\]'-]{1,200}", re.ASCII)


def refuse(evidence: Evidence) -> None:
    """Stop where evidence cannot be true."""
    wrong = problems(evidence)
    if wrong:
        raise ZooError(f"{evidence.name} cannot be true:\n{bulleted(wrong[:30])}", "Nothing was written.")


def problems(evidence: Evidence, today: datetime.date | None = None) -> list[str]:
    """Return why evidence cannot be true, one sentence each; empty where nothing speaks against it.

    Args:
        evidence: as :func:`intake.read` read it.
        today: UTC date; None: of the clock.
    """
    wrong = [*_state_problems(evidence, today or datetime.datetime.now(datetime.UTC).date())]
    for row in evidence.state.steps:
        where = f"{row.backend} with {row.stack}, {row.step}"
        wrong += [f"{where}: {text}" for text in _step_problems(row, evidence)]
    return wrong


def _state_problems(evidence: Evidence, today: datetime.date) -> Iterator[str]:
    state = evidence.state
    for name in ("date", "finished"):
        day = _date_of(getattr(state, name))
        if day is None:
            yield f"{name} is not a date: {getattr(state, name)!r}"
        elif day > today + datetime.timedelta(days=1):  # clocks differ by time zones at most
            yield f"{name} {day} is in the future"
    if state.finished < state.date:
        yield "it finished before it began"
    if not _COMMIT.fullmatch(state.commit):
        yield f"{state.commit!r} is neither a commit nor a version"
    for name in ("hardware", "machine", "power"):
        if not _PLAIN.fullmatch(getattr(state, name)):
            yield f"{name} is not plain text: {getattr(state, name)[:60]!r}"
    yield from _figure_problems({"reference_gflop_per_s": state.reference_gflop_per_s})
    if not state.steps:
        yield "nothing was done"
    for place in state.places:
        yield from _place_problems(place, evidence)


def _place_problems(place: Place, evidence: Evidence) -> Iterator[str]:
    state, rows = evidence.state, {row.name: row for row in backends.load_all()}
    if place.backend not in rows or place.stack not in stacks.names():
        yield f"there is no {place.name}"
        return
    stack = stacks.load(place.stack)
    if state.platform not in stack.platforms:
        yield f"stack {place.stack} does not exist on {state.platform}"
        return
    if evidence.locks.get(place.stack) != file_sha256(stacks.lock_file(stack, state.platform)):
        yield f"it was made with another lock of stack {place.stack}: check the zoo out at {state.commit}"
    names = [step.name for step in plan.steps_of(place, state.mode)]
    if [row.step for row in state.taken(place)] != names:
        yield f"the steps of {place.name} are not {', '.join(names)}"


def _date_of(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text[:10])
    except ValueError:
        return None


def _step_problems(row: StepResult, evidence: Evidence) -> Iterator[str]:
    if (row.backend, row.stack) not in [(place.backend, place.stack) for place in evidence.state.places]:
        yield "no such place was certified"
    if not {issue.id for issue in known_issues.issues()}.issuperset(row.issues):
        yield f"there are no known issues {', '.join(map(repr, row.issues))}"
    yield from _figure_problems({"seconds": row.seconds, **row.figures})
    if row.state in (SKIPPED, NOT_RUN) and (row.seconds or row.figures or row.record):
        yield f"it is {row.state}, and has figures"
    if row.proposal:
        yield from _proposal_problems(row, evidence)
    if row.record and row.record not in evidence.runs:
        yield f"its run record {row.record} is missing"
    elif row.record:
        yield from _record_problems(row, evidence.runs[row.record], evidence)


def _record_problems(row: StepResult, record: Json, evidence: Evidence) -> Iterator[str]:
    parts = {name: record.get(name, {}) for name in ("metrics", "phases", "versions", "stack", "machine")}
    lists = {name: record.get(name, []) for name in ("epochs", "rows", "command")}
    wrong = [name for name, value in parts.items() if not isinstance(value, dict)]
    wrong += [name for name, value in lists.items() if not isinstance(value, list)]
    wrong += [name for name in ("epochs", "rows") if not all(isinstance(each, dict) for each in lists[name])]
    if wrong:
        yield f"its record has the wrong kind of {', '.join(dict.fromkeys(wrong))}"
        return
    if (record.get("backend"), parts["stack"].get("name")) != (row.backend, row.stack):
        yield f"its record is of {record.get('backend')} with {parts['stack'].get('name')}"
    if (record.get("git_commit") or f"version {record.get('zoo_version')}") != evidence.state.commit:
        yield "its record is of another commit than the certification"
    if row.state == PASSED and record.get("exit") != "completed":
        yield f"it is said to have passed, but its run is {record.get('exit')}"
    yield from _text_problems(record, parts, lists["command"])
    for where in ("metrics", "phases"):
        yield from (f"{where}.{text}" for text in _figure_problems(parts[where]))
    for where in ("epochs", "rows"):
        for number, each in enumerate(lists[where], 1):
            yield from (f"{where}.{number}.{text}" for text in _figure_problems(each))
    yield from _speed_problems(lists["rows"])
    yield from _accuracy_problems(record, parts["metrics"])


def _text_problems(record: Json, parts: dict[str, Json], command: list[Any]) -> Iterator[str]:
    """Yield what of a record must not go into a page or a command."""
    named = [part for part in (record.get("device"), record.get("data")) if isinstance(part, dict)]
    texts = [value for part in (*named, parts["versions"]) for value in part.values() if isinstance(value, str)]
    texts += [name for part in parts.values() for name in part]
    if not all(_PLAIN.fullmatch(text) for text in texts):
        yield "its record holds names that are not plain text"
    if not all(isinstance(word, str) and _WORD.fullmatch(word) for word in command):
        yield "its command contains unknown settings"


def _figure_problems(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield which figures cannot be, one sentence each; a value that is not a number by kind and name is ignored."""
    for name, value in figures.items():
        timed = name.endswith(TIMED) and value is not None
        if timed or (isinstance(value, int | float) and not isinstance(value, bool)):
            wrong = _figure_problem(name, value)
            if wrong:
                yield f"{name} is {value!r}, {wrong}"


def _figure_problem(name: str, value: Any) -> str:
    if not _is_number(value):
        return "not a number"
    if value < 0 and name not in SIGNED:
        return "below zero"
    if value == 0 and name.endswith(TIMED):
        return "but it took time"
    if value > 1 and name in FRACTIONS:
        return "more than all"
    if value > MOST_GFLOP_PER_S and name.endswith("gflop_per_s"):
        return "more than any device has"
    return f"more than {MOST_SHARE} times the peak" if name == "share_of_peak" and value > MOST_SHARE else ""


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _speed_problems(rows: list[Json]) -> Iterator[str]:
    for number, row in enumerate(rows, 1):
        speed, size, time = (row.get(name) for name in ("gflop_per_s", "size", "median_ms"))
        if row.get("operation") != "square" or not (_is_number(speed) and _is_number(size) and _is_number(time)):
            continue
        if time > 0 and not math.isclose(speed * time, 2 * size**3 / 1e6, rel_tol=0.01):
            yield f"rows.{number}: {speed:.4g} GFLOP/s do not fit {time:.4g} ms"


def _accuracy_problems(record: Json, metrics: Json) -> Iterator[str]:
    data, accuracy = record.get("data"), metrics.get("test_accuracy")
    items = data.get("test_items") if isinstance(data, dict) else None
    if _is_number(accuracy) and isinstance(items, int) and 0 < items < 10**6 and record.get("exit") == "completed":
        right = accuracy * items
        if abs(right - round(right)) > 0.02:
            yield f"test_accuracy {accuracy} is not a whole number of {items} test items"


def _proposal_problems(row: StepResult, evidence: Evidence) -> Iterator[str]:
    """Yield what is wrong with the settings that a search proposes."""
    search, proposal = results.tuning(evidence.state.mode), row.proposal
    values, times = proposal.get("values"), proposal.get("confirmed_s")
    named = [proposal.get(name) for name in ("model", "data", "backend", "stack", "machine", "commit")]
    expected = [*(search or ())[:2], row.backend, row.stack, evidence.state.machine, evidence.state.commit]
    if search is None or not isinstance(values, dict) or not isinstance(times, dict) or named != expected:
        yield "its proposal is of another model, place or machine"
        return
    space = search_space.load(search[0], row.backend, str(steps.space_file(search[0], row.backend))).values
    for name, value in values.items():
        if name not in space or not _is_in(value, space[name]):
            yield f"its proposal has {name}={value!r}, which is not in the search space"
    winner = times.get("winner")
    # A recipe may miss the target with a seed, a winner may not.
    if not isinstance(winner, list) or not winner or not all(_is_number(each) and each > 0 for each in winner):
        yield "its proposal was not confirmed"


def _is_in(value: Any, allowed: search_space.Range) -> bool:
    if allowed.choices is not None:
        return value in allowed.choices
    low, high = allowed.low, allowed.high
    return _is_number(value) and low is not None and high is not None and low <= value <= high

"""Whether evidence can be true: what cannot be on any machine, and what does not fit together.

A careful forger can pass all of it: evidence is as good as the word of who sends it. What this finds are mistakes,
damaged files, records that were edited by hand, and machines of another time or release.
"""

import datetime
import math
import re
from collections.abc import Iterator
from typing import Any

from zoo.certification import plan, results, steps
from zoo.certification.intake import Evidence
from zoo.certification.record_checks import FRACTIONS, MOST_GFLOP_PER_S, PLAIN, date_of, is_number, record_problems
from zoo.certification.results import StepResult
from zoo.config import search_space
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.environments import selection, stacks
from zoo.runs import known_issues

MOST_STEPS = 1000
_COMMIT = re.compile(r"[0-9a-f]{40}(-dirty)?|version [\w.+-]{1,40}")


def problems(evidence: Evidence, today: datetime.date | None = None) -> list[str]:
    """Return why evidence cannot be true, one sentence each; empty where nothing speaks against it.

    Args:
        evidence: as :func:`zoo.certification.intake.read` read it.
        today: UTC date; None: of the clock.
    """
    state = evidence.state
    wrong = [*_state_problems(evidence, today or datetime.datetime.now(datetime.UTC).date())]
    used = {row.record for row in state.steps if row.record}
    wrong += [f"runs/{name}.json belongs to no step" for name in sorted(evidence.runs.keys() - used)]
    for row in state.steps[:MOST_STEPS]:
        where = f"{row.backend} with {row.stack}, {row.step}"
        wrong += [f"{where}: {text}" for text in _step_problems(row, evidence)]
    return wrong


def _state_problems(evidence: Evidence, today: datetime.date) -> Iterator[str]:
    state = evidence.state
    dates = {"date": date_of(state.date), "finished": date_of(state.finished)}
    yield from (f"{name} is no date: {getattr(state, name)!r}" for name, day in dates.items() if day is None)
    tomorrow = today + datetime.timedelta(days=1)  # clocks differ by time zones at most
    yield from (f"{name} {day} is in the future" for name, day in dates.items() if day and day > tomorrow)
    if dates["date"] and dates["finished"] and dates["finished"] < dates["date"]:
        yield "it finished before it began"
    if not _COMMIT.fullmatch(state.commit):
        yield f"{state.commit!r} is neither a commit nor a version"
    if not 0 < state.reference_gflop_per_s < MOST_GFLOP_PER_S:
        yield f"the reference product has a speed of {state.reference_gflop_per_s} GFLOP/s"
    for name in ("hardware", "machine", "power"):
        if not PLAIN.fullmatch(getattr(state, name)):
            yield f"{name} is no plain text: {getattr(state, name)[:60]!r}"
    if not state.steps:
        yield "nothing was done"
    backends = {row.name: row for row in selection.load_all()}
    for place in state.places:
        row = backends.get(place.backend)
        if row is None or (place.stack not in row.stacks and place.backend != "cpu"):
            yield f"there is no {place.name}"
        elif place.stack not in stacks.names() or state.platform not in stacks.load(place.stack).platforms:
            yield f"stack {place.stack} does not exist on {state.platform}"
        else:
            yield from _lock_problems(place.stack, evidence)


def _lock_problems(stack: str, evidence: Evidence) -> Iterator[str]:
    ours = file_sha256(stacks.lock_file(stacks.load(stack), evidence.state.platform))
    if evidence.locks.get(stack) != ours:
        yield f"it was made with another lock of stack {stack}: check the zoo out at {evidence.state.commit}"


def _step_problems(row: StepResult, evidence: Evidence) -> Iterator[str]:
    place = next(
        (each for each in evidence.state.places if (each.backend, each.stack) == (row.backend, row.stack)), None
    )
    if place is None:
        yield "no such place was certified"
    elif row.step not in {step.name for step in plan.steps_of(place, evidence.state.mode)}:
        yield "there is no such step"
    if row.proposal:
        yield from _proposal_problems(row, evidence)
    unknown = set(row.issues) - {issue.id for issue in known_issues.issues()}
    if unknown:
        yield f"there are no known issues {', '.join(sorted(map(repr, unknown)))}"
    if not 0 <= row.seconds < 10**6:
        yield f"it took {row.seconds} seconds"
    if row.reference_gflop_per_s < 0 or row.reference_gflop_per_s > MOST_GFLOP_PER_S:
        yield f"the reference product has a speed of {row.reference_gflop_per_s} GFLOP/s"
    for name, value in row.figures.items():
        if not math.isfinite(value) or (value < 0 and name != "grown_bytes"):
            yield f"{name} is {value}"
        elif name in FRACTIONS and value > 1:
            yield f"{name} is {value}, more than all"
    if not row.record:
        return
    record = evidence.runs.get(row.record)
    if record is None:
        yield f"its run record {row.record} is missing"
        return
    yield from record_problems(row, record, evidence)


def _proposal_problems(row: StepResult, evidence: Evidence) -> Iterator[str]:
    """Yield what is wrong with the settings that a search proposes."""
    search, proposal = results.tuning(evidence.state.mode), row.proposal
    values, times = proposal.get("values"), proposal.get("confirmed_s")
    named = [proposal.get(name) for name in ("model", "data", "backend", "stack", "machine", "commit")]
    if search is None or not isinstance(values, dict) or not isinstance(times, dict):
        yield "its proposal is none that a search makes"
        return
    if named != [*search[:2], row.backend, row.stack, evidence.state.machine, evidence.state.commit]:
        yield "its proposal is of another model, place or machine"
        return
    space = search_space.load(search[0], row.backend, str(steps.space_file(search[0], row.backend))).values
    for name, value in values.items():
        allowed = space.get(name)
        if allowed is None or not _is_in(value, allowed):
            yield f"its proposal has {name}={value!r}, which is not in the search space"
    seconds = [each for name in ("recipe", "winner") for each in times.get(name) or [None]]
    if not all(each is None or (is_number(each) and each > 0) for each in seconds) or None in times.get(
        "winner", [None]
    ):
        yield "its proposal was not confirmed, or in no time"


def _is_in(value: Any, allowed: search_space.Range) -> bool:
    if allowed.choices is not None:
        return value in allowed.choices
    return (
        is_number(value)
        and allowed.low is not None
        and allowed.high is not None
        and allowed.low <= value <= allowed.high
    )


def refuse(evidence: Evidence) -> None:
    """Stop where evidence cannot be true.

    Raises:
        ZooError: every reason is listed.
    """
    wrong = problems(evidence)
    if wrong:
        listed = "\n".join(f"  - {text}" for text in wrong[:30])
        raise ZooError(f"{evidence.name} cannot be true:\n{listed}", "Nothing was written.")

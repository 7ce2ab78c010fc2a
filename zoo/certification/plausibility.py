"""Whether evidence can be true: what cannot be on any machine, and what does not fit together.

A careful forger can pass all of it: evidence is as good as the word of who sends it. What this finds are mistakes,
damaged files, records that were edited by hand, and machines of another time or release.
"""

import collections
import datetime
import re
import statistics
from collections.abc import Iterator
from typing import Any

from zoo.certification import figures, foreign_page, plan, results, steps
from zoo.certification.intake import Evidence
from zoo.certification.record_checks import PLAIN, date_of, record_problems
from zoo.certification.results import FAILED, NOT_RUN, PASSED, SKIPPED, Place, StepResult
from zoo.config import search_space
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.environments import selection, stacks
from zoo.explain import known_issues

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
    used = collections.Counter(row.record for row in state.steps if row.record)
    wrong += [f"runs/{name}.json belongs to no step" for name in sorted(evidence.runs.keys() - used.keys())]
    wrong += [f"the record {name} belongs to {count} steps" for name, count in sorted(used.items()) if count > 1]
    states = [row.state for row in state.steps]
    if NOT_RUN in states and set(states[states.index(NOT_RUN) :]) != {NOT_RUN}:
        wrong.append("a step was taken after one that was not run")
    wrong += [f"page.html {text}: no page of certify has that" for text in foreign_page.problems(evidence.page)[:5]]
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
    yield from figures.problems({"reference_gflop_per_s": state.reference_gflop_per_s})
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
            yield from _plan_problems(place, evidence)


def _lock_problems(stack: str, evidence: Evidence) -> Iterator[str]:
    ours = file_sha256(stacks.lock_file(stacks.load(stack), evidence.state.platform))
    if evidence.locks.get(stack) != ours:
        yield f"it was made with another lock of stack {stack}: check the zoo out at {evidence.state.commit}"


def _plan_problems(place: Place, evidence: Evidence) -> Iterator[str]:
    """Yield which steps of a place are not told of, or not in the order in which they are taken."""
    state, planned = evidence.state, plan.steps_of(place, evidence.state.mode)
    taken, expected = [row.step for row in state.taken(place)], [step.name for step in planned]
    if taken != expected:
        wrong = [f"lacks {name}" for name in expected if name not in taken]
        wrong += [f"has {name} {taken.count(name)} times" for name in dict.fromkeys(taken) if taken.count(name) > 1]
        wrong += [f"has {name}, which is no such step" for name in taken if name not in expected]
        yield f"{place.name} {', '.join(wrong[:5]) or 'has its steps in another order'}"
        return
    blocked = False
    for step, row in zip(planned, state.taken(place), strict=True):
        if row.state == SKIPPED and not blocked:
            yield f"{place.name}, {step.name}: it was skipped, but no step failed that it needs"
        if row.state in (PASSED, FAILED) and blocked:
            yield f"{place.name}, {step.name}: it was taken, but a step failed that it needs"
        if row.state == PASSED and step.recorded and not row.record:
            yield f"{place.name}, {step.name}: it is said to have passed, but no run belongs to it"
        blocked = blocked or (step.needed and row.state == FAILED)


def _step_problems(row: StepResult, evidence: Evidence) -> Iterator[str]:
    if evidence.state.place_of(row) is None:
        yield "no such place was certified"
    if row.proposal:
        yield from _proposal_problems(row, evidence)
    unknown = set(row.issues) - {issue.id for issue in known_issues.issues()}
    if unknown:
        yield f"there are no known issues {', '.join(sorted(map(repr, unknown)))}"
    reference = {"reference_gflop_per_s": row.reference_gflop_per_s} if row.state in (PASSED, FAILED) else {}
    yield from figures.problems({"seconds": row.seconds, **reference, **row.figures})
    if row.state in (SKIPPED, NOT_RUN) and (row.seconds or row.figures or row.record):
        yield f"it is {row.state}, and has figures"
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
    recipe, winner = (times.get(name) for name in ("recipe", "winner"))
    if not isinstance(recipe, list) or not isinstance(winner, list) or len(recipe) != len(winner) or not winner:
        yield "its proposal was not confirmed"
        return
    # A recipe may miss the target from a seed, a winner may not.
    seconds = [*winner, *(each for each in recipe if each is not None)]
    if not all(figures.is_number(each) and each > 0 for each in seconds):
        yield "its proposal was not confirmed, or in no time"
        return
    ratios = [one / other for one, other in zip(recipe, winner, strict=True) if one]
    said = proposal.get("times_as_fast")
    if said != (round(statistics.median(ratios), 3) if ratios else None):
        yield f"its proposal is said to be {said!r} times as fast, which its seconds do not say"


def _is_in(value: Any, allowed: search_space.Range) -> bool:
    if allowed.choices is not None:
        return value in allowed.choices
    return (
        figures.is_number(value)
        and allowed.low is not None
        and allowed.high is not None
        and allowed.low <= value <= allowed.high
    )


def refuse(evidence: Evidence) -> None:
    """Stop where evidence cannot be true."""
    wrong = problems(evidence)
    if wrong:
        listed = "\n".join(f"  - {text}" for text in wrong[:30])
        raise ZooError(f"{evidence.name} cannot be true:\n{listed}", "Nothing was written.")

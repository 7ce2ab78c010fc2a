"""The content and results of a certification, stored in ``certify.json`` and in the archive."""

import dataclasses
import re
from pathlib import Path
from typing import Any

from zoo.core import schema
from zoo.core.errors import ZooError, bulleted
from zoo.core.files import write_json
from zoo.runs.records import Json

FORMAT = 1
STATE = "certify.json"
# Skipped: a required earlier step failed. Not run: the certification ended before it.
PASSED, FAILED, SKIPPED, NOT_RUN = STATES = ("passed", "failed", "skipped", "not run")
QUICK, WHOLE = "quick", "whole"
# The mode "tune MODEL DATA TRIALS" searches the recipe of a model instead.
_TUNING = re.compile(r"tune ([\w/]{1,60}) (\w{1,40}) (\d{1,4})", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Place:
    """A backend with a stack that all steps use; ``device_kind`` is cpu or gpu."""

    backend: str
    stack: str
    device_kind: str
    framework: str
    trains: bool

    @property
    def name(self) -> str:
        """Return a name for display and files: ``mps with torch``."""
        return f"{self.backend} with {self.stack}"

    @property
    def words(self) -> list[str]:
        return [f"backend={self.backend}", f"stack={self.stack}"]


@dataclasses.dataclass
class Findings:
    """The output of a step.

    Attributes:
        words: the result in lines.
        figures: numbers by name.
        problem: why it failed or was skipped; empty if it passed.
        proposal: settings of a recipe that a search found, with their evidence, in the format of ``tune``.
    """

    words: list[str] = dataclasses.field(default_factory=list)
    figures: dict[str, float] = dataclasses.field(default_factory=dict)
    problem: str = ""
    remedy: str = ""
    proposal: Json = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(kw_only=True)
class StepResult(Findings):
    """The result of one step.

    Attributes:
        state: passed, failed, skipped or not run.
        issues: ids of known issues that explain the failure.
        record: name of its run record; empty without one.
        reference_gflop_per_s: speed of the reference product after the step.
        busy: whether the machine was busy with other work.
    """

    backend: str
    stack: str
    step: str
    about: str
    state: str
    seconds: float
    issues: list[str] = dataclasses.field(default_factory=list)
    record: str = ""
    reference_gflop_per_s: float = 0.0
    busy: bool = False


@dataclasses.dataclass
class Certification:
    """A whole certification.

    Attributes:
        format: version of this format.
        mode: quick, whole, or ``tune MODEL DATA TRIALS``.
        hardware: chip and GPU, for the name of the archive.
        machine: description in one line.
        commit: commit of the zoo, with ``-dirty`` for changed files, or its version.
        date: day of the start, in UTC.
        finished: day of the end, in UTC, or empty.
        power: power source at the beginning.
        reference_gflop_per_s: speed of the reference product before the first step.
        steps: results so far.
    """

    mode: str
    hardware: str
    machine: str
    platform: str
    commit: str
    date: str
    power: str
    reference_gflop_per_s: float
    places: list[Place]
    finished: str = ""
    steps: list[StepResult] = dataclasses.field(default_factory=list)
    format: int = FORMAT

    def result(self, place: Place, step: str) -> StepResult | None:
        return next((row for row in self.taken(place) if row.step == step), None)

    def taken(self, place: Place) -> list[StepResult]:
        return [row for row in self.steps if (row.backend, row.stack) == (place.backend, place.stack)]

    def count(self, state: str) -> int:
        return sum(row.state == state for row in self.steps)

    def counts(self) -> str:
        """Return the number of steps by state: ``12 passed, 1 failed``."""
        return ", ".join(f"{self.count(name)} {name}" for name in STATES if self.count(name)) or "nothing done"

    def write(self, folder: Path) -> None:
        write_json(folder / STATE, dataclasses.asdict(self))


def tuning(mode: str) -> tuple[str, str, int] | None:
    """Return the model, the data set and the number of trials if the mode is a search, or None."""
    match = _TUNING.fullmatch(mode)
    return (match[1], match[2], int(match[3])) if match else None


def problems(content: Any) -> list[str]:
    """Return all format errors in a certification, which may come from a third party."""
    wrong = schema.violations(content, Certification)
    if wrong:
        return wrong
    if content["format"] != FORMAT:
        return [f"format: is {content['format']}, but this zoo reads {FORMAT}"]
    if content["mode"] not in (QUICK, WHOLE) and tuning(content["mode"]) is None:
        wrong.append(f"mode: {content['mode']!r} is not quick, whole or a search")
    for number, row in enumerate(content["steps"]):
        if row["state"] not in STATES:
            wrong.append(f"steps.{number}.state: {row['state']!r} is not one of {', '.join(STATES)}")
    return wrong


def of(content: Any, where: str) -> Certification:
    wrong = problems(content)
    if wrong:
        raise ZooError(f"{where} is not a valid certification:\n{bulleted(wrong)}", "Certify again.")
    places = [Place(**row) for row in content["places"]]
    steps = [StepResult(**row) for row in content["steps"]]
    return Certification(**{**content, "places": places, "steps": steps})

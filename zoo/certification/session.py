"""Run the steps of a certification in order, and store the results, so that it can be resumed."""

import contextlib
import dataclasses
import datetime
import json
import os
import re
import time
from pathlib import Path
from typing import Any

from zoo.certification import plan, reference, results, samples
from zoo.certification.plan import Step
from zoo.certification.results import FAILED, NOT_RUN, PASSED, SKIPPED, Certification, Findings, Place, StepResult
from zoo.certification.work import Work, explained
from zoo.core import console
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.core.files import locked, storage_errors
from zoo.environments import machine, power
from zoo.runs import folder as run_folder
from zoo.runs import lifecycle, records

PREFIX = "certify-"
BATTERY_POLL_S = 20.0
# Longest time to cool down after the reference product shows throttling.
COOL_S = 30.0
# Time after which remaining processes of a step have ended, but the machine is still hot.
SETTLE_S = 3.0


class Session:
    """A certification in progress; its folder contains the state, the run folders and the samples."""

    def __init__(self, folder: Path, state: Certification) -> None:
        self.folder, self.state = folder, state

    def run(self, mnist: str | None, on_battery: bool) -> None:
        """Run all remaining steps; ``mnist`` is the folder of MNIST, and ``on_battery`` does not wait for mains."""
        try:
            with locked(self.folder / ".lock", "certifies this machine"):
                self._take_all(mnist, on_battery)
        except KeyboardInterrupt as error:
            message = f"Stopped; the results so far are in {self.folder}"
            remedy = "Run the same command to continue, or add --finish to write the evidence of the finished steps."
            raise ZooError(message, remedy, INTERRUPTED) from error

    def _take_all(self, mnist: str | None, on_battery: bool) -> None:
        drawn = samples.draw(self.folder / "samples")
        places = ", ".join(place.name for place in self.state.places)
        about = f"{len(self.left())} steps, about {words(self.seconds_left())}"
        console.say(f"Certifying {self.state.machine}\n{places}: {about}")
        console.say(f"This machine is {power.read()}. Ctrl-C stops; the same command continues")
        console.say(f"Results: {self.folder}")
        for place, step in self.left():
            if not self._blocker(place):
                _wait_for_mains(on_battery)
                self._heed_heat()
            work = Work(place, self.state.mode, self.folder / "runs", drawn, mnist)
            position = f"{len(self.state.steps) + 1}/{len(self.steps)}"
            console.say(f"\n[{position}] {place.name}: {step.about} ({words(self.seconds_left())} left)")
            result = self._take(step, work)
            self.state.steps.append(result)
            self.state.write(self.folder)
            console.say(f"{result.state}: {'; '.join([*result.words[:2], *filter(None, [result.problem])])}")
        self.state.finished = records.today()
        self.state.write(self.folder)

    @property
    def steps(self) -> list[tuple[Place, Step]]:
        return [(place, step) for place in self.state.places for step in plan.steps_of(place, self.state.mode)]

    def left(self) -> list[tuple[Place, Step]]:
        return [(place, step) for place, step in self.steps if self.state.result(place, step.name) is None]

    def as_it_is(self) -> Certification:
        """Return the certification with the remaining steps marked as not run, without changing its folder."""
        if not self.state.steps:
            raise ZooError(f"No step has run yet in {self.folder}", "Certify first.")
        missing = [_result(place, step, NOT_RUN) for place, step in self.left()]
        return dataclasses.replace(self.state, steps=[*self.state.steps, *missing], finished=records.today())

    def seconds_left(self) -> float:
        """Estimate the remaining time from the expected times, scaled by the pace of the finished steps."""
        expected = {(place.backend, place.stack, step.name): step.expected_s for place, step in self.steps}
        taken = [row for row in self.state.steps if row.state == PASSED and row.step != "environment"]
        spent = sum(row.seconds for row in taken)
        foreseen = sum(expected.get((row.backend, row.stack, row.step), 0.0) for row in taken)
        pace = spent / foreseen if foreseen else 1.0
        return pace * sum(step.expected_s for _, step in self.left())

    def _heed_heat(self) -> None:
        """Wait until the speed of a throttled machine recovers, at most :data:`COOL_S`."""
        share = self._drift()
        if share is None or not reference.is_throttled(share) or self.state.steps[-1].busy:
            return
        console.warn(f"The reference product has {100 * share:.0f} % of its first speed: this machine is throttled, "
                     f"perhaps hot; waiting up to {COOL_S:.0f} seconds")  # fmt: skip
        end = time.monotonic() + COOL_S
        while reference.is_throttled(share) and time.monotonic() < end:
            time.sleep(SETTLE_S)
            share = self._drift(reference.gflop_per_s())

    def _take(self, step: Step, work: Work) -> StepResult:
        if blocker := self._blocker(work.place):
            return _result(work.place, step, SKIPPED, Findings(problem=f"{blocker} failed"))
        began, before, issues = time.monotonic(), _newest(work.folder), list[str]()
        try:
            findings = step.do(work)
        except ZooError as error:
            if error.exit_code == INTERRUPTED:
                raise KeyboardInterrupt from error
            findings = Findings(problem=error.message, remedy=error.remedy)
            issues = explained(error, work.place.backend)
        seconds = round(time.monotonic() - began, 3)
        newest, state = _newest(work.folder), FAILED if findings.problem else PASSED
        busy = hasattr(os, "getloadavg") and os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)
        return _result(
            work.place, step, state, findings, seconds=seconds, issues=issues, busy=busy,
            record=newest if newest != before else "", reference_gflop_per_s=round(self._reference(), 3),
        )  # fmt: skip

    def _reference(self) -> float:
        """Time the reference product; if it is slow, time it again after a pause, in which other work may end."""
        speed = reference.gflop_per_s()
        if not reference.is_throttled(self._drift(speed)):
            return speed
        time.sleep(SETTLE_S)
        return max(speed, reference.gflop_per_s())

    def _drift(self, *newest: float) -> float | None:
        """Return the last speed of the reference product as a share of the first, or None for a single speed."""
        speeds = [row.reference_gflop_per_s for row in self.state.steps if row.reference_gflop_per_s]
        return reference.drift([self.state.reference_gflop_per_s, *speeds, *newest])

    def _blocker(self, place: Place) -> str:
        for step in plan.steps_of(place, self.state.mode):
            result = self.state.result(place, step.name)
            if step.needed and result is not None and result.state != PASSED:
                return step.name
        return ""


def _result(place: Place, step: Step, state: str, findings: Findings | None = None, **more: Any) -> StepResult:
    """Return the result of a step; without ``findings``, it has not run."""
    fields: dict[str, Any] = {"about": step.about, "seconds": 0.0, **vars(findings or Findings()), **more}
    return StepResult(backend=place.backend, stack=place.stack, step=step.name, state=state, **fields)


def unfinished(root: Path, mode: str, backend: str | None, stack: str) -> Session | None:
    """Return the unfinished session of the same command on this machine, or None."""
    wanted = mode, plan.places(backend, stack), identity(), machine.describe(machine.probe())
    for folder in sorted(root.glob(f"{PREFIX}*"), reverse=True):
        with contextlib.suppress(OSError, ValueError, ZooError):  # missing, or of another version
            content = json.loads((folder / results.STATE).read_text(encoding="utf-8"))
            state = results.of(content, str(folder))
            if not state.finished and (state.mode, state.places, state.commit, state.machine) == wanted:
                return Session(folder.resolve(), state)
    return None


def begun(root: Path, mode: str, backend: str | None, stack: str) -> Session:
    """Return a new session under ``root``; see :func:`zoo.certification.plan.places` for the last arguments."""
    here, chosen = machine.probe(), plan.places(backend, stack)
    stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    named = re.sub(r"[^\w-]+", "-", mode)
    state = Certification(
        mode=mode, hardware=machine.hardware(here), machine=machine.describe(here), platform=here.platform,
        commit=identity(), date=records.today(), power=str(power.read()), places=chosen,
        reference_gflop_per_s=round(reference.gflop_per_s(), 3),
    )  # fmt: skip
    name = f"{PREFIX}{named}-{stamp}"
    with storage_errors("write", root / name):
        root.mkdir(parents=True, exist_ok=True)
        folder = run_folder.first_free(root, name)
        (folder / "runs").mkdir()
    state.write(folder)
    return Session(folder, state)


def identity() -> str:
    return records.git_commit() or f"version {lifecycle.version()}"


def words(seconds: float) -> str:
    """Format a duration: ``40 seconds``, ``12 minutes``."""
    return f"{max(1, round(seconds))} seconds" if seconds < 90 else f"{round(seconds / 60)} minutes"


def _wait_for_mains(on_battery: bool) -> None:
    """Wait for mains power unless ``on_battery``, because power saving slows the machine."""
    if on_battery or not power.read().on_battery:
        return
    console.warn("This machine is on battery: waiting until it is plugged in. --on-battery does not wait.")
    while power.read().on_battery:
        time.sleep(BATTERY_POLL_S)


def _newest(folder: Path) -> str:
    """Return the name of the run folder whose record was written last, or an empty text without one."""
    files = sorted(folder.glob(f"*/{records.RECORD}"), key=lambda path: path.stat().st_mtime_ns)
    return files[-1].parent.name if files else ""

"""Take the steps of a certification one after the other; what is done is kept, so that it can be stopped."""

import datetime
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from zoo.certification import plan, reference, samples
from zoo.certification.plan import Step
from zoo.certification.results import FAILED, PASSED, SKIPPED, STATE, Certification, Place, StepResult, of
from zoo.certification.work import Findings, Work, explained
from zoo.core import console
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.core.files import locked, storage_error
from zoo.environments import machine, power
from zoo.environments.machine import Machine
from zoo.runs import lifecycle, records

PREFIX = "certify-"
BATTERY_POLL_S = 20.0
# Seconds to cool down once the reference product shows that the machine is throttled.
COOL_S = 30.0


class Session:
    """A certification that goes on: its folder, and what has been done.

    Args:
        folder: holds the state, the run folders and the samples.
        state: what has been done.
        mnist: folder of the files of MNIST, or None.
        on_battery: take steps on battery, too.
    """

    def __init__(self, folder: Path, state: Certification, mnist: str | None, on_battery: bool) -> None:
        self.folder, self.state = folder, state
        self._mnist, self._on_battery = mnist, on_battery

    def run(self) -> None:
        """Take all steps that have not been taken.

        Raises:
            ZooError: it was interrupted; the same command goes on.
        """
        try:
            with locked(self.folder / ".lock", "certifies this machine"):
                self._take_all()
        except KeyboardInterrupt as error:
            message = f"Stopped; what was done is kept in {self.folder}"
            raise ZooError(message, "The same command goes on with it.", INTERRUPTED) from error

    def _take_all(self) -> None:
        drawn = samples.draw(self.folder / "samples")
        self._say_beginning()
        for place, step in self.left():
            if not self._blocker(place):
                self._wait_for_mains()
                self._heed_heat()
            work = Work(place, self.state.mode, self.folder / "runs", drawn, self._mnist)
            done, count = (
                len(self.state.steps),
                sum(len(plan.steps_of(each, self.state.mode)) for each in self.state.places),
            )
            console.say(f"\n[{done + 1}/{count}] {place.name}: {step.about} ({words(self.seconds_left())} left)")
            result = self._take(step, work)
            self.state.steps.append(result)
            self.state.write(self.folder)
            console.say(f"{result.state}: {'; '.join([*result.words[:2], *filter(None, [result.problem])])}")
        self.state.finished = _today()
        self.state.write(self.folder)

    def left(self) -> Iterator[tuple[Place, Step]]:
        """Yield the steps that have not been taken."""
        for place in self.state.places:
            for step in plan.steps_of(place, self.state.mode):
                if self.state.result(place, step.name) is None:
                    yield place, step

    def seconds_left(self) -> float:
        """Estimate what is left: what was expected of these steps, times how much longer the others took."""
        expected = {(place.backend, place.stack, step.name): step.expected_s
                    for place in self.state.places for step in plan.steps_of(place, self.state.mode)}  # fmt: skip
        taken = [row for row in self.state.steps if row.state == PASSED and row.step != "environment"]
        spent = sum(row.seconds for row in taken)
        foreseen = sum(expected.get((row.backend, row.stack, row.step), 0.0) for row in taken)
        pace = spent / foreseen if foreseen else 1.0
        return pace * sum(step.expected_s for _, step in self.left())

    def _say_beginning(self) -> None:
        places = ", ".join(place.name for place in self.state.places)
        count = sum(1 for _ in self.left())
        console.say(f"Certifying {self.state.machine}\n{places}: {count} steps, about {words(self.seconds_left())}")
        console.say(f"This machine is {power.read()}. Ctrl-C stops; the same command goes on")
        console.say(f"All of it is in {self.folder}")

    def _wait_for_mains(self) -> None:
        """Wait while the machine runs on its battery: power saving slows it, and this takes long."""
        if self._on_battery or not power.read().on_battery:
            return
        console.warn("This machine is on battery: waiting until it is plugged in. --on-battery does not wait.")
        while power.read().on_battery:
            time.sleep(BATTERY_POLL_S)

    def _heed_heat(self) -> None:
        """Let a machine cool down for a while whose reference product has become slower."""
        speeds = [row.reference_gflop_per_s for row in self.state.steps if row.reference_gflop_per_s]
        share = reference.drift([self.state.reference_gflop_per_s, *speeds])
        if share is None or share >= reference.THROTTLED or self.state.steps[-1].busy:
            return
        console.warn(f"The reference product has {100 * share:.0f} % of its first speed: this machine is throttled, "
                     f"hot perhaps; resting {COOL_S:.0f} seconds")  # fmt: skip
        time.sleep(COOL_S)

    def _take(self, step: Step, work: Work) -> StepResult:
        """Take one step; its failure is a result like any other."""
        blocker = self._blocker(work.place)
        begin = StepResult(work.place.backend, work.place.stack, step.name, step.about, SKIPPED, 0.0)
        if blocker:
            begin.problem = f"{blocker} failed"
            return begin
        began, before = time.monotonic(), _newest(work.folder)
        try:
            findings = step.do(work)
        except ZooError as error:
            if error.exit_code == INTERRUPTED:
                raise KeyboardInterrupt from error
            findings = Findings(problem=error.message, remedy=error.remedy)
            begin.issues = explained(error, work.place.backend)
        begin.seconds = round(time.monotonic() - began, 3)
        begin.state = FAILED if findings.problem else PASSED
        begin.words, begin.figures = findings.words, findings.figures
        begin.problem, begin.remedy = findings.problem, findings.remedy
        begin.proposal = findings.proposal
        newest = findings.run.folder if findings.run else _newest(work.folder)
        begin.record = newest.name if newest and newest != before else ""
        begin.busy = _is_busy()
        begin.reference_gflop_per_s = round(reference.gflop_per_s(), 3)
        return begin

    def _blocker(self, place: Place) -> str:
        """Return the name of a step that failed and without which the others make no sense."""
        for step in plan.steps_of(place, self.state.mode):
            result = self.state.result(place, step.name)
            if step.needed and result is not None and result.state != PASSED:
                return step.name
        return ""


def opened(root: Path, mode: str, backend: str | None, stack: str, mnist: str | None, on_battery: bool) -> Session:
    """Return the session that the same command left unfinished, or a new one.

    Args:
        root: folder of all run folders.
        mode: quick or whole.
        backend: only this one, or None.
        stack: ``best``, ``all`` or a name.
        mnist: folder of the files of MNIST, or None.
        on_battery: do not wait until the machine is plugged in.

    Raises:
        ZooError: nothing works here, or nothing can be written there.
    """
    here, chosen = machine.probe(), plan.places(backend, stack)
    commit = identity()
    for folder in sorted(root.glob(f"{PREFIX}*"), reverse=True):
        state = _unfinished(folder)
        if state and (state.mode, state.places, state.commit) == (mode, chosen, commit):
            return Session(folder.resolve(), state, mnist, on_battery)
    stamp = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    named = re.sub(r"[^\w-]+", "-", mode)
    folder = (root / f"{PREFIX}{named}-{stamp}").resolve()
    state = Certification(
        mode=mode, hardware=hardware(here), machine=machine.describe(here), platform=here.platform, commit=commit,
        date=_today(), power=str(power.read()), reference_gflop_per_s=round(reference.gflop_per_s(), 3),
        places=chosen,
    )  # fmt: skip
    _make(folder)
    state.write(folder)
    return Session(folder, state, mnist, on_battery)


def _make(folder: Path) -> None:
    try:
        (folder / "runs").mkdir(parents=True)
    except OSError as error:
        raise storage_error("write", folder, error) from error


def _unfinished(folder: Path) -> Certification | None:
    """Return the state in a folder; None where it is finished, missing or of another version."""
    try:
        state = of(json.loads((folder / STATE).read_text(encoding="utf-8")), str(folder))
    except (OSError, ValueError, ZooError):
        return None
    return None if state.finished else state


def identity() -> str:
    """Return which zoo this is: its commit, or its version."""
    return records.git_commit() or f"version {lifecycle.version()}"


def hardware(here: Machine) -> str:
    """Return what computes in a machine, as a part of a file's name: ``apple-m1-8gb``."""
    gpus = [gpu.name for gpu in here.gpus if gpu.name != here.chip]
    size = f"{round(here.memory_bytes / 2**30)}gb" if here.memory_bytes else ""
    named = re.sub(r"\((?:R|TM|tm|r)\)|\bCPU\b|@.*", " ", " ".join([here.chip, *gpus]))
    return re.sub(r"[^a-z0-9]+", "-", f"{named} {size}".lower()).strip("-")


def words(seconds: float) -> str:
    """Return a time as it is said: ``40 seconds``, ``12 minutes``."""
    return f"{max(1, round(seconds))} seconds" if seconds < 90 else f"{round(seconds / 60)} minutes"


def _newest(folder: Path) -> Path | None:
    runs = [path for path in folder.glob("*") if (path / records.RECORD).is_file()] if folder.is_dir() else []
    return max(runs, key=lambda path: (path / records.RECORD).stat().st_mtime_ns, default=None)


def _is_busy() -> bool:
    """Whether more processes were ready to run in the last minute than a single run keeps so."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()

"""Execute sweeps in this process, or by a launcher in local or remote processes."""

import contextlib
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from zoo.config import compose, declared
from zoo.config.overrides import USER, Overrides, all_at_once
from zoo.config.schemas.launching import LauncherSettings
from zoo.core import console
from zoo.core.errors import INTERRUPTED, ZooError, listed
from zoo.core.paths import user_path
from zoo.execution import launchers
from zoo.execution.sweeps import attempts, drive, record, table
from zoo.execution.sweeps.record import Element, Sweep
from zoo.runs import lock, result, resume
from zoo.runs.result import Run
from zoo.tasks import discovery

# Name of the layer of overrides with the values of an element.
SWEEP = "sweep"
Execute = Callable[[Overrides], Run]


@dataclass(frozen=True)
class Planned:
    """A sweep to execute, its launcher, and whether its folder is new."""

    sweep: Sweep
    launcher: LauncherSettings
    is_new: bool = False


def is_elsewhere(overrides: Overrides) -> bool:
    """Return whether overrides name a launcher that executes runs outside of this process."""
    name = overrides.get("launcher") or overrides.get("launcher.name")
    if (overrides.get("distributed.nodes") or "1") != "1":
        return False  # its first processes are local, and the launcher starts the rest
    return name is not None and launchers.is_elsewhere(name)


def refuse_needless(overrides: Overrides) -> None:
    """Raise an error if a single run on this machine has settings that are for several runs."""
    given = [entry.text for entry in overrides.only("launcher.jobs", "launcher.retries") if entry.layer == USER]
    if given and (overrides.get("distributed.nodes") or "1") == "1":
        raise ZooError(f"{listed(given)} has no effect on one run", "Remove it, or sweep: -m KEY=A,B")


def begin(verb: str, overrides: Overrides) -> Planned:
    """Check the settings of all elements and create the folder of a new sweep."""
    own, rest = record.separate(overrides)
    elements, settings = _checked(verb, _elements(rest), own)
    return Planned(record.create(verb, overrides, elements), settings, is_new=True)


def checked(verb: str, overrides: Overrides) -> list[Overrides]:
    """Return the settings of each run of a sweep; raise ZooError for a wrong one."""
    own, rest = record.separate(overrides)
    return [own | Overrides.parse(each.words) for each in _checked(verb, _elements(rest), own)[0]]


def _elements(rest: Overrides) -> list[Element]:
    """Return the elements, with the folder for ``run=NAME``: the runs of a sweep have another ``output.root``."""

    def in_full(word: str) -> str:
        name = Overrides.parse([word]).get("run") if word.startswith("run=") else None
        return f"run={result.named(name, rest.get('output.root')).folder}" if name else word

    return [replace(each, words=[*map(in_full, each.words)]) for each in record.elements_of(rest)]


def named(overrides: Overrides) -> Path | None:
    given = overrides.get(resume.KEY)
    if not given or given in ("last", resume.AUTO):
        return None
    folder = user_path(given)
    return folder if record.is_sweep(folder) else None


def reopen(verb: str, folder: Path, overrides: Overrides) -> Planned:
    """Open a sweep to complete it.

    Paths outside ``folder`` must be given again in the overrides, because its record may come from a third party.
    """
    sweep = record.load(folder)
    if sweep.verb != verb:
        raise ZooError(f"{folder} is a sweep of `{sweep.verb}`, not of `{verb}`", f"python -m zoo {sweep.verb} ...")
    given, rest = record.separate(overrides.without(resume.KEY))
    elements = [Overrides.parse(each.words) for each in sweep.elements]
    needed = dict.fromkeys(entry.text for each in elements for entry in each if resume.reaches_out(entry))
    wrong = [text for text in rest.words if text not in needed]
    if wrong:
        raise ZooError(f"Cannot resume this sweep with {listed(wrong)}", "Remove it, or start a new sweep.")
    missing = [text for text in needed if text not in rest.words]
    if missing:
        raise ZooError(
            f"The record of {folder} names paths outside of it: {listed(missing)}",
            f"Give again what you trust: {verb} {shlex.join([f'{resume.KEY}={folder}', *missing])}",
        )
    return Planned(sweep, _checked(verb, sweep.elements, _launcher(sweep, given))[1])


def _launcher(sweep: Sweep, given: Overrides) -> Overrides:
    """Return the settings of the launcher: those of the sweep, overridden by new ones."""
    known = [key for key in declared.everywhere() if key.startswith("launcher.")]
    inward = {"launcher", *(key for key in known if not declared.is_outward(key))}
    old = Overrides.parse(sweep.launcher).without(*given.layers)
    outward = old.without(*inward)
    if outward:
        console.warn(f"Not taken from the sweep's record: {' '.join(outward.words)}. Repeat them if you need them")
    return old.only(*inward) | given


def _checked(verb: str, elements: list[Element], launcher: Overrides) -> tuple[list[Element], LauncherSettings]:
    """Compose the settings of all elements, so that mistakes are reported before any run.

    Return the elements without settings that have no effect, and the launcher's settings.
    """
    settings, effective = LauncherSettings(), []
    sentences: dict[str, str] = {}
    ineffective: list[set[str]] = []
    if len(elements) > 100:
        console.say(f"Checking the settings of {len(elements):,} runs")
    for element in elements:
        own = Overrides.parse(element.words, SWEEP)
        words = own | launcher
        composed = compose.composed(discovery.command_of(verb, words), words)
        settings = composed.settings.launcher
        needless = composed.needless(SWEEP)
        sentences |= needless
        ineffective.append(set(composed.needless(SWEEP, defaults=True)))
        effective.append(replace(element, words=own.without(*needless).words))
    launchers.load(settings.name)
    useless = sorted(sentences.keys() & set.intersection(*ineffective)) if ineffective else []
    if useless:
        raise all_at_once([sentences[key] for key in useless])
    return effective, settings


def execute(planned: Planned, run_one: Execute, shown: Callable[[Run], None]) -> int:
    """Execute all elements without a complete run; return 0 if all are complete, 1 if not, 130 after Ctrl-C.

    ``run_one`` executes a run in this process; ``shown`` is called with every run that ended in this process.
    """
    sweep, settings = planned.sweep, planned.launcher
    words = ["python", "-m", "zoo", sweep.verb, f"{resume.KEY}={sweep.folder}"]
    handle = lock.take(sweep.folder, words)
    try:
        if settings.name == "local" and (settings.jobs or 1) == 1:
            _here(sweep, settings.retries, run_one, shown)
        else:
            _by_launcher(planned)
    except KeyboardInterrupt:
        console.say(f"Stopped. To resume: {shlex.join(words)}")
        return INTERRUPTED
    finally:
        lock.release(handle)
    return 1 if sweep.missing() else 0


def _by_launcher(planned: Planned) -> None:
    sweep, settings = planned.sweep, planned.launcher
    if not sweep.missing():
        return
    with contextlib.ExitStack() as opened:
        try:
            executor = opened.enter_context(launchers.executor(settings, sweep.folder / ".engine"))
        except ZooError:
            if planned.is_new:  # no run was started, and none can be without the engine
                shutil.rmtree(sweep.folder, ignore_errors=True)
            raise
        draw = opened.enter_context(console.live_table(f"sweep {sweep.folder}", table.HEADINGS))
        drive.drive(sweep, executor, settings.name, settings.retries, table.Shown(sweep, draw))


def _here(sweep: Sweep, retries: int, run_one: Execute, shown: Callable[[Run], None]) -> None:
    """Execute the elements one by one; a failed one is reported and does not stop the rest. Ctrl-C does."""
    for element in sweep.missing():
        for _ in range(retries + 1):
            console.say(f"\n[{int(element.name)}/{len(sweep.elements)}] {' '.join(element.words)}")
            try:
                run = run_one(Overrides.parse(attempts.settings(sweep, element)))
            except ZooError as error:
                console.fail(error.message, error.remedy)
                if error.exit_code == INTERRUPTED:
                    raise KeyboardInterrupt from error
                if not sweep.attempts(element):  # rejected before it began, as a retry would be
                    break
                continue
            shown(run)
            if run.exit == "interrupted":
                raise KeyboardInterrupt
            break


def single(verb: str, overrides: Overrides) -> Run:
    """Execute one run on another machine, as a sweep of one element."""
    folder = named(overrides)
    planned = reopen(verb, folder, overrides) if folder else begin(verb, overrides)
    code = execute(planned, lambda _: _unused(), lambda _: None)
    (element,) = planned.sweep.elements[:1]
    run = planned.sweep.run_of(element)
    if run is None or code:
        words = drive.ending(planned.sweep, element, 1)
        raise ZooError(words, f"Its log: {planned.sweep.log(element.name)}", code or 1)
    return result.open_run(Path(run["folder"]))


def _unused() -> Run:
    raise AssertionError("a run elsewhere is not executed here")

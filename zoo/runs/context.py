"""The straight line that every run takes: settings, machine, backend, environment, worker, record."""

import contextlib
import dataclasses
import errno
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from zoo import protocol
from zoo.config import compose, references
from zoo.config.schemas.common import Settings
from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.core.files import write_json
from zoo.environments import machine, selection, store
from zoo.runs import (
    event_display,
    known_issues,
    mlflow_tracking,
    probe_cache,
    records,
    resume,
    retry,
    watchdog,
    worker_process,
)
from zoo.runs import lock as run_lock

RECORD_FORMAT = 1
ROOM = "Make room there, or choose another place: output.root=FOLDER"
STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


@dataclass
class Line:
    """What the steps of one run hand on to each other."""

    verb: str
    settings: Settings
    text: str
    overrides: list[str]
    choice: selection.Choice
    machine: machine.Machine
    reference: references.Reference | None = None
    folder: Path = Path()
    record: dict[str, Any] = field(default_factory=dict)
    resumes: Path | None = None
    before: dict[str, Any] = field(default_factory=dict)
    lock: int | None = None


def prepare(verb: str, overrides: list[str], task: str) -> Line:
    """Settle on settings, machine, backend and stack; nothing is built yet.

    Raises:
        ZooError: as :func:`settle`.
    """
    here = machine.probe()
    resumes = resume.folder_of(overrides) if resume.told(overrides) else None
    overrides = [text for text in overrides if text.partition("=")[0] != resume.KEY]
    reference = references.chosen(overrides)
    for remark in references.remarks(reference, here) if reference else []:
        console.say(remark)
    overrides, settings, text, choice = settle(verb, overrides, task, here, reference)
    if getattr(settings, "mlflow", None):
        mlflow_tracking.check(str(getattr(settings, "mlflow")))  # noqa: B009
    _say_choice(choice)
    paths.make_cache()
    return Line(verb, settings, text, overrides, choice, here, reference, resumes=resumes)


def refuse_untrainable(line: Line) -> None:
    """Stop where backend or stack cannot train.

    Raises:
        ZooError: which of them, and what is known of it.
    """
    if not (line.choice.backend.trains and line.choice.stack.trains):
        what = (
            f"Stack {line.choice.stack.name}" if line.choice.backend.trains else f"Backend {line.choice.backend.name}"
        )
        raise ZooError(f"{what} cannot train: {line.choice.stack.about}", "`python -m zoo doctor` tells what can.")


def settle(
    verb: str,
    overrides: list[str],
    task: str,
    here: machine.Machine,
    reference: references.Reference | None = None,
) -> tuple[list[str], Settings, str, selection.Choice]:
    """Settle overrides, settings, their text, backend and stack for a machine.

    Raises:
        ZooError: wrong settings, or nothing that serves them on that machine.
    """
    overrides, choice = _name_backend(references.expand(overrides, reference), here)
    settings, text = compose.compose_with_text(verb, overrides, task)
    if choice is None:
        choice = selection.choose(settings.backend.name, here, settings.stack, settings.backend.python)
    return overrides, settings, text, choice


def _say_choice(choice: selection.Choice) -> None:
    console.say(f"Backend {choice.backend.name}, stack {choice.stack.name}")
    for reason in choice.reasons:
        console.say(f"  {reason}")


def _name_backend(overrides: list[str], here: machine.Machine) -> tuple[list[str], selection.Choice | None]:
    """Put the name of the chosen backend where the overrides have none or ``auto``: Hydra needs it for the recipe."""
    if compose.chosen("backend", overrides) not in (None, "auto"):
        return overrides, None
    choice = selection.choose(
        None, here, compose.chosen("stack", overrides), compose.chosen("backend.python", overrides)
    )
    rest = [text for text in overrides if not text.startswith("backend=")]
    return [*rest, f"backend={choice.backend.name}"], choice


def composed_text(verb: str, overrides: list[str], task: str) -> str:
    """The settings that a verb would run with, as YAML."""
    return compose.composed_text(verb, _name_backend(references.expand(overrides), machine.probe())[0], task)


def open_folder(line: Line, words: list[str]) -> None:
    """Make the run folder, named by the time and these words, with the settings and a first record in it.

    Where a run is resumed it is the folder of that run, and its record goes on.

    Raises:
        ZooError: another process writes there, nothing can be written there, or the settings are another run's.
    """
    if line.resumes:
        _open_again(line, line.resumes)
        return
    output = line.settings.output
    line.folder = records.new_folder(Path(output.root).expanduser(), output.name, words)
    line.lock = run_lock.take(line.folder, ["python", "-m", "zoo", line.verb, *line.overrides])
    (line.folder / "config.yaml").write_text(line.text, encoding="utf-8")
    line.record = {
        "format": RECORD_FORMAT,
        "zoo_version": version(),
        "verb": line.verb,
        "exit": "running",
        "started": records.now(),
        "command": ["python", "-m", "zoo", line.verb, *line.overrides],
        "config": dataclasses.asdict(line.settings),
        "model": dataclasses.asdict(line.settings).get("model", {}).get("name"),
        "backend": line.choice.backend.name,
        "promise": line.choice.promise,
        "reasons": line.choice.reasons,
        "stack": _stack_record(line),
        "machine": dataclasses.asdict(line.machine),
        "git_commit": records.git_commit(),
        "phases": {},
    }
    write_json(line.folder / records.RECORD, line.record)


def _open_again(line: Line, folder: Path) -> None:
    resume.refuse_changes(line.settings, records.read(folder))
    line.folder = folder
    line.lock = run_lock.take(folder, ["python", "-m", "zoo", line.verb, f"{resume.KEY}={folder}"])
    line.before = records.read(folder)
    now: dict[str, Any] = {
        "backend": line.choice.backend.name,
        "promise": line.choice.promise,
        "reasons": line.choice.reasons,
    }
    now |= {"stack": _stack_record(line), "machine": dataclasses.asdict(line.machine)}
    line.record = resume.reopened(line.before) | now
    write_json(folder / records.RECORD, line.record)
    console.say(f"Going on with {folder}")


def version() -> str:
    """The zoo's own version; ``unknown`` in a checkout that is not installed."""
    try:
        return metadata.version("keras-gpu-zoo")
    except metadata.PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"


def _stack_record(line: Line) -> dict[str, Any]:
    stack, platform = line.choice.stack, line.machine.platform
    row = stack.platforms.get(platform)
    return {
        "name": stack.name,
        "framework": stack.framework,
        "keras": stack.keras,
        "platform": platform,
        "stand_in_for": row.stand_in_for if row else None,
    }


@contextlib.contextmanager
def recorded(line: Line) -> Iterator[None]:
    """Whatever happens inside, the folder ends with a complete ``run.json``."""
    began = time.monotonic()
    try:
        yield
    except ZooError as error:
        line.record |= {"exit": "failed", "error": {"message": error.message, "remedy": error.remedy}}
        raise
    except KeyboardInterrupt:
        line.record |= {"exit": "interrupted"}
        raise
    except BaseException as error:
        line.record |= {
            "exit": "failed",
            "error": {"message": f"{type(error).__name__}: {error}", "remedy": ""},
        }
        if isinstance(error, OSError) and error.errno in STORAGE:
            raise ZooError(
                f"Cannot write the run folder {line.folder}: {error.strerror}",
                "\n".join([ROOM, *retry.ways_on(line.folder, worker_process.Outcome(), line.record)]),
            ) from error
        raise
    finally:
        line.record["finished"] = records.now()
        line.record["seconds"] = round(line.before.get("seconds", 0.0) + time.monotonic() - began, 3)
        _close_record(line)
        if getattr(line.settings, "mlflow", None):
            mlflow_tracking.tell(str(getattr(line.settings, "mlflow")), line.folder, line.record)  # noqa: B009
        if line.lock is not None:
            run_lock.release(line.lock)


def _close_record(line: Line) -> None:
    try:
        _list_artifacts(line)
        write_json(line.folder / records.RECORD, line.record)
    except (OSError, ZooError) as error:  # said and no more: what stopped the run is on its way already
        console.warn(f"{line.folder / records.RECORD} could not be brought up to date: {error}")


def _list_artifacts(line: Line) -> None:
    files = sorted(path for path in line.folder.iterdir() if path.is_file() and _is_artifact(path.name))
    line.record["artifacts"] = [records.describe_file(line.folder, path) for path in files]


def _is_artifact(name: str) -> bool:
    return name != records.RECORD and not name.startswith(".") and not name.endswith(".part")


def _ready_python(line: Line) -> store.Environment:
    """The environment to work in: the zoo's own, or the user's where ``backend.python`` names one."""
    own = line.settings.backend.python
    if own is None:
        return _explained(line)
    environment, differences = store.use_own(Path(own), line.choice.stack)
    line.record["stack"]["own_python"] = own
    line.record["stack"]["differences"] = differences
    for difference in differences:
        console.warn(f"Your environment differs from the lock: {difference}")
    return environment


def _explained(line: Line) -> store.Environment:
    """The zoo's own environment; where it cannot be built, with what is known of such a failure."""
    try:
        return store.ensure(line.choice.stack, line.machine.platform)
    except ZooError as error:
        findings = known_issues.explain(error.message, line.choice.backend.name)
        if findings:
            error.remedy = f"{known_issues.render(findings)}\n{error.remedy}"
        raise


def work(
    line: Line,
    request: dict[str, Any],
    watch: event_display.Show | None = None,
    feed: worker_process.Feed | None = None,
    live: bool = True,
    started: Callable[[], None] | None = None,
) -> worker_process.Outcome:
    """Make the environment ready, run the worker on the request, and note what it says of itself.

    Args:
        line: the run.
        request: see :func:`request_of`.
        watch: called with every event of the worker, after it is shown.
        feed: see :func:`zoo.runs.worker_process.run`.
        live: draw bars; false where several workers are at work at once.
        started: called as soon as the worker runs, for what is best done beside it; must return at once.
    """
    environment = _ready_python(line)
    shutil.copyfile(environment.lock, line.folder / "requirements.lock")
    line.record["stack"] |= {
        "lock_sha256": environment.lock_sha256,
        "python": environment.python_version,
        "environment": str(environment.folder),
    }
    line.record["versions"] = environment.versions
    line.record["phases"]["environment_s"] = round(environment.build_s, 3)
    if line.resumes:
        resume.refuse_other_data(line.before, line.record)
        request = retry.resumed(request)
    before = probe_cache.known(environment, line.machine, request["device"]) if _probes_count(line) else None
    if before:
        request = request | {"probes": before.rows}
    variables = store.child_environment(line.choice.stack, line.choice.env)
    with event_display.following(f"Starting {line.choice.stack.name}", live) as show:

        def told(event: dict[str, Any]) -> None:
            show(event)
            if watch is not None:
                watch(event)

        def once(path: Path) -> worker_process.Outcome:
            return worker_process.run(environment.python, variables, path, told, feed, _guard(line), started)

        outcome = retry.until_done(line.folder, line.record, request, once)
    line.record["device"] = outcome.start.get("device")
    line.record["probes"] = outcome.start.get("probes")
    line.record["probes_from"] = before.date if before else None
    if _probes_count(line) and not before:
        probe_cache.keep(environment, line.machine, request["device"], outcome.start.get("probes") or [])
    line.record["versions"] = {**environment.versions, **_spoken_versions(outcome)}
    line.record["phases"] |= _phases(line, outcome)
    line.record["metrics"] = outcome.done.get("metrics", {})
    line.record["peak_memory_bytes"] = outcome.done.get("peak_memory_bytes")
    line.record["exit"] = "interrupted" if outcome.interrupted else "completed" if outcome.done else "failed"
    if outcome.done.get("stopped"):
        line.record["stopped"] = outcome.done["stopped"]
    return outcome


def _probes_count(line: Line) -> bool:
    """Whether what the probes find holds for later runs: in an environment of the user's own anything may change."""
    return line.settings.backend.probes and line.settings.backend.python is None


def _guard(line: Line) -> watchdog.Guard:
    trainer = getattr(line.settings, "trainer", None)
    return watchdog.Guard(
        lock=line.lock,
        hang_s=60 * getattr(trainer, "hang_minutes", 0.0),
        outlives_terminal=getattr(trainer, "on_hangup", "stop") == "continue",
    )


def _phases(line: Line, outcome: worker_process.Outcome) -> dict[str, float]:
    """Seconds by phase, those before interruptions included."""
    spent = line.before.get("phases", {})
    return {key: round(spent.get(key, 0.0) + value, 4) for key, value in outcome.done.get("phases", {}).items()}


def _spoken_versions(outcome: worker_process.Outcome) -> dict[str, str]:
    """Versions as the libraries themselves say; they outrank what the installer wrote down."""
    return {str(name): str(number) for name, number in outcome.start.get("versions", {}).items()}


def _device(line: Line) -> dict[str, Any]:
    return {
        "backend": line.choice.backend.name,
        "framework": line.choice.stack.framework,
        "promise": line.choice.promise,
        "id": line.settings.backend.device or line.choice.device_hint,
    }


def request_of(line: Line, model: dict[str, Any], module: str) -> dict[str, Any]:
    arguments = {key: value for key, value in model.items() if key not in ("name", "about", "task")}
    return {
        "protocol": protocol.PROTOCOL,
        "verb": line.verb,
        "job": module,
        "run_dir": str(line.folder),
        "stack": {"framework": line.choice.stack.framework, "keras": line.choice.stack.keras},
        "device": _device(line),
        "probes": line.settings.backend.probes,
        "tensorboard": getattr(line.settings, "tensorboard", False),
        "model": {"name": model["name"], "args": arguments},
    }


def raise_if_failed(line: Line, outcome: worker_process.Outcome) -> None:
    """Raise what the worker died of, unless it finished or was told to stop.

    Raises:
        ZooError: with the worker's words and what is known of them.
    """
    if not outcome.done and not outcome.interrupted:
        error = worker_process.failure(outcome, line.folder, line.choice.backend.name)
        raise ZooError(error.message, "\n".join([error.remedy, *retry.ways_on(line.folder, outcome, line.record)]))

"""The straight line that every run takes: settings, machine, backend, environment, worker, record."""

import contextlib
import dataclasses
import errno
import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from zoo import backends, config, envs, explain, machine, progress, records, references, runner, screen
from zoo.errors import ZooError
from zoo.settings import Settings

PROTOCOL = 1
RECORD_FORMAT = 1
STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


@dataclass
class Line:
    """What the steps of one run hand on to each other."""

    verb: str
    settings: Settings
    text: str
    overrides: list[str]
    choice: backends.Choice
    machine: machine.Machine
    reference: references.Reference | None = None
    folder: Path = Path()
    record: dict[str, Any] = field(default_factory=dict)


def prepare(verb: str, overrides: list[str], task: str) -> Line:
    """Settle on settings, machine, backend and stack; nothing is built yet.

    Raises:
        ZooError: as :func:`settle`.
    """
    here = machine.probe()
    reference = references.chosen(overrides)
    for remark in references.remarks(reference, here) if reference else []:
        progress.say(remark)
    overrides, settings, text, choice = settle(verb, overrides, task, here, reference)
    _say_choice(choice)
    return Line(verb, settings, text, overrides, choice, here, reference)


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
) -> tuple[list[str], Settings, str, backends.Choice]:
    """Settle overrides, settings, their text, backend and stack for a machine.

    Raises:
        ZooError: wrong settings, or nothing that serves them on that machine.
    """
    overrides, choice = _name_backend(references.expand(overrides, reference), here)
    settings, text = config.compose_with_text(verb, overrides, task)
    if choice is None:
        choice = backends.choose(settings.backend.name, here, settings.stack, settings.backend.python)
    return overrides, settings, text, choice


def _say_choice(choice: backends.Choice) -> None:
    progress.say(f"Backend {choice.backend.name}, stack {choice.stack.name}")
    for reason in choice.reasons:
        progress.say(f"  {reason}")


def _name_backend(overrides: list[str], here: machine.Machine) -> tuple[list[str], backends.Choice | None]:
    """Put the name of the chosen backend where the overrides have none or ``auto``: Hydra needs it for the recipe."""
    if config.chosen("backend", overrides) not in (None, "auto"):
        return overrides, None
    choice = backends.choose(
        None, here, config.chosen("stack", overrides), config.chosen("backend.python", overrides)
    )
    rest = [text for text in overrides if not text.startswith("backend=")]
    return [*rest, f"backend={choice.backend.name}"], choice


def composed_text(verb: str, overrides: list[str], task: str) -> str:
    """The settings that a verb would run with, as YAML."""
    return config.composed_text(verb, _name_backend(references.expand(overrides), machine.probe())[0], task)


def open_folder(line: Line, words: list[str]) -> None:
    """Make the run folder, named by the time and these words, with the settings and a first record in it."""
    output = line.settings.output
    line.folder = records.new_folder(Path(output.root).expanduser(), output.name, words)
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
    records.write_json(line.folder / records.RECORD, line.record)


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
                "Make room there, or choose another place: output.root=FOLDER",
            ) from error
        raise
    finally:
        line.record["finished"] = records.now()
        line.record["seconds"] = round(time.monotonic() - began, 3)
        _close_record(line)


def _close_record(line: Line) -> None:
    try:
        _list_artifacts(line)
        records.write_json(line.folder / records.RECORD, line.record)
    except OSError as error:  # said and no more: what stopped the run is on its way already
        progress.warn(f"{line.folder / records.RECORD} could not be brought up to date: {error.strerror or error}")


def _list_artifacts(line: Line) -> None:
    files = sorted(path for path in line.folder.iterdir() if path.is_file() and path.name != records.RECORD)
    line.record["artifacts"] = [records.describe_file(line.folder, path) for path in files]


def _ready_python(line: Line) -> envs.Environment:
    """The environment to work in: the zoo's own, or the user's where ``backend.python`` names one."""
    own = line.settings.backend.python
    if own is None:
        return _explained(line)
    environment, differences = envs.use_own(Path(own), line.choice.stack)
    line.record["stack"]["own_python"] = own
    line.record["stack"]["differences"] = differences
    for difference in differences:
        progress.warn(f"Your environment differs from the lock: {difference}")
    return environment


def _explained(line: Line) -> envs.Environment:
    """The zoo's own environment; where it cannot be built, with what is known of such a failure."""
    try:
        return envs.ensure(line.choice.stack, line.machine.platform)
    except ZooError as error:
        findings = explain.explain(error.message, line.choice.backend.name)
        if findings:
            raise ZooError(error.message, f"{explain.render(findings)}\n{error.remedy}") from error
        raise


def work(
    line: Line, request: dict[str, Any], watch: screen.Show | None = None, feed: runner.Feed | None = None
) -> runner.Outcome:
    """Make the environment ready, run the worker on the request, and note what it says of itself.

    Args:
        line: the run.
        request: see :func:`request_of`.
        watch: called with every event of the worker, after it is shown.
        feed: see :func:`zoo.runner.run`.
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
    path = line.folder / "request.json"
    path.write_text(json.dumps(request, indent=2), encoding="utf-8")
    with screen.following(f"Starting {line.choice.stack.name}") as show:

        def told(event: dict[str, Any]) -> None:
            show(event)
            if watch is not None:
                watch(event)

        outcome = runner.run(
            environment.python, envs.child_environment(line.choice.stack, line.choice.env), path, told, feed
        )
    line.record["device"] = outcome.start.get("device")
    line.record["probes"] = outcome.start.get("probes")
    line.record["versions"] = {**environment.versions, **_spoken_versions(outcome)}
    line.record["phases"] |= {key: round(value, 4) for key, value in outcome.done.get("phases", {}).items()}
    line.record["metrics"] = outcome.done.get("metrics", {})
    line.record["peak_memory_bytes"] = outcome.done.get("peak_memory_bytes")
    line.record["exit"] = "interrupted" if outcome.interrupted else "completed" if outcome.done else "failed"
    return outcome


def _spoken_versions(outcome: runner.Outcome) -> dict[str, str]:
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
        "protocol": PROTOCOL,
        "verb": line.verb,
        "work": module,
        "run_dir": str(line.folder),
        "stack": {"framework": line.choice.stack.framework, "keras": line.choice.stack.keras},
        "device": _device(line),
        "probes": line.settings.backend.probes,
        "model": {"name": model["name"], "args": arguments},
    }


def raise_if_failed(line: Line, outcome: runner.Outcome) -> None:
    """Raise what the worker died of, unless it finished or was told to stop.

    Raises:
        ZooError: with the worker's words and what is known of them.
    """
    if not outcome.done and not outcome.interrupted:
        raise runner.failure(outcome, line.folder, line.choice.backend.name)

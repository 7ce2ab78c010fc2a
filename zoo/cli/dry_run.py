"""Plan a run: list every step with its paths and versions, without executing it."""

import contextlib
import dataclasses
import io
import shlex
import sys
import textwrap
from pathlib import Path
from typing import Any

from zoo.config import compose, config_files, references
from zoo.config.overrides import Overrides, leaves
from zoo.config.schemas.classifiers import EvaluateConfig, InferConfig
from zoo.config.schemas.common import Settings
from zoo.config.schemas.image_classification import TrainConfig
from zoo.config.tasks import Command
from zoo.core import files, paths, planning
from zoo.core.paths import user_path
from zoo.environments import interpreters, machine, selection, stacks, store
from zoo.execution.launchers import ssh
from zoo.execution.sweeps import record
from zoo.runs import context, resume
from zoo.runs import folder as run_folder
from zoo.tasks import discovery, registry

WIDTH, HANG = 100, " " * 16
# Replaces the spaces in text that must not be split across lines.
NO_BREAK_SPACE = "\u00a0"


def lines(verb: str, overrides: Overrides, capture: Path | None = None, sweep: Overrides | None = None) -> list[str]:
    """Describe the steps of a run, here or on a machine with the captured outputs in ``capture``.

    ``sweep`` contains the settings of the sweep of which this is the first run.
    """
    here = machine.probe() if capture is None else machine.from_capture(capture)
    reference = references.chosen(overrides)
    remarks = references.remarks(reference, here) if reference else []
    overrides = registry.expand(verb, registry.with_gpu(overrides, here))
    command = discovery.command_of(verb, overrides)
    if capture is None and not paths.cache_dir().is_dir():
        files.check_writable(paths.cache_dir() / "data")
    reached, unchecked = (None, []) if capture else _checked(command, overrides)
    if reached is None:
        with contextlib.redirect_stderr(io.StringIO() if unchecked else sys.stderr):  # the checks printed the same
            composed, choice = context.resolve(command, overrides.without(resume.KEY), here, reference)
    else:
        composed, choice = reached.composed, reached.choice
    settings = composed.settings
    if settings.launcher.name == "ssh":
        ssh.read_hosts(settings.launcher.hosts)
    variables = " ".join(f"{name}={value}" for name, value in {**choice.stack.env, **choice.env}.items())
    worker = f"PYTHON -I -B {paths.WORKER.relative_to(paths.PACKAGE.parent)} RUN_FOLDER/request.json"
    proof = "a matrix product shows which device computes"
    if choice.device_kind == "gpu":
        gpu = f" ({choice.gpu.name})" if choice.gpu else ""
        proof = f"a matrix product must run on a GPU{gpu}, or the run stops"
    steps: list[tuple[str, list[str]]] = [
        ("machine", [machine.describe(here), *(f"note: {note}" for note in here.notes)]),
        ("settings", [*_recipe(settings), *_changed(composed)]),
        ("backend", [f"{choice.backend.name}, required device: {choice.device_kind.upper()}", *choice.reasons]),
        *_where(settings, choice.stack, here, own=capture is None),
        ("data", [*_data(settings), *unchecked]),
        ("worker", [worker, f"with {variables}"]),
        ("proof", [proof]),
        ("run folder", [_folder(verb, settings, sweep)]),
        ("evidence", _evidence(choice, here.platform)),
    ]
    plan = ["Plan (nothing is done now):"]
    for number, (name, (first, *rest)) in enumerate(steps, 1):
        plan += _fitted(first, f"{number:>2} {name:<12} ")
        plan += [line for text in rest for line in _fitted(text, HANG)]
    own = overrides if overrides.get(resume.KEY) else composed.overrides
    words = list(
        map(shlex.quote, ["python", "-m", "zoo", verb, *(own.words if sweep is None else ["-m", *sweep.words])])
    )
    to_run = " \\\n".join(_fitted(_unsplit(words, " "), "To run it: ", WIDTH - 2))
    return [*remarks, *plan, to_run]


def _folder(verb: str, settings: Settings, sweep: Overrides | None) -> str:
    if sweep is None:
        return f"{settings.output.root}/{settings.output.name or 'DATE_TIME_MODEL_BACKEND'}"
    root, name = record.place(sweep)
    run_folder.check_name(user_path(root), name)
    return f"{root}/{name or f'DATE_TIME_sweep_{verb}'}/001"


def _unsplit(texts: list[str], separator: str) -> str:
    """Join texts so that :func:`_fitted` keeps each of them on one line."""
    return separator.join(text.replace(" ", NO_BREAK_SPACE) for text in texts)


def _fitted(text: str, first: str, width: int = WIDTH) -> list[str]:
    """Wrap a text at ``width`` columns; longer words such as paths are not split."""
    fitted = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=HANG, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(NO_BREAK_SPACE, " ") for line in fitted]


def _checked(command: Command[Any], overrides: Overrides) -> tuple[context.RunContext[Any] | None, list[str]]:
    """Run a command until its work would begin; return its context and the checks that were skipped."""
    with planning.planning():
        try:
            command.run(overrides)
        except planning.PlanEnd as end:
            return end.reached, [f"{end.missing}: checks that need this are skipped"] if end.missing else []
    raise AssertionError(f"{command.verb} ended without a run folder")


def _recipe(settings: Settings) -> list[str]:
    if not isinstance(settings, TrainConfig):
        return []
    files = config_files.recipe_files(str(settings.model["name"]), settings.backend.name)
    shown = ", ".join(str(path.relative_to(paths.ROOT)) for path in files) or "none (the defaults apply)"
    shown = "any/large, medium or small, by the number of images" if "file" in settings.model else shown
    return [f"recipe {shown}"]


def _changed(composed: compose.Composed[Settings]) -> list[str]:
    """Return a row for each setting that differs from the task's default, with its origin; the user's come first."""
    values = dict(leaves(dataclasses.asdict(composed.settings)))
    own = {key: layer for key, layer in composed.set_by.items() if key in values and not key.startswith("expect.")}
    wide = max(map(len, own), default=0)
    rows = [f"{key:<{wide}}  {values[key]!s:<12} (set by {layer})" for key, layer in own.items()]
    rows.sort(key=lambda row: "(set by user)" not in row)
    return [*rows, "remaining settings: defaults (--cfg job prints them)"]


def _where(settings: Settings, stack: stacks.Stack, here: machine.Machine, own: bool) -> list[tuple[str, list[str]]]:
    if settings.backend.python:
        differences = store.inspect_own(Path(settings.backend.python), stack)[1] if own else []
        own_environment = ["your own: compared with the lock of the stack, but not changed", *differences]
        return [("python", [settings.backend.python]), ("environment", own_environment)]
    return [("python", _python(stack, here, own)), ("environment", _environment(stack, here, own))]


def _python(stack: stacks.Stack, here: machine.Machine, own: bool) -> list[str]:
    wanted = f"{stack.python} ({here.arch})"
    present = interpreters.find(stack.python, here.arch) if own else None
    if present:
        return [f"{wanted}: {present.path} ({present.version})"]
    if interpreters.is_downloadable(stack.python):
        return [f"{wanted}: {'missing here: ' if own else 'one of that machine, or '}downloaded by uv"]
    return [f"{wanted}: cannot be downloaded", *interpreters.how_to_get(stack.python, here.arch).splitlines()]


def _environment(stack: stacks.Stack, here: machine.Machine, own: bool) -> list[str]:
    lock = stacks.lock_file(stack, here.platform)
    pinned = stacks.pins(lock)
    present = store.list_environments(thorough=False) if own else []
    built = [row for row in present if row.stack == stack.name and row.state == "ready"]
    state = f"ready: {built[0].folder}" if built else f"will be built under {store.environments_dir()}"
    packages = _unsplit([f"{name} {version}" for name, version in sorted(pinned.items())], ", ")
    source = f"from {lock.relative_to(paths.ROOT)}, as of {stack.exclude_newer}, {len(pinned)} packages:"
    return [state, source, packages]


def _data(settings: Settings) -> list[str]:
    if isinstance(settings, InferConfig):
        return [str(settings.input)]
    if not isinstance(settings, TrainConfig | EvaluateConfig):
        return ["see settings"]
    place = settings.data.root or "the cache of zoo, or downloaded"
    known = {"auto": "MNIST if available, or the bundled digits", "digits": "bundled with scikit-learn"}
    return [f"{settings.data.name}: {known.get(settings.data.name, place)}"]


def _evidence(choice: selection.Selection, platform: str) -> list[str]:
    stack = choice.stack
    rows = [f"{row.grade}: {row.what} ({row.source})" for row in stack.evidence if row.platform == platform]
    rows = rows or [f"none for {stack.name} on {platform} (its lock resolves, but no run was recorded)"]
    if choice.device_kind == "gpu" and platform.startswith("macos"):
        on_macs = (row for stack in stacks.load_all() for row in stack.evidence if row.platform.startswith("macos"))
        if not any(row.grade == "measured" and row.device != "cpu" for row in on_macs):
            rows.append("no GPU of a Mac has been measured by this project yet")
    return rows

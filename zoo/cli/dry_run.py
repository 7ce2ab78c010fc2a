"""Plan a run: list every step with its paths and versions, without executing it."""

import dataclasses
from pathlib import Path
from typing import Any

from zoo.config import compose, config_files, references
from zoo.config.overrides import Overrides, leaves
from zoo.config.schemas.classifiers import ClassifierConfig, EvaluateConfig, InferConfig
from zoo.config.schemas.common import Settings
from zoo.config.schemas.image_classification import TrainConfig
from zoo.config.tasks import Command
from zoo.core import files, paths, planning
from zoo.environments import external, interpreters, machine, selection, stacks, store
from zoo.runs import context, resume
from zoo.tasks import discovery, registry


def lines(verb: str, overrides: Overrides, capture: Path | None = None) -> list[str]:
    """Describe the steps of a run.

    Args:
        verb: ``train`` or ``infer``.
        capture: a captured machine to plan for, see :func:`zoo.environments.machine.from_capture`.
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
        composed, choice = context.resolve(command, overrides.without(resume.KEY), here, reference)
    else:
        composed, choice = reached.composed, reached.choice
    settings = composed.settings
    steps: list[tuple[str, list[str]]] = [
        ("machine", [machine.describe(here)]),
        ("settings", [*_settings(settings), *_set_by(composed)]),
        ("backend", [f"{choice.backend.name}, required device: {choice.device_kind.upper()}", *choice.reasons]),
        *_where(settings, choice.stack, here, own=capture is None),
        ("data", [*_data(settings), *unchecked]),
        ("worker", _worker(choice)),
        ("proof", _proof(choice)),
        ("run folder", [f"{settings.output.root}/{settings.output.name or 'DATE_TIME_MODEL_BACKEND'}"]),
        ("evidence", _evidence(choice.stack, here.platform)),
    ]
    hang = "\n" + " " * 16
    plan = [f"{number:>2} {name:<12} {hang.join(body)}" for number, (name, body) in enumerate(steps, 1)]
    return [
        *remarks,
        "Plan (nothing is done now):",
        *plan,
        "To run it: " + " ".join(["python -m zoo", verb, *composed.overrides.words]),
    ]


def _checked(command: Command[Any], overrides: Overrides) -> tuple[context.RunContext[Any] | None, list[str]]:
    """Run a command until its work would begin; return its context, and what could not be checked yet."""
    with planning.planning():
        try:
            command.run(overrides)
        except planning.PlanEnd as end:
            return end.reached, [f"{end.missing}: what needs them is not checked"] if end.missing else []
    raise AssertionError(f"{command.verb} ended without a run folder")


def _set_by(composed: compose.Composed[Settings]) -> list[str]:
    values = dict(leaves(dataclasses.asdict(composed.settings)))
    lines: dict[str, list[str]] = {}
    for key, layer in composed.set_by.items():
        if key in values and not key.startswith("expect."):
            lines.setdefault(layer, []).append(f"{key}={values[key]}")
    return [f"set by {layer}: {' '.join(words)}" for layer, words in lines.items()]


def _settings(settings: Settings) -> list[str]:
    if isinstance(settings, ClassifierConfig):
        model = " ".join(f"{key}={value}" for key, value in settings.model.items() if key != "about")
        source = f"run={settings.run}" if settings.run else f"model {model}\nweights={settings.weights}"
        seen = f"input={settings.input} " if isinstance(settings, InferConfig) else ""
        return [*source.splitlines(), f"{seen}batch_size={settings.batch_size or 'default'}"]
    if not isinstance(settings, TrainConfig):
        return [f"{key}={value}" for key, value in vars(settings).items() if not dataclasses.is_dataclass(value)]
    model = " ".join(f"{key}={value}" for key, value in settings.model.items() if key != "about")
    files = config_files.recipe_files(str(settings.model["name"]), settings.backend.name)
    shown = ", ".join(str(path.relative_to(paths.ROOT)) for path in files) or "none (the defaults apply)"
    shown = "any/large, medium or small, by the number of images" if "file" in settings.model else shown
    trainer = " ".join(f"{key}={value}" for key, value in vars(settings.trainer).items())
    return [f"model {model}", f"recipe {shown}", trainer, f"seed={settings.seed} preset={settings.preset}"]


def _where(settings: Settings, stack: stacks.Stack, here: machine.Machine, own: bool) -> list[tuple[str, list[str]]]:
    if settings.backend.python:
        differences = external.inspect(Path(settings.backend.python), stack)[1] if own else []
        own_environment = ["your own: compared with the lock of the stack, never changed", *differences]
        return [("python", [settings.backend.python]), ("environment", own_environment)]
    return [("python", _python(stack, here, own)), ("environment", _environment(stack, here, own))]


def _python(stack: stacks.Stack, here: machine.Machine, own: bool) -> list[str]:
    wanted = f"{stack.python} ({here.arch})"
    present = interpreters.find(stack.python, here.arch) if own else None
    if present:
        return [f"{wanted}: {present.path} ({present.version})"]
    if interpreters.is_downloadable(stack.python):
        return [f"{wanted}: {'missing here: ' if own else 'one of that machine, else '}downloaded by uv"]
    return [f"{wanted}: cannot be downloaded", *interpreters.how_to_get(stack.python, here.arch).splitlines()]


def _environment(stack: stacks.Stack, here: machine.Machine, own: bool) -> list[str]:
    lock = stacks.lock_file(stack, here.platform)
    pinned = stacks.pins(lock)
    built = (
        [row for row in store.list_environments(thorough=False) if row.stack == stack.name and row.state == "ready"]
        if own
        else []
    )
    state = f"ready: {built[0].folder}" if built else f"will be built under {store.environments_dir()}"
    packages = ", ".join(f"{name} {version}" for name, version in sorted(pinned.items()))
    return [
        state,
        f"from {lock.relative_to(paths.ROOT)}, as of {stack.exclude_newer}, {len(pinned)} packages:",
        packages,
    ]


def _data(settings: Settings) -> list[str]:
    if isinstance(settings, InferConfig):
        return [str(settings.input)]
    if not isinstance(settings, TrainConfig | EvaluateConfig):
        return ["see settings"]
    place = settings.data.root or "the cache of zoo, else downloaded"
    known = {"auto": "MNIST if available, else the bundled digits", "digits": "bundled with scikit-learn"}
    return [f"{settings.data.name}: {known.get(settings.data.name, place)}"]


def _worker(choice: selection.Selection) -> list[str]:
    shown = " ".join(f"{name}={value}" for name, value in {**choice.stack.env, **choice.env}.items())
    return [f"PYTHON -I -B {paths.WORKER.relative_to(paths.PACKAGE.parent)} RUN_FOLDER/request.json", f"with {shown}"]


def _proof(choice: selection.Selection) -> list[str]:
    gpu = f" ({choice.gpu.name})" if choice.gpu else ""
    if choice.device_kind == "gpu":
        return [f"a matrix product must run on a GPU{gpu}, or the run stops"]
    return ["a matrix product shows which device computes"]


def _evidence(stack: stacks.Stack, platform: str) -> list[str]:
    rows = [f"{row.grade}: {row.what} ({row.source})" for row in stack.evidence if row.platform == platform]
    return rows or [f"none for {stack.name} on {platform} (its lock resolves, but no run was recorded)"]

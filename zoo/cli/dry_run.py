"""What a run would do, step by step, with every path and version, and nothing done."""

import dataclasses
from pathlib import Path

from zoo.config import config_files, references
from zoo.config.overrides import value_of
from zoo.config.schemas.common import Settings
from zoo.config.schemas.image_classification import InferConfig, TrainConfig
from zoo.core import paths
from zoo.environments import interpreters, machine, selection, stacks, store
from zoo.runs import context
from zoo.tasks import registry
from zoo.tasks.image_classification import predict_photos
from zoo.tasks.style_transfer import optimize


def lines(verb: str, overrides: list[str], capture: Path | None = None) -> list[str]:
    """Describe a run.

    Args:
        verb: ``train`` or ``infer``.
        overrides: as on the command line.
        capture: another machine than this one, see :func:`zoo.environments.machine.from_capture`.

    Raises:
        ZooError: what the run itself would be refused for.
    """
    here = machine.probe() if capture is None else machine.from_capture(capture)
    reference = references.chosen(overrides)
    remarks = references.remarks(reference, here) if reference else []
    task = registry.task_of(verb, overrides)
    if verb == "infer" and task == "classify" and value_of("model", overrides):
        overrides = predict_photos.fastest(overrides, here)
    if verb == "train" and task == "stylize":
        overrides = optimize.fastest(overrides, here)
    command = registry.command_of(verb, overrides)
    overrides, settings, _, choice = context.resolve(command, overrides, here, reference)
    steps: list[tuple[str, list[str]]] = [
        ("machine", [machine.describe(here)]),
        ("settings", _settings(settings)),
        ("backend", [f"{choice.backend.name}, promised: the {choice.required_device.upper()}", *choice.reasons]),
        *_where(settings, choice.stack, here, own=capture is None),
        ("data", _data(settings)),
        ("worker", _worker(choice)),
        ("proof", _proof(choice)),
        ("run folder", [f"{settings.output.root}/{settings.output.name or 'DATE_TIME_MODEL_BACKEND'}"]),
        ("evidence", _evidence(choice.stack, here.platform)),
    ]
    hang = "\n" + " " * 16
    told = [f"{number:>2} {name:<12} {hang.join(body)}" for number, (name, body) in enumerate(steps, 1)]
    return [
        *remarks,
        "Nothing of this is done now:",
        *told,
        "To do it: " + " ".join(["python -m zoo", verb, *overrides]),
    ]


def _settings(settings: Settings) -> list[str]:
    if isinstance(settings, InferConfig):
        model = " ".join(f"{key}={value}" for key, value in settings.model.items() if key != "about")
        who = f"run={settings.run}" if settings.run else f"model {model}\nweights={settings.weights}"
        return [*who.splitlines(), f"input={settings.input} batch_size={settings.batch_size or 'as usual'}"]
    if not isinstance(settings, TrainConfig):
        return [f"{key}={value}" for key, value in vars(settings).items() if not dataclasses.is_dataclass(value)]
    model = " ".join(f"{key}={value}" for key, value in settings.model.items() if key != "about")
    recipe = config_files.recipe_file(str(settings.model["name"]), settings.backend.name)
    shown = recipe.relative_to(paths.ROOT) if recipe else "none for this model and backend: the defaults"
    trainer = " ".join(f"{key}={value}" for key, value in vars(settings.trainer).items())
    return [f"model {model}", f"recipe {shown}", trainer, f"seed={settings.seed} preset={settings.preset}"]


def _where(settings: Settings, stack: stacks.Stack, here: machine.Machine, own: bool) -> list[tuple[str, list[str]]]:
    if settings.backend.python:
        told = ["your own: looked at, compared with the lock of the stack, never changed"]
        return [("python", [settings.backend.python]), ("environment", told)]
    return [("python", _python(stack, here, own)), ("environment", _environment(stack, here, own))]


def _python(stack: stacks.Stack, here: machine.Machine, own: bool) -> list[str]:
    wanted = f"{stack.python} ({here.arch})"
    found = interpreters.find(stack.python, here.arch) if own else None
    if found:
        return [f"{wanted}: {found.path} ({found.version})"]
    if interpreters.is_downloadable(stack.python):
        return [f"{wanted}: {'not found here: ' if own else 'one found there, else '}downloaded by uv"]
    return [f"{wanted}: not to be downloaded", *interpreters.how_to_get(stack.python, here.arch).splitlines()]


def _environment(stack: stacks.Stack, here: machine.Machine, own: bool) -> list[str]:
    lock = stacks.lock_file(stack, here.platform)
    pinned = stacks.pins(lock)
    built = (
        [row for row in store.list_environments() if row.stack == stack.name and row.state == "ready"] if own else []
    )
    state = f"ready: {built[0].folder}" if built else f"to be built under {store.environments_dir()}"
    packages = ", ".join(f"{name} {version}" for name, version in sorted(pinned.items()))
    return [
        state,
        f"from {lock.relative_to(paths.ROOT)}, as of {stack.exclude_newer}, {len(pinned)} packages:",
        packages,
    ]


def _data(settings: Settings) -> list[str]:
    if isinstance(settings, InferConfig):
        return [str(settings.input)]
    if not isinstance(settings, TrainConfig):
        return ["as the settings say"]
    place = settings.data.root or "the zoo's cache, else downloaded"
    known = {"auto": "MNIST where it can be had, else the bundled digits", "digits": "bundled with scikit-learn"}
    return [f"{settings.data.name}: {known.get(settings.data.name, place)}"]


def _worker(choice: selection.Selection) -> list[str]:
    shown = " ".join(f"{name}={value}" for name, value in {**choice.stack.env, **choice.env}.items())
    return [f"PYTHON -I -B {paths.WORKER.relative_to(paths.PACKAGE.parent)} RUN_FOLDER/request.json", f"with {shown}"]


def _proof(choice: selection.Selection) -> list[str]:
    gpu = f" ({choice.gpu.name})" if choice.gpu else ""
    if choice.required_device == "gpu":
        return [f"one matrix product must have run on a GPU{gpu}; else the run stops"]
    return ["one matrix product tells which device does the work"]


def _evidence(stack: stacks.Stack, platform: str) -> list[str]:
    rows = [f"{row.grade}: {row.what} ({row.source})" for row in stack.evidence if row.platform == platform]
    return rows or [f"none for {stack.name} on {platform}: its lock resolves, which is no evidence"]

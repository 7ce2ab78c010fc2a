"""Validation status of each recipe on each backend: the runs that count, and those that this machine can add."""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from zoo.config import bounds, compose, config_files, setting
from zoo.config.overrides import Overrides, leaves
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.environments import backends, selection, stacks
from zoo.environments import machine as machines
from zoo.runs import evidence, ranges
from zoo.tasks import discovery

# From best to worst; the last two are grades without a training run.
RESOLVED = "resolved"
GRADES = (*stacks.GRADES, stacks.LINKED, RESOLVED)
# Packages whose version is shown, the framework first.
FRAMEWORKS = ("tensorflow", "tensorflow-macos", "torch", "mlx", "plaidml", "jax")


@dataclasses.dataclass(frozen=True)
class Status:
    """The best known result of a recipe on a backend.

    Attributes:
        grade: one of :data:`GRADES`; empty if no stack can run it.
        versions: version of each package of the stack.
        date: date of the training run; without a run, the date of the lock.
        result: the metric, and whether it reached the target.
        stale: number of training runs that no longer count.
    """

    model: str
    backend: str
    grade: str = ""
    stack: str = ""
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    date: str = ""
    result: str = ""
    stale: int = 0

    @property
    def words(self) -> str:
        """Return the grade, framework, Keras and date: ``measured: torch 2.13.0, keras 3.15.1, 2026-11-26``."""
        named = [version(self.versions, FRAMEWORKS), version(self.versions, ("keras", "keras-nightly")), self.date]
        known = f"{self.grade}: {', '.join(filter(None, named))}" if self.grade else "-"
        return f"{known} ({self.stale} stale)" if self.stale else known


def version(versions: dict[str, str], packages: tuple[str, ...]) -> str:
    """Return name and version of the first available package, or an empty string."""
    return next((f"{name} {versions[name]}" for name in packages if name in versions), "")


def trained_models() -> list[str]:
    return [name for name in config_files.options("model") if config_files.recipe_files(name, "")]


def promised(model: str, backend: str) -> dict[str, dict[str, Any]]:
    """Return the promises of a recipe by data set."""
    command = discovery.command("train", config_files.task_of(model))
    settings = compose.compose(command, Overrides.of({"model": model, "backend": backend}))
    return {data: row for data, row in getattr(settings, "expect", {}).items() if row}


def recipe_sha256(model: str, backend: str, data: str) -> str:
    """Return the checksum of a recipe's numeric settings for a data set, and of its promise."""
    command = discovery.command("train", config_files.task_of(model))
    settings = compose.compose(command, ranges.point(command, model, backend, data))
    values = dict(leaves(dataclasses.asdict(settings)))
    known = {key: setting.of(command.schema, key) for key in values}
    # Recipes promise nothing for tables of images, labels, numbers and few images, so their settings do not count.
    kept = {key: value for key, value in values.items() if known[key].affects is setting.NUMBERS
            and key not in ("model.about", "data.target", "data.group", "fine_tune.probe", "trainer.loss")
            and known[key].needs != "data.name=image_table"}  # fmt: skip
    promise = getattr(settings, "expect", {}).get(data)
    return hashlib.sha256(json.dumps([kept, promise], sort_keys=True).encode()).hexdigest()


def discounted(
    model: str, backend: str, row: evidence.Row, checksum: Callable[[str, str, str], str] = recipe_sha256
) -> str:
    """Return why a recorded run does not count as validation, or an empty string."""
    if row["grade"] == "reported":
        return ""
    if row["preset"] != "full" or row.get("changed"):
        return "not the whole recipe"
    if str(row["commit"]).endswith("-dirty"):
        return "of a checkout with uncommitted changes"
    if row.get("recipe_sha256") != checksum(model, backend, row["data"]["name"]):
        return "stale: the recipe has changed"
    stack = stacks.load(row["stack"]) if row["stack"] in stacks.names() else None
    lock = stacks.lock_file(stack, row["platform"]) if stack and row["platform"] in stack.platforms else None
    return "" if lock and file_sha256(lock) == row.get("lock_sha256") else "stale: the lock has changed"


def rows_of(model: str, backend: backends.Backend, own: bool = True) -> list[evidence.Row]:
    """Return the recorded runs of a recipe, including runs on CPU builds that stand in for its stacks.

    ``own`` includes the user's own training runs, which are not part of the zoo.
    """
    files = (evidence.file, evidence.own_file)[: 1 + own]
    rows = [row for file in files for row in evidence.read_file(file(model, backend.name))]
    if backend.name != "cpu":
        others = [row for file in files for row in evidence.read_file(file(model, "cpu"))]
        rows += [row for row in others if row["grade"] == "stand-in" and row["stack"] in backend.stacks]
    return rows


def status(model: str, backend: backends.Backend, rows: list[evidence.Row]) -> Status:
    """Return the best known result of a recipe on a backend, from its recorded runs."""
    checksum = functools.cache(recipe_sha256)  # composing settings takes long
    reasons = [discounted(model, backend.name, row, checksum) for row in rows]
    counted = [row for row, reason in zip(rows, reasons, strict=True) if not reason]
    stale = sum(reason.startswith("stale") for reason in reasons)
    if not counted:
        return dataclasses.replace(_untrained(model, backend), stale=stale)
    best = min(GRADES.index(row["grade"]) for row in counted)
    row = max((row for row in counted if row["grade"] == GRADES[best]), key=_newness)
    result = evidence.figure(row)
    return Status(model, backend.name, row["grade"], row["stack"], row["versions"], row["date"], result, stale)


def _newness(row: evidence.Row) -> tuple[list[int], str]:
    keras = str(row["versions"].get("keras", "0"))
    return [int(part) for part in keras.split(".") if part.isdecimal()], row["date"]


def _untrained(model: str, backend: backends.Backend) -> Status:
    """Return the status of a recipe without counted runs, from the best locked stack."""
    named = set(stacks.names())
    devices = {entry.device for entry in backend.serves}
    statuses = []
    for stack in map(stacks.load, filter(named.__contains__, backend.stacks)):
        linked = {entry.platform for entry in stack.evidence if entry.grade == stacks.LINKED}
        for platform, row in stack.platforms.items():
            if not row.stand_in_for and ("any" in devices or devices & set(row.devices)):
                grade = stacks.LINKED if platform in linked else RESOLVED
                pins = stacks.pins(stacks.lock_file(stack, platform))
                statuses.append(Status(model, backend.name, grade, stack.name, pins, stack.exclude_newer))
    return min(statuses, key=lambda each: GRADES.index(each.grade), default=Status(model, backend.name))


@dataclasses.dataclass(frozen=True)
class Planned:
    """A training run that would validate a recipe here; ``seconds`` is the time of an earlier run, or None."""

    overrides: Overrides
    seconds: float | None


def planned(given: Overrides, machine: machines.Machine) -> Iterator[Planned]:
    """Yield the training runs for all recipes that this machine can run and has not validated yet.

    Args:
        given: settings of each run; ``model``, ``backend`` and ``stack`` restrict the selection. ``data.root``
            has a folder with the name of each data set, or files with the promised checksums anywhere below it.
    """
    named = {entry.key: [text.partition("=")[2] for text in entry.choices or (entry.text,)] for entry in given}
    places = list(_places(machine))
    for model in trained_models():
        for backend, stack in places:
            choice = {"model": model, "backend": backend.name, "stack": stack}
            if all(value in named.get(key, [value]) for key, value in choice.items()):
                yield from _missing(choice, backend, given, machine)


def _places(machine: machines.Machine) -> Iterator[tuple[backends.Backend, str]]:
    """Yield every stack that can train here, once, with its backend; the backend cpu comes last."""
    available = {stack.name: stack for stack in stacks.load_all() if stack.trains}
    seen: set[str] = set()
    for backend in sorted(backends.load_all(), key=lambda row: row.name == "cpu"):
        for name, stack in available.items():
            platform = stack.platforms.get(machine.platform)
            computes = platform and (name in backend.stacks or "cpu" in platform.devices)
            if not backend.trains or not computes or name in seen:
                continue
            if selection.evaluate(backend, machine, available, name).stack:
                seen.add(name)
                yield backend, name


def seconds_left(trainings: list[Planned], took: list[float]) -> float | None:
    """Estimate the time of training runs from earlier runs, or from the runs that are done; None without either."""
    known = [each.seconds for each in trainings if each.seconds is not None] + took
    if not known:
        return None
    usual = sum(known) / len(known)
    return sum(usual if each.seconds is None else each.seconds for each in trainings)


def _missing(
    choice: dict[str, str], backend: backends.Backend, given: Overrides, machine: machines.Machine
) -> Iterator[Planned]:
    model, stack = choice["model"], choice["stack"]
    promises = promised(model, backend.name)
    data = next(iter(promises), None)  # the recipe was made for the first data set
    if data is None:
        return
    known = [row for row in rows_of(model, backend) if row["data"]["name"] == data and row["stack"] == stack]
    here = [row for row in known if row.get("hardware") == machines.hardware(machine)]
    if any(not discounted(model, backend.name, row) for row in here):
        return
    folder = paths.user_path(root) if (root := given.get("data.root")) else None
    command = discovery.command("train", config_files.task_of(model))
    point = ranges.point(command, model, backend.name, data).with_("user", {"stack": stack})
    settings = promised_settings(promises[data], data, folder if point.is_given("data") else None)
    seconds = [sum(row["seconds"].values()) for row in known]
    point, more = point.with_("user", settings), given.without("data.root", *choice)
    if clash := [entry.text for entry in more if point.is_given(entry.key)]:
        raise ZooError(f"{clash[0]} has no effect with --all, which uses the settings of recipes", "Remove it.")
    yield Planned(more | point, seconds[0] if seconds else None)


def promised_settings(promise: dict[str, Any], data: str, folder: Path | None) -> dict[str, Any]:
    """Return the settings of a promise, with the paths of its data and weights below a folder."""
    settings = bounds.settings(promise)
    if folder and (checksum := settings.get("weights_checksum")):
        settings["weights"] = str(data_root(folder, checksum, checksum))
    return settings | ({"data.root": str(data_root(folder, data, promise.get("sha256")))} if folder else {})


def data_root(folder: Path, data: str, sha256: str | None) -> Path:
    """Return the path of a data set below a folder: a folder with its name, or the file with its checksum.

    ``sha256`` is the checksum of a data set of one file, from the recipe's promise; None selects the folder.
    """
    own = folder / data
    if own.is_dir() or sha256 is None:
        return own
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return next((path for path in files if file_sha256(path) == sha256), own)

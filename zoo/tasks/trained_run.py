"""Open the run that ``run=`` names: its backend and stack as defaults, its model and its data."""

import functools
import json
import shlex
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.config import compose, config_files, model_files
from zoo.config.overrides import USER, Overrides
from zoo.config.tasks import Command
from zoo.core import console
from zoo.core.errors import ZooError, unknown
from zoo.core.files import file_sha256
from zoo.environments.machine import Machine
from zoo.protocol.request import TargetPart
from zoo.runs import records, result
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.runs.untrusted import Untrusted

NEEDED = {"backend": str, "stack.name": str}


def open_run(command: Command[Any], overrides: Overrides, needed: Mapping[str, type] | None = None) -> Run:
    """Open the training run that ``run=`` names.

    The command must be for the task of the run. ``needed`` are additional fields of its record, with their types.
    """
    if not overrides.get("run"):
        compose.compose(command, overrides if overrides.get("backend") != "auto" else overrides.without("backend"))
        raise AssertionError("compose refuses settings without a run")
    source = _named(overrides)
    if source.record.get("verb") != "train" or not (source.folder / "weights.npz").is_file():
        raise ZooError(f"{source.folder} has no trained weights", "Give the folder of a training run, or run=last.")
    if config_files.task_of(source.record.get("model")) != command.task:
        words = command.task.replace("_", " ")
        raise ZooError(f"{source.folder} has no trained {words}", "Give the folder of such a run, or run=last.")
    records.require(source.folder, source.record, {**NEEDED, **(needed or {})})
    weights = source.folder / "weights.npz"
    if not zipfile.is_zipfile(weights):
        remedy = "Restore the file from a copy, or train again."
        raise ZooError(f"{weights} is truncated, or is not an .npz file", remedy)
    sums = {row.text("path"): row.text("sha256") for row in Untrusted(source.record).rows("artifacts")}
    if source.exit != "running" and sums.get(weights.name) not in (None, file_sha256(weights)):
        _warn_of_change(weights)
    if source.exit != "completed" and not source.history:
        again = records.resume_command(source.folder, source.record.get("config"))
        console.warn(f"{source.folder} completed no epoch, so its weights are hardly trained. Resume it: {again}")
    return source


@functools.cache
def _warn_of_change(weights: Path) -> None:
    console.warn(f"{weights} has changed since the training: its sha256 is not the one in {records.RECORD}")


def with_name(overrides: Overrides) -> Overrides:
    """Replace ``run=last`` with the folder of that run, so that it means the same run later."""
    if overrides.get("run") != "last" or overrides.get("weights"):  # run= with weights= is rejected later
        return overrides
    folder = _named(overrides).folder
    console.say(f"run=last is {folder}")
    return overrides.with_(USER, {"run": str(folder)})


def _named(overrides: Overrides) -> Run:
    return result.named(str(overrides.get("run")), overrides.get("output.root"))


def add_defaults(overrides: Overrides, _: Machine) -> Overrides:
    """Add the backend and the stack of the run that ``run=`` names, if the user selected none."""
    if not overrides.get("run") or overrides.get("backend") is not None:
        return overrides
    source = _named(overrides)
    records.require(source.folder, source.record, NEEDED)
    stack = {} if overrides.get("stack") else {"stack": source.record["stack"]["name"]}
    return overrides.with_("run", {"backend": source.record["backend"], **stack})


def model(source: Run, whole_numbers: tuple[str, ...] = (), given: str | None = None, verb: str = "infer") -> Json:
    """Return the name and the arguments of a run's model; the folder may come from a third party.

    Args:
        whole_numbers: arguments that must be integers.
        given: the user's model file, for a run that was trained with one.
    """
    path = source.folder / "request.json"
    try:
        row = json.loads(path.read_text(encoding="utf-8"))["model"]
        name, arguments = row["name"], dict(row["args"])
        arguments |= {key: int(arguments[key]) for key in whole_numbers}
        target = {"target": TargetPart.of(row["target"]).to_json()} if row.get("target") else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ZooError(f"{path} cannot be used: {error}", "Give another run, or train again.") from error
    if "sha256" in row:
        model_files.require_same(row, given, source.folder, f"{verb} {shlex.quote(f'run={source.folder}')}")
        return {"name": name, "args": arguments, "file": str(given), "sha256": row["sha256"], **target}
    if given is not None:
        raise ZooError(
            f"model={given} has no effect: {source.folder} has its own model, {name}",
            f"Remove model=, or train it: train model={shlex.quote(given)}",
        )
    if name not in config_files.options("model") and not model_files.is_application(name):
        raise unknown("model", str(name), config_files.options("model"))
    return {"name": name, "args": arguments, **target}


def refuse_other_data(source: Run, name: str, sha256: str) -> None:
    if sha256 != source.record["data"]["sha256"]:
        raise ZooError(
            f"The data set {name} is no longer the one that {source.folder} was trained with",
            "Restore the files under data.root, or train again.",
        )

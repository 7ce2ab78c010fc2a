"""Show that a recipe works on a machine: train it, compare it with its promise, record the evidence."""

import dataclasses
import os
import shlex
from pathlib import Path
from typing import Any

from zoo.config import bounds, config_files, declared, setting
from zoo.config.overrides import Overrides
from zoo.config.schemas.style_network import DATA
from zoo.core import paths
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.environments import gpus, machine
from zoo.runs import evidence, lifecycle, promises, records
from zoo.runs.records import Json
from zoo.tasks import discovery, recipe_status, registry

BUSY = "other work ran on the machine, so the seconds are too long"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result of a validation.

    Attributes:
        recipe: model and backend; empty if training itself failed.
        row: the evidence; None if training itself failed.
        problems: why it does not count, one sentence each; empty if it does.
        written: the file with the row.
    """

    overrides: Overrides
    recipe: str = ""
    row: evidence.Row | None = None
    problems: list[str] = dataclasses.field(default_factory=list)
    remarks: list[str] = dataclasses.field(default_factory=list)
    folder: Path | None = None
    written: Path | None = None

    @property
    def passed(self) -> bool:
        """Whether the recipe did what it promises."""
        return self.row is not None and not self.problems


def validate(overrides: Overrides, write: bool = False) -> Verdict:
    """Train a recipe, check the result, and record it as evidence.

    A row that passes goes to the user's own evidence, :func:`zoo.runs.evidence.own_file`, or with ``write`` to the
    checkout's ``recipes/MODEL/BACKEND.validated.json``. One that fails goes to ``validated.json`` in the run folder.
    """
    # Check this first, because training may take hours.
    if not _identity(records.git_commit(), lifecycle.version()):
        message = "The version of the zoo is unknown: it is neither a git checkout nor installed"
        raise ZooError(message, "Clone it with git, or install it, and validate again.")
    if write:
        check_writable()
    task = discovery.task_of("train", overrides)
    known = {key for key, *_ in setting.walk(discovery.command("train", task).schema())}
    if "expect" not in known:
        raise ZooError(f"Models of task {task!r} have no metric on a data set to record", "Use `train`.")
    load = _load()
    point = [OWN_POINT] if "trainer.calibrate" in known else []
    run = registry.dispatch("train", Overrides.parse(point, "validate") | overrides)
    if run.exit != "completed":
        raise ZooError(f"The training was {run.exit}: no evidence was recorded", "", INTERRUPTED)
    row = row_of(run.record)
    cores = run.record["machine"]["cores"]
    if load > 0.5 * cores or _load() > 1.5 * cores:  # training alone keeps about one process per core ready
        row["note"] = "; ".join(filter(None, [row.get("note"), BUSY]))
    problems = problems_of(run.record)
    remarks = _remarks(run.record, row)
    model, backend = str(run.record["model"]), str(run.record["backend"])
    target = evidence.file(model, backend) if write else evidence.own_file(model, backend)
    if problems:
        target = run.folder / "validated.json"
        remarks.append("The recipe's evidence was not changed.")
    evidence.add(target, row)
    return Verdict(overrides, f"{model}/{backend}", row, problems, remarks, run.folder, target)


def lines(verdict: Verdict) -> list[str]:
    lines = [evidence.words(verdict.row)] if verdict.row else []
    lines += [f"FAILED: {problem}" for problem in verdict.problems]
    lines += verdict.remarks
    return [*lines, f"Written to {verdict.written}"] if verdict.written else lines


def as_dict(verdict: Verdict) -> Json:
    places = {"folder": verdict.folder, "written": verdict.written}
    named = {name: None if place is None else str(place) for name, place in places.items()}
    return dataclasses.asdict(verdict) | named | {"overrides": verdict.overrides.words, "passed": verdict.passed}


def row_of(record: Json) -> evidence.Row:
    """Return the evidence of a finished training run, from its ``run.json``.

    On a stack that stands in for another build, the grade is ``stand-in``, regardless of the metric.
    """
    stack, settings = record["stack"], record["config"]
    promised = [*record.get("expected", {}), *record.get("expected_not_applicable", {}).get("expected", {})]
    # Without a promise, the accuracy or the first metric.
    names = [*promised, "test_accuracy", *record["metrics"]]
    metric = next(name for name in names if name in record["metrics"])
    preset = settings.get("preset", "full")
    expected = record.get("expected", {}).get(metric, {}) if preset == "full" else {}
    direction = next((way for way in bounds.DIRECTIONS if way in expected), "")
    recorded = record["machine"]
    here = machine.Machine(**{**recorded, "gpus": [gpus.Gpu(**gpu) for gpu in recorded["gpus"]]})
    model, data = str(record["model"]), record["data"]["name"]
    known = model in config_files.options("model") and data in (*config_files.options("data"), DATA)
    row = {
        "grade": "stand-in" if stack.get("stand_in_for") else "measured",
        "stack": stack["name"],
        "platform": stack["platform"],
        "machine": machine.describe(here),
        "hardware": machine.hardware(here),
        "os_build": here.os_build or None,
        "device": _device(record, here),
        "data": {name: record["data"].get(name) for name in _DATA},
        "metric": metric,
        "value": record["metrics"][metric],
        "expected": expected.get(direction),
        "seconds": dict(record["phases"]),
        "versions": dict(record["versions"]),
        "date": record["finished"][:10],
        "commit": _identity(record["git_commit"], record["zoo_version"]),
        "command": _command(record),
        "source": None,
        "preset": preset,
        "changed": _changed(settings, data),
        "lock_sha256": stack.get("lock_sha256"),
        "recipe_sha256": recipe_status.recipe_sha256(model, str(record["backend"]), data) if known else None,
    }
    more = {
        "direction": direction, "probes": _probes(record), "differences": stack.get("differences"),
        "note": _stands_in(stack),
    }  # fmt: skip
    return row | {name: value for name, value in more.items() if value}


# Validate the recipe without calibration, even on GPUs.
OWN_POINT = "trainer.calibrate=false"
_DATA = ("name", "sha256", "train_items", "validation_items", "test_items")


def _stands_in(stack: Json) -> str:
    return f"stands in for {stack['stand_in_for']}" if stack.get("stand_in_for") else ""


def _device(record: Json, here: machine.Machine) -> Json:
    """Return the worker's device; the system provides the GPU's name if the framework does not."""
    device = dict(record["device"])
    known = {name: device.get(name) for name in ("name", "device_kind", "proof")}
    described = device.get("description") or ""
    if known["device_kind"] == "gpu" and not described and len(here.gpus) == 1:
        described = here.gpus[0].name
    return known | ({"description": described} if described else {})


def _identity(commit: str | None, version: str) -> str:
    return commit or ("" if version == "unknown" else f"version {version}")


def _command(record: Json) -> str:
    left_out = ("stack=", OWN_POINT)
    given = [declared.public(text) for text in record["command"][4:] if not text.startswith(left_out)]
    words = [_without_place(text) for text in given if text]
    named = {text.partition("=")[0] for text in words}
    words = [f"model={record['model']}"] * ("model" not in named) + words
    words += [f"data={record['data']['name']}"] * ("data" not in named and "data" in record["config"])
    return shlex.join(["python", "-m", "zoo", "validate", *words, f"stack={record['stack']['name']}"])


def _without_place(text: str) -> str:
    return f"{text.partition('=')[0]}=PATH" if evidence.names_a_place(text) else text


def _changed(settings: dict[str, Any], data: str) -> list[str]:
    """Return the settings that affect the metrics and differ from the recipe's, as ``key=value``."""
    command = discovery.command("train", config_files.task_of(settings["model"]["name"]))
    preset = {"preset": settings["preset"]} if "preset" in settings else {}
    rows = promises.differences(command, settings, data, **preset)
    return sorted(_without_place(f"{name}={'null' if value is None else value}") for name, value, _ in rows)


def problems_of(record: Json) -> list[str]:
    """Return why a finished training run does not show that the recipe works; empty if it does."""
    device = record["device"]
    problems = []
    if record["device_kind"] == "gpu" and device["device_kind"] != "gpu":
        problems.append(f"the backend promises a GPU, but {device['proof']} ran on {device['name']}")
    problems += [f"the probe {name} failed" for name, row in _probes(record).items() if not row["ok"]]
    for name, judged in record.get("expected", {}).items():
        if not judged["met"]:
            problems.append(f"{name} is {record['metrics'][name]:.4f}, the recipe promises {bounds.words(judged)}")
    return problems


def _probes(record: Json) -> Json:
    """Return the result of each numeric probe; reasons for skipped ones only without paths of this machine."""
    probes = {}
    for row in record.get("probes") or []:
        kept = {"ok": row["ok"]} | {name: row.get(name) for name in ("largest_error", "tolerance", "skipped")}
        hidden = kept["skipped"] and evidence.names_a_place(kept["skipped"])
        probes[row["name"]] = kept | {"skipped": "see the log of the run"} if hidden else kept
    return probes


def _probe_words(probes: Json) -> str:
    if not probes:
        return "No probes were run."
    skipped = [f"{name} ({row['skipped']})" for name, row in probes.items() if row["skipped"]]
    right = [name for name, row in probes.items() if row["ok"] and not row["skipped"]]
    more = f"; not compared: {'; '.join(skipped)}" if skipped else ""
    return f"Probes: {len(right)} of {len(probes)} right{more}"


def _remarks(record: Json, row: evidence.Row) -> list[str]:
    model, backend, data = record["model"], record["backend"], record["data"]["name"]
    remarks = [_probe_words(row.get("probes", {}))]
    if str(row["commit"]).endswith("-dirty"):
        remarks.append("The checkout has uncommitted changes: its commit alone does not identify the code.")
    if not config_files.recipe_files(model, backend):
        remarks.append(f"There is no recipe for {model} on {backend}: the defaults were trained.")
    if row["preset"] != "full":
        remarks.append(f"preset={row['preset']} shows that it trains; the expected metrics do not apply.")
    elif promises.not_applicable(record):
        remarks.append(f"{promises.not_applicable(record)}; the metric is recorded without a verdict.")
    elif row["expected"] is None:
        why = f"with {' '.join(row['changed'])}" if row["changed"] else f"of {data}"
        remarks.append(f"The recipe promises nothing {why}: the metric is recorded without a verdict.")
    if BUSY in row.get("note", ""):
        remarks.append(f"Note: {BUSY}.")
    if row["grade"] == "stand-in":
        what = "this shows that the recipe runs on that Keras, but does not test the GPU."
        remarks.append(f"The stack {_stands_in(record['stack'])}: {what}")
    return remarks


def check_writable() -> None:
    """Raise an error if the zoo is not a checkout, or if its folder of recipes is not writable."""
    remedy = "Leave out --write: the evidence then goes to your own data folder."
    if paths.ROOT == paths.PACKAGE:
        raise ZooError("--write changes the files of a checkout, and this zoo is installed", remedy)
    if not os.access(paths.RECIPES, os.W_OK):
        raise ZooError(f"{paths.RECIPES} cannot be written", remedy)


def _load() -> float:
    """Return the average number of processes ready to run in the last minute; 0 if the system does not report it."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0

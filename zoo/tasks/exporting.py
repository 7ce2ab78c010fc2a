"""Export a trained model of any task: items to compare on, reference outputs, the worker, the result folder."""

import dataclasses
import errno
import inspect
import os
import re
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from zoo.config.overrides import Overrides
from zoo.config.schemas.export import ExportConfig
from zoo.config.tasks import Command
from zoo.core import console
from zoo.core.errors import ZooError, bulleted
from zoo.core.files import FULL, atomic_write, check_writable, storage_error, write_json
from zoo.core.paths import user_path
from zoo.environments import selection, store
from zoo.environments.machine import Machine
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.execution.worker_process import Outcome
from zoo.protocol.request import ExportPart, ItemData, Request
from zoo.runs.context import RunContext
from zoo.runs.lifecycle import recorded_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import export_table, hub

STACK = "export"
REPORT = "export.json"
ROOM = "Make room there, or choose another folder: output=FOLDER"
ELSEWHERE = "Choose a folder that does not exist yet: output=FOLDER"


@dataclasses.dataclass(frozen=True)
class Subject:
    """The model to export.

    Attributes:
        kind: name of the kind of model: images, texts, pictures or next_token.
        weights: ``.npz``, or a function that writes one to a folder; None if the model contains them.
        classes: names of the classes; may be empty.
        items: function that writes items, up to a number, to a folder and returns the ``data`` of a request.
        calibration: the same for calibration items; None without them.
        examples: function that writes image files or selects texts, and returns them and the inputs that the zoo
            reads from them. It is called after ``items``, with the same folder.
        reading: settings for reading a file or text as an input.
        code: functions for this reading, to include in ``predict.py``.
        own_stack: stack that can read the model, if stack ``export`` cannot: it predicts and writes a SavedModel.
        record: additional fields of ``run.json``.
        needed: files to copy next to each exported one.
        target, thresholds: as in :class:`zoo.protocol.request.ExportPart`.
    """

    kind: str
    model: Json
    weights: Path | Callable[[Path], Path] | None
    classes: list[str]
    items: Callable[[Path, int], ItemData]
    examples: Callable[[Path], tuple[list[str], ItemData]]
    reading: Json
    code: tuple[Callable[..., Any], ...]
    calibration: Callable[[Path, int], ItemData] | None = None
    source: Run | None = None
    own_stack: str | None = None
    record: Json = dataclasses.field(default_factory=dict)
    needed: list[Path] = dataclasses.field(default_factory=list)
    target: str | None = None
    thresholds: list[float] | None = None

    @property
    def about(self) -> str:
        if self.source is None:
            source = str((self.record.get("weights") or {}).get("source", "saved in the model"))
            return f"weights {os.path.basename(source)}"  # not the path, which is useless on other machines
        return f"run {self.source.folder.name}, stack {self.source.record['stack']['name']}"


class Items(NamedTuple):
    """Items to compare an export on, example files or texts, and the inputs that the zoo reads from these."""

    data: ItemData
    files: list[str]
    examples: ItemData


def add_defaults(overrides: Overrides, _: Machine) -> Overrides:
    """Add the only stack that converts models."""
    for key, usable in (("backend", (None, "auto", "cpu")), ("stack", (None, STACK))):
        if (given := overrides.get(key)) not in usable:
            remedy = f"Leave {key}= out: stack {STACK} exports runs of any stack."
            raise ZooError(f"{key}={given} cannot export", remedy)
    return overrides.with_("machine", {"backend": "cpu", "stack": STACK})


def command(task: str, run: Callable[[Overrides], Run]) -> Command[ExportConfig]:
    """Declare the verb ``export`` of a task, which calls ``run``."""
    return Command(
        "export", task, "export", ExportConfig, run,
        add_defaults=add_defaults, summary=export_table.summary, tables=export_table.tables,
    )  # fmt: skip


def export(context: RunContext[ExportConfig], subject: Subject) -> Run:
    settings, name = context.settings, str(subject.model["name"])
    # Resolve links, because a folder cannot replace a link.
    target = Path(os.path.realpath(user_path(settings.output.folder))) if settings.output.folder else None
    if target:
        check_writable(target.absolute().parent / f".{target.name}.part", ELSEWHERE)
        if target.is_file() or (target.is_dir() and any(target.iterdir())):
            raise ZooError(f"{target} already exists; it was not changed", ELSEWHERE)
    if "int8" in settings.quantize and subject.calibration is None:
        raise ZooError(
            "quantize=int8 needs items for calibration, and this model has no record of its training data",
            "Give calibrate=FOLDER, a folder of images like its training data, or another quantize=.",
        )
    if settings.preprocessing == "inside" and subject.reading.get("filter") != "bilinear":
        which = "classifiers of color images with resize=stretch or resize=crop"
        raise ZooError(f"preprocessing=inside is for {which}, not for {name}", "Remove preprocessing=inside.")
    if "hub" in settings.format and (subject.kind not in hub.TASKS or subject.own_stack):
        which = "image classifiers and style networks that plain Keras 3 can load"
        raise ZooError(f"format=hub is for {which}, not for {name}", "Use format=onnx, which exports every model.")
    if "coreml" in settings.format and subject.target:
        raise ZooError(f"format=coreml is for classes, and {name} predicts {subject.target}", "Use format=onnx.")
    with recorded_run(context, ["export", name]):
        target = target or context.folder / "export"
        context.record.update({"model": name, **subject.record})
        context.record.trained_run = str(subject.source.folder) if subject.source else None
        part, problem = context.folder / "export.part", None
        try:
            part.mkdir()
            rows = _export(context, subject, part)
            if any(row["kept"] for row in rows):
                target, problem = _placed(part, target, context.folder / "export")
        except OSError as error:
            raise storage_error("write", context.folder, error) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        _judge(context, rows, target)
        if problem:
            raise problem
    return context.result


def _export(context: RunContext[ExportConfig], subject: Subject, part: Path) -> list[Json]:
    settings = context.settings
    items = Items(subject.items(context.folder, settings.items), *subject.examples(context.folder))
    wanted = subject.calibration if "int8" in settings.quantize else None
    calibration = wanted(_folder(context, "calibration"), settings.calibration_items) if wanted else None
    own = _own_answers(context, subject, items)
    if subject.own_stack:
        arguments = subject.model["args"] | {"frozen": True, "output": None}
        subject = dataclasses.replace(subject, model=subject.model | {"args": arguments, "saved": own["saved"]})
    answers = {name: own.get(name) for name in ("answers", "answers_ms", "example_answers")}
    answers |= {"folder": str(part), "calibration": calibration, "formats": [*dict.fromkeys(settings.format)]}
    request = _request(context, subject, items, "export", **answers)
    outcome = execute(context, request)
    raise_if_failed(context, outcome)
    rows = outcome.done.rows if outcome.done else None
    if outcome.interrupted or rows is None:
        return []
    context.record.exports = rows
    for row in rows:
        if row["format"] == "hub" and row["kept"]:
            trained = subject.source.record if subject.source else {}
            versions = context.record.versions | {"zoo": context.record.zoo_version}
            hub.complete(part / row["folder"], row, subject.kind, trained, settings.license, versions)
    _describe(context, subject, rows, own, part)
    return rows


def _folder(context: RunContext[ExportConfig], name: str) -> Path:
    folder = context.folder / name
    folder.mkdir()
    return folder


def _request(context: RunContext[ExportConfig], subject: Subject, items: Items, job: str, **more: Any) -> Request:
    weights = subject.weights(context.folder) if callable(subject.weights) else subject.weights
    request = request_of(context, subject.model, job, weights)
    code = "\n\n".join(re.sub(r"  # (noqa|fmt): .*", "", inspect.getsource(function)) for function in subject.code)
    request.data, request.export = items.data, ExportPart(
        kind=subject.kind, name=subject.model["name"], classes=subject.classes, about=subject.about,
        quantize=[*dict.fromkeys(context.settings.quantize)], batch=context.settings.batch,
        tolerance=context.settings.tolerance, reading=subject.reading,
        code=code, needed=[str(path) for path in subject.needed],
        example_files=items.files, examples=items.examples, target=subject.target,
        thresholds=subject.thresholds, **more,
    )  # fmt: skip
    return request


def _own_answers(context: RunContext[ExportConfig], subject: Subject, items: Items) -> Json:
    """Compute outputs in the stack that trained the model; ``answers_why`` is the reason if that is impossible."""
    choice, why = _own_stack(context, subject)
    if choice is None:
        console.say(f"Compared with the same weights in stack {STACK}: {why}")
        return {"answers": None, "answers_from": STACK, "answers_why": why}
    record = dataclasses.replace(context.record, stack=dict(context.record.stack))
    own = dataclasses.replace(context, choice=choice, record=record, folder=_folder(context, "source"))
    saved = str(own.folder / "model") if subject.own_stack else ""
    outcome: Outcome = execute(own, _request(own, subject, items, "answer", folder=saved), live=False)
    raise_if_failed(own, outcome)
    taken = outcome.done.metrics["milliseconds"] if outcome.done else None
    console.say(f"Compared with the answers of stack {choice.stack.name}")
    files = {"answers": str(own.folder / "answers.npz"), "example_answers": str(own.folder / "examples.npz")}
    return {**files, "answers_ms": taken, "answers_from": choice.stack.name, "saved": saved}


def _own_stack(context: RunContext[ExportConfig], subject: Subject) -> tuple[selection.Selection | None, str]:
    """Return the stack that trained the model, on the same backend, or None and the reason."""
    wanted, source = context.settings.compare_to, subject.source
    if subject.own_stack:
        return selection.select("cpu", context.machine, subject.own_stack), ""
    if wanted == "rebuilt" or source is None:
        return None, "compare_to=rebuilt" if source else "there is no run"
    try:
        name = source.record["stack"]["name"]
        choice = selection.select(str(source.record["backend"]), context.machine, str(name))
    except ZooError as error:
        if wanted == "run":
            raise
        return None, error.message.splitlines()[0]
    ready = {row.stack for row in store.list_environments(thorough=False) if row.state == "ready"}
    if wanted == "auto" and choice.stack.name not in ready:
        return None, f"stack {choice.stack.name} is not built here; compare_to=run builds it"
    return choice, ""


def _describe(context: RunContext[ExportConfig], subject: Subject, rows: list[Json], own: Json, part: Path) -> None:
    metrics = context.record.metrics
    compared = {"stack": own["answers_from"], "why": own.get("answers_why"), "milliseconds": metrics["source_ms"]}
    compared |= {"accuracy": metrics["source_accuracy"], "items": metrics["items"]}
    compared["rebuilt_difference"] = metrics["rebuilt_difference"]
    report = {
        "model": subject.model["name"], "source": subject.about, "tolerance": context.settings.tolerance,
        "compared_with": compared, "formats": rows, "versions": context.record.versions,
    }  # fmt: skip
    write_json(part / REPORT, report)
    context.record.compared_with = compared
    head = f"# {subject.model['name']}, exported\n\nFrom {console.escape_controls(subject.about)}.\n\n"
    atomic_write(part / "README.md", head + "\n".join(export_table.markdown(rows, compared)) + "\n")


def _placed(part: Path, target: Path, otherwise: Path) -> tuple[Path, ZooError | None]:
    """Move a folder to ``target`` or, on failure, to ``otherwise``, so that results are not lost.

    Return its path and, after a failure, the error. A target that is not empty is not changed.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _move(part, target)
    except OSError as error:
        if target == otherwise:
            raise
        os.rename(part, otherwise)
        occupied = os.path.lexists(target) and error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
        words = f"{target} already exists (created while this command ran); it was not changed"
        remedy = ROOM if error.errno in FULL else ELSEWHERE
        problem = ZooError(words, ELSEWHERE) if occupied else storage_error("write", target, error, remedy)
        return otherwise, ZooError(problem.message, f"{problem.remedy}\nThe exported files are in {otherwise}.")
    return target, None


def _move(part: Path, target: Path) -> None:
    """Rename a folder, or copy it to another disk."""
    try:
        os.rename(part, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(part, target)


def _copy(part: Path, target: Path) -> None:
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        for path in [part, *sorted(part.rglob("*"))]:  # copytree would combine all of its errors
            place = aside / path.relative_to(part)
            place.mkdir() if path.is_dir() else shutil.copyfile(path, place)
        os.rename(aside, target)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _judge(context: RunContext[ExportConfig], rows: list[Json], target: Path) -> None:
    """Record the folders of the results; raise an error if a format was not kept."""
    kept = [row["folder"] for row in rows if row["kept"]]
    context.record.results = [str(target / name) for name in kept]
    problems = [f"{row['folder']}: {row['problem']}" for row in rows if not row["kept"]]
    if problems:
        where = f"Kept in {target}: {', '.join(kept)}.\n" if kept else ""
        raise ZooError(
            f"Not kept, quantize={','.join(context.settings.quantize)}:\n{bulleted(problems)}",
            f"{where}Try another quantize=, or increase the limits max_difference= and max_changed=.",
        )


def after_training(run: Run, overrides: Overrides) -> Overrides | None:
    """Return the overrides of the export that a run's ``output.export`` requests, or None."""
    wanted = ((run.record.get("config") or {}).get("output") or {}).get("export") or []
    if not wanted or run.exit != "completed":
        return None
    model = overrides.get("model")
    named = {"model": model} if model and model.lower().endswith(".py") else {}
    root = overrides.get("output.root")
    places = {"output": run.folder / "export"} | ({"output.root": root} if root else {})
    return Overrides.of({"run": run.folder, **named, "format": wanted, **places})

"""The start and the end of a run: its folder, its lock and its record, which is always completed."""

import contextlib
import dataclasses
import errno
import time
import uuid
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from zoo.config.schemas.common import Settings
from zoo.core import console, planning
from zoo.core.errors import StorageError, ZooError
from zoo.core.files import FULL, file_sha256, room
from zoo.core.paths import user_path
from zoo.runs import event_log, records, resume
from zoo.runs import folder as run_folder
from zoo.runs import lock as run_lock
from zoo.runs.context import RunContext
from zoo.runs.records import Json, RunRecord
from zoo.runs.tracking import Trackers


def _start(context: RunContext[Settings], words: list[str]) -> None:
    """Create and lock the run folder, named by the time and ``words``; write the settings and a first record.

    A resumed run keeps its folder, and its record continues.
    """
    output = context.settings.output
    if planning.is_planning():
        if context.resumes:
            resume.refuse_changes(context.settings, RunRecord.from_untrusted(context.resumes))
            run_folder.check_root(context.resumes)
            if run_lock.is_held(context.resumes):  # taking the lock raises an error, unless it was just released
                run_lock.release(run_lock.take(context.resumes, _command(context)))
        else:
            run_folder.check_name(user_path(output.root), output.name)
            run_folder.check_root(user_path(output.root))
        planning.stop(reached=context)
    if context.resumes:
        _reopen(context, context.resumes)
        return
    context.folder = run_folder.new_folder(user_path(output.root), output.name, words)
    context.lock = run_lock.take(context.folder, _command(context))
    (context.folder / "config.yaml").write_text(context.composed.text, encoding="utf-8")
    settings = dataclasses.asdict(context.settings)
    context.record = RunRecord(
        zoo_version=version(), verb=context.verb, started=records.now(), command=_command(context), config=settings,
        set_by=context.composed.set_by, model=settings.get("model", {}).get("name"), git_commit=records.git_commit(),
    )  # fmt: skip
    context.record.run_id = uuid.uuid4().hex
    if context.calibration:
        context.record.calibration = context.calibration
    _record_place(context)


def _command(context: RunContext[Settings]) -> list[str]:
    return ["python", "-m", "zoo", context.verb, *context.overrides.words]


def _record_place(context: RunContext[Settings]) -> None:
    record, choice, platform = context.record, context.choice, context.machine.platform
    record.backend, record.device_kind, record.reasons = choice.backend.name, choice.device_kind, choice.reasons
    row = choice.stack.platforms.get(platform)
    record.stack = {
        "name": choice.stack.name, "framework": choice.stack.framework, "keras": choice.stack.keras,
        "platform": platform, "stand_in_for": row.stand_in_for if row else None,
    }  # fmt: skip
    record.machine = dataclasses.asdict(context.machine)
    record.write(context.folder)


def _reopen(context: RunContext[Settings], folder: Path) -> None:
    resume.refuse_changes(context.settings, RunRecord.from_untrusted(folder))
    context.folder = folder
    context.lock = run_lock.take(folder, ["python", "-m", "zoo", context.verb, f"{resume.KEY}={folder}"])
    context.previous = RunRecord.from_untrusted(folder)
    context.record = resume.reopened(context.previous)
    changes = resume.adjustments(context.settings, context.previous)
    if changes:
        context.record.adjusted = context.previous.get("adjusted", {}) | changes
    _record_place(context)
    words = [f"{key}={value}" for key, value in changes.items()]
    console.say(" ".join([f"Resuming {folder}", *(["with", *words] if words else [])]))


def set_data(context: RunContext[Settings], data: Json) -> None:
    """Record the data of a training run; call this before writing files that depend on the data."""
    if context.resumes:
        resume.refuse_other_data(context.previous, data)
    context.record.data = data


def version() -> str:
    """Return the version of the package, or ``unknown`` in a checkout that is not installed."""
    try:
        return metadata.version("keras-gpu-zoo")
    except metadata.PackageNotFoundError:
        return "unknown"


@contextlib.contextmanager
def recorded_run(context: RunContext[Settings], words: list[str]) -> Iterator[None]:
    """Start a run, named by the time and ``words``; complete ``run.json`` at the end, also after an error."""
    _start(context, words)
    started = time.monotonic()
    trackers = Trackers(context.settings.tracking, context.folder, context.record, context.composed.text)
    complete, events = context.previous.get("exit") == "completed", context.folder / "events.jsonl"
    context.trackers, trained = trackers, event_log.epochs(events) if complete else []
    try:
        yield
    except BaseException as error:
        context.record.exit = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
        if isinstance(error, ZooError):
            context.record.error = {"message": error.message, "remedy": error.remedy}
        elif context.record.exit == "failed":
            context.record.error = {"message": f"{type(error).__name__}: {error}", "remedy": ""}
        inside = isinstance(error, StorageError) and error.path.is_relative_to(context.folder)
        cause = error.__cause__ if inside else error
        if isinstance(cause, OSError) and cause.errno in (*FULL, errno.EROFS, errno.EIO):
            command = records.resume_command(context.folder, context.record.config)
            hint = f"\nTo resume once there is space: {command}" if context.verb == "train" else ""
            message = f"Cannot write the run folder {context.folder}: {cause.strerror}"
            elsewhere = f"{room(cause)}, or choose another folder: output.root=FOLDER"
            raise ZooError(message, elsewhere + hint) from error
        raise
    finally:
        if complete and context.record.exit == "failed" and trained == event_log.epochs(events):
            context.record = context.previous  # a resumption that trained nothing spoils no record
        else:
            context.record.finished = records.now()
            context.record.seconds = round(context.previous.get("seconds", 0.0) + time.monotonic() - started, 3)
        try:
            context.record.artifacts = _artifacts(context.folder)
            context.record.write(context.folder)
        except (OSError, ZooError) as error:  # only a warning: the error that stopped the run is raised
            console.warn(f"{context.folder / records.RECORD} could not be updated: {error}")
        trackers.finish(context.record)
        if context.lock is not None:
            run_lock.release(context.lock)


def _artifacts(folder: Path) -> list[Json]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != records.RECORD)
    whole = (path for path in files if not path.name.startswith(".") and not path.name.endswith(".part"))
    return [{"path": path.name, "bytes": path.stat().st_size, "sha256": file_sha256(path)} for path in whole]

"""The record of a run, ``run.json``, which is checked when it is read.

It is written at the start (``"exit": "running"``) and replaced atomically.
"""

import dataclasses
import datetime
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from zoo.config.schemas.common import Output
from zoo.core import paths, schema
from zoo.core.errors import ZooError, closest
from zoo.core.files import write_json
from zoo.runs import lock

RECORD = "run.json"
FORMAT = 1
# More than ten times the size of any record.
MOST_BYTES = 64 << 20
KILLED = "killed"
EXITS = ("running", "completed", "interrupted", "failed")

Json = dict[str, Any]


@dataclass(eq=False, repr=False)
class RunRecord:
    """The content of ``run.json``.

    Attributes:
        format: version of this format.
        exit: ``running``, ``completed``, ``interrupted`` or ``failed``; a running run without a process that writes
            into its folder is read as ``killed``.
        run_id: unique id, also stored in the run's checkpoints.
        set_by: origin of each value that differs from the default: ``user``, ``recipe``, ``machine``, ...
        device_kind: kind of the backend's device, ``cpu`` or ``gpu``.
        reasons: reasons for the selection of backend and stack.
        stack: name, framework, lock and Python of the stack.
        phases: seconds by phase.
        other: unknown fields, such as those of a newer version, kept unchanged.
        device: the device and its proof, from the worker.
        probes: rows of the numeric probes; ``probes_from`` is the date of cached rows.
        stopped: the limit that stopped the run early.
        adjusted: settings changed during the run, such as the batch size.
        attempts: failed workers that were replaced.
        interruptions: earlier exits of a resumed run.
        data: name, sizes and checksum of the data.
        calibration: points that were timed before training, and the selected settings.
        weights: the initial weights of training, or the weights used for predictions.
        expected: bounds of the recipe's promise, with verdicts.
        side_files: additional files of a style transfer.
        places: participants of a benchmark.
        exports: a row per format of an export; ``compared_with`` names its reference.
    """

    format: int = FORMAT
    zoo_version: str = ""
    verb: str = ""
    exit: str = "running"
    started: str = ""
    command: list[str] = field(default_factory=list)
    config: Json = field(default_factory=dict)
    set_by: dict[str, str] = field(default_factory=dict)
    model: str | None = None
    backend: str = ""
    device_kind: str = ""
    reasons: list[str] = field(default_factory=list)
    stack: Json = field(default_factory=dict)
    machine: Json = field(default_factory=dict)
    git_commit: str | None = None
    phases: dict[str, float] = field(default_factory=dict)
    other: Json = field(default_factory=dict)
    # Fields without a default are written once they are set.
    run_id: str = field(init=False)
    finished: str = field(init=False)
    seconds: float = field(init=False)
    error: dict[str, str] = field(init=False)
    artifacts: list[Json] = field(init=False)

    device: Json | None = field(init=False)
    processes: Json = field(init=False)
    versions: dict[str, str] = field(init=False)
    probes: list[Json] | None = field(init=False)
    probes_from: str | None = field(init=False)
    metrics: Json = field(init=False)
    peak_memory_bytes: int | None = field(init=False)
    host_peak_memory_bytes: int | None = field(init=False)
    stopped: str = field(init=False)

    calibration: Json = field(init=False)
    adjusted: Json = field(init=False)
    attempts: list[Json] = field(init=False)
    interruptions: list[Json] = field(init=False)

    data: Json = field(init=False)
    weights: Json | None = field(init=False)
    features: Json = field(init=False)
    trained_run: str | None = field(init=False)
    judgement: Json | None = field(init=False)
    linear_baseline: Json | None = field(init=False)
    linear_probe: Json = field(init=False)
    reference: Json = field(init=False)
    expected: Json = field(init=False)
    expected_not_applicable: Json = field(init=False)
    summary: list[str] = field(init=False)
    results: list[str] = field(init=False)
    exports: list[Json] = field(init=False)
    compared_with: Json = field(init=False)
    saved: str = field(init=False)
    saved_sha256: str = field(init=False)
    side_files: list[str] = field(init=False)
    bench: str = field(init=False)
    timings: int = field(init=False)
    places: list[Json] = field(init=False)

    def to_json(self) -> Json:
        return {**self.other, **{name: value for name, value in vars(self).items() if name != "other"}}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "RunRecord":
        record = cls()
        record.update(content)
        return record

    @classmethod
    def from_untrusted(cls, folder: Path) -> "RunRecord":
        """Read the record of a run folder, which may come from a third party."""
        return cls.from_json(read(folder))

    def update(self, fields: Mapping[str, Any]) -> None:
        """Set fields by name; unknown fields are kept unchanged in ``other``."""
        for name, value in fields.items():
            if name in FIELDS:
                setattr(self, name, value)
            else:
                self.other[name] = value

    def get(self, name: str, default: Any = None) -> Any:
        return vars(self).get(name, default)

    def write(self, folder: Path) -> None:
        write_json(folder / RECORD, self.to_json())


FIELDS = {part.name for part in dataclasses.fields(RunRecord)} - {"other"}


def read(folder: Path) -> Json:
    record = as_written(folder)
    if any(schema.misfits(record[name], hint, name) for name, hint in CHECKED.items() if name in record):
        raise _no_record(folder / RECORD)
    return record


def _no_record(path: Path) -> ZooError:
    return ZooError(f"{path} is not the record of a run", "Give another run, or train again.")


def as_written(folder: Path) -> Json:
    """Read a run folder's record, and check only ``exit``."""
    path = folder / RECORD
    if not folder.is_dir():
        usual = folder.parent / Output().root / folder.name
        near = os.path.relpath(usual) if usual.is_dir() else closest(folder.name, ["last"])
        remedy = f"Did you mean {near}? " if near else ""
        raise ZooError(f"There is no run folder {folder}", remedy + "`last` is the newest run under output.root.")
    try:
        record = json.loads(_text(path))
    except FileNotFoundError as error:
        raise ZooError(f"{folder} is not a run folder (no {RECORD})", "Give a folder that `train` created.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ZooError(f"{path} cannot be read: {error}", "Give another run, or train again.") from error
    if not isinstance(record, dict) or record.get("exit") not in EXITS:
        raise _no_record(path)
    if record["exit"] == "running" and not lock.is_held(folder):
        record["exit"] = KILLED  # its host was killed before it could write its exit
    return record


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise ValueError("it is not a file")
    with path.open("rb") as source:
        content = source.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it is longer than {MOST_BYTES:,} bytes")
    return content.decode("utf-8")


# Types of the fields that are checked if they are present.
CHECKED = {name: get_type_hints(RunRecord)[name] for name in (
    "verb", "model", "backend", "started", "run_id", "config", "data", "stack", "metrics", "phases", "seconds",
    "command", "machine", "interruptions", "attempts", "adjusted", "artifacts",
)}  # fmt: skip


def require(folder: Path, record: Json, needed: Mapping[str, type]) -> None:
    """Raise an error if a record, possibly from a third party, lacks a dotted key in ``needed`` or its type."""
    wrong = [key for key, kind in needed.items() if not isinstance(_within(record, key), kind)]
    sizes = _within(record, "data.input_shape") if "data.input_shape" in {*needed} - {*wrong} else [1, 1, 1]
    if len(sizes) != 3 or not all(type(size) is int and size > 0 for size in sizes):
        wrong.append("data.input_shape of three positive numbers")
    if not wrong:
        return
    missing, state = f"{folder / RECORD} has no {', no '.join(wrong)}", record.get("exit")
    # The data is recorded when a run ends.
    if record.get("verb") != "train" or state == "completed" or not all(key.startswith("data.") for key in wrong):
        raise ZooError(missing, "Give another run, or train again.")
    if state == "running":
        raise ZooError(f"{missing}: the run has not ended yet", "Wait for its end, or give another run.")
    command = resume_command(folder, record.get("config"))
    raise ZooError(f"{missing}: the run was interrupted ({state})", f"Resume it: {command}")


def resume_command(folder: Path, config: object) -> str:
    """Return the command that resumes a run with these settings; it includes the model file, if any."""
    model = config.get("model") if isinstance(config, dict) else None
    file = model.get("file") if isinstance(model, dict) else None
    words = [f"resume={folder}", *([f"model={file}"] if file else [])]
    return shlex.join(["python", "-m", "zoo", "train", *words])


def _within(record: Any, key: str) -> Any:
    for part in key.split("."):
        record = record.get(part) if isinstance(record, dict) else None
    return record


def git_commit() -> str | None:
    """Return the commit of the checkout, with ``-dirty`` if it has changes; None outside a checkout.

    Changes of evidence in ``recipes/`` are ignored, because it does not affect results and validations write it.
    """
    if not (paths.ROOT / ".git").exists() or shutil.which("git") is None:
        return None
    try:
        commit = _git("rev-parse", "HEAD").stdout.strip()
        changed = _git("diff", "--quiet", "HEAD", "--", ".", ":(exclude,glob)recipes/**/*.json").returncode
    except subprocess.TimeoutExpired:  # a busy disk must not stop the run
        return None
    return commit + "-dirty" * bool(changed) if re.fullmatch(r"[0-9a-f]{40}", commit) else None


def _git(*words: str) -> "subprocess.CompletedProcess[str]":
    command = ["git", "-C", str(paths.ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)


def now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def today() -> str:
    """Return the day in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()

"""Rows of benchmarks: each stands alone, with its machine, stack, versions and outcome, failures included."""

import json
from pathlib import Path
from typing import Any

from zoo.config.schemas.common import Settings
from zoo.core import csv_files
from zoo.environments import machine
from zoo.runs.context import RunContext

Row = dict[str, Any]
KNOWN = (
    "backend", "stack", "framework", "keras", "python", "numpy", "device_name", "grade", "machine", "platform",
    "zoo_version", "git_commit", "date",
)  # fmt: skip


def known(context: RunContext[Settings]) -> Row:
    """What is the same in every row of a run."""
    record, versions = context.record, context.record.get("versions", {})
    device = record.get("device") or {}
    framework = context.choice.stack.framework
    return {
        "backend": record.backend,
        "stack": record.stack["name"],
        "framework": f"{framework} {versions.get(framework, '')}".strip(),
        "keras": versions.get("keras"),
        "python": versions.get("python"),
        "numpy": versions.get("numpy"),
        "device_name": device.get("description") or device.get("name"),
        "grade": "stand-in" if record.stack.get("stand_in_for") else "measured",
        "machine": machine.describe(context.machine),
        "platform": context.machine.platform,
        "zoo_version": record.zoo_version,
        "git_commit": record.git_commit,
        "date": record.started,
    }


def write(folder: Path, columns: tuple[str, ...], rows: list[Row]) -> None:
    """Write ``results.csv`` and ``results.json``: these columns, and what is known of all rows, in every row."""
    names = list(dict.fromkeys([*columns, "error", *KNOWN]))
    whole = [{name: row.get(name) for name in names} for row in rows]
    (folder / "results.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    with (folder / "results.csv").open("w", newline="", encoding="utf-8") as stream:
        csv_files.Writer(stream).writerows([names, *(row.values() for row in whole)])


def of_worker(context: RunContext[Settings]) -> list[Row]:
    """The rows that the worker left, each with what is known of all."""
    rows: list[Row] = json.loads((context.folder / "rows.json").read_text(encoding="utf-8"))
    return [row | known(context) for row in rows]

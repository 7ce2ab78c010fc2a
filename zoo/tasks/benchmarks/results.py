"""Rows of benchmarks, with machine, stack, versions and result; failures have rows too."""

import json
import statistics
from pathlib import Path
from typing import Any

from zoo.config.schemas.common import Settings
from zoo.core import console, csv_files
from zoo.core.errors import ZooError
from zoo.environments import machine
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.request import NetworksBench, OperationsBench
from zoo.runs import evidence
from zoo.runs.context import RunContext

Row = dict[str, Any]
KNOWN = (
    "backend", "stack", "framework", "keras", "python", "numpy", "device_name", "grade", "machine", "platform",
    "zoo_version", "git_commit", "date",
)  # fmt: skip


def known(context: RunContext[Settings]) -> Row:
    """Return the fields that all rows of a run share."""
    record, versions = context.record, context.record.get("versions", {})
    device = record.get("device") or {}
    framework = context.choice.stack.framework
    return {
        "backend": record.backend, "stack": record.stack["name"],
        "framework": f"{framework} {versions.get(framework, '')}".strip(), "keras": versions.get("keras"),
        "python": versions.get("python"), "numpy": versions.get("numpy"),
        "device_name": device.get("description") or device.get("name"),
        "grade": "stand-in" if record.stack.get("stand_in_for") else "measured",
        "machine": machine.describe(context.machine), "platform": context.machine.platform,
        "zoo_version": record.zoo_version, "git_commit": record.git_commit, "date": record.started,
    }  # fmt: skip


def write(folder: Path, columns: tuple[str, ...], rows: list[Row]) -> None:
    """Write ``results.csv`` and ``results.json`` with these columns and the shared fields."""
    names = list(dict.fromkeys([*columns, "error", *KNOWN]))
    whole = [{name: row.get(name) for name in names} for row in rows]
    (folder / "results.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    csv_files.write(folder / "results.csv", [names, *(row.values() for row in whole)])


def timed(context: RunContext[Settings], job: str, part: NetworksBench | OperationsBench) -> list[Row]:
    """Run a job of the worker with ``part`` as its settings, and return its rows."""
    request = request_of(context, {"name": context.record.bench}, job)
    request.bench = part
    console.say("Measuring, which takes minutes")
    raise_if_failed(context, execute(context, request))
    path = context.folder / "rows.json"
    if not path.is_file():
        raise ZooError("The benchmark was stopped before its first result", "Run the command again.")
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    return [row | known(context) for row in rows]


# -- timings of the encoder

ENCODER_COLUMNS = (
    "model", "implementation", "way", "mode", "precision", "device", "device_kind", "passes", "repeats", "median_s",
    "fastest_s", "slowest_s", "first_s", "pass_ms", "gflop_per_pass", "tflop_per_s", "peak_tflop_per_s",
    "share_of_peak", "source", "note",
)  # fmt: skip


def figures(taken_s: list[float], passes: int, flops: float) -> Row:
    """Return the median and the range of the seconds that ``passes`` passes took, and operations per second."""
    if not taken_s:
        return {"repeats": 0}
    median = statistics.median(taken_s)
    return {
        "passes": passes, "repeats": len(taken_s), "median_s": round(median, 5), "fastest_s": round(min(taken_s), 5),
        "slowest_s": round(max(taken_s), 5), "pass_ms": round(1e3 * median / passes, 4),
        "gflop_per_pass": round(flops / 1e9, 3), "tflop_per_s": round(flops * passes / median / 1e12, 4),
    }  # fmt: skip


def published(about: str) -> list[Row]:
    """Return published results for the same task, as rows."""
    return [
        {
            "model": about, "implementation": "torch", "mode": "as published", "precision": "float32",
            "stack": row["stack"], "device": row["machine"], "passes": 10, "median_s": row["figure"],
            "pass_ms": row["figure"] * 100, "grade": "reported", "machine": row["machine"], "date": row["date"],
            "source": row["source"], "note": row.get("note", ""),
        }
        for row in evidence.published_about(about)
        if row["figure"] is not None and row["unit"] == "s"
    ]  # fmt: skip


def share_of_peak(rows: list[Row]) -> None:
    """Compare every row with the fastest matrix product on the same kind of device in the same precision."""
    peaks: dict[tuple[str, str], float] = {}
    for row in rows:
        if row["implementation"] == "matrix product" and row.get("fastest_s"):
            key = (row["device_kind"], row["precision"])
            fastest = row["gflop_per_pass"] * row["passes"] / row["fastest_s"] / 1e3
            peaks[key] = max(peaks.get(key, 0.0), fastest)
    for row in rows:
        peak = peaks.get((row.get("device_kind", ""), row["precision"]))
        if peak and row.get("tflop_per_s"):
            row |= {"peak_tflop_per_s": round(peak, 4), "share_of_peak": round(row["tflop_per_s"] / peak, 3)}


def read(folder: Path) -> list[Row]:
    """Return the rows in a run folder; none if the run is not a benchmark."""
    table = folder / "results.json"
    rows: list[Row] = json.loads(table.read_text(encoding="utf-8")) if table.is_file() else []
    return rows


HEADINGS = ["implementation", "mode", "precision", "where", "s", "ms a pass", "TFLOP/s", "of peak", "grade"]


def cells(row: Row) -> list[str]:
    what = " ".join(str(part) for part in (row["implementation"], row.get("way")) if part)
    reported = row.get("grade") == "reported"
    where = f"{row['stack']}: {row['machine']}" if reported else f"{row['stack']}, {row['device']}"
    start = [what, row["mode"] or "", row["precision"], where]
    if row.get("error") or row.get("median_s") is None:
        return [*start, f"failed: {row['error']}" if row.get("error") else "stopped before it was timed", *[""] * 4]
    spread = f"{row['median_s']:.3f}"
    if row.get("repeats", 0) and row["repeats"] > 1:
        spread += f" ({row['fastest_s']:.3f} to {row['slowest_s']:.3f})"
    speed = f"{row['tflop_per_s']:.3f}" if row.get("tflop_per_s") else ""
    share = f"{100 * row['share_of_peak']:.0f} %" if row.get("share_of_peak") else ""
    return [*start, spread, f"{row['pass_ms']:.1f}", speed, share, str(row["grade"])]

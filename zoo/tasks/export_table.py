"""The table of an export, for the screen, the report and the exported README."""

from typing import Any

from zoo.config.tasks import Table
from zoo.runs.records import Json
from zoo.runs.result import Run

HEADINGS = (
    "format", "quantize", "KB", "largest difference", "changed in 1000", "from files", "accuracy", "ms", "source ms",
    "result",
)  # fmt: skip

LEGEND = (
    "largest difference: in a probability, or in a color as a share of 255; changed in 1000: different answers",
    "from files: the same for image files or texts; accuracy: source to export; ms, source ms: time per item",
)


def cells(row: Json, compared: Json) -> list[str]:
    result = "kept" if row["kept"] else "not kept"
    if row.get("not_run"):
        result += f"; not run: {row['not_run']}"
    elif row["ran"]:
        result += ", ran"
    files = row.get("files")
    from_files = f"{files['difference']:.2g}, {files['changed']} of {files['items']} changed" if files else ""
    accuracy = "" if row.get("accuracy") is None else f"{compared['accuracy']:.4f} to {row['accuracy']:.4f}"
    return [
        row["format"], row["quantize"], _number(row.get("bytes", 0) / 1000, "{:,.0f}"),
        _number(row.get("difference"), "{:.2g}"), _number(row.get("changed"), "{:.1f}"), from_files, accuracy,
        _number(row.get("milliseconds"), "{:.2f}"), _number(compared["milliseconds"], "{:.2f}"), result,
    ]  # fmt: skip


def _number(value: Any, shape: str) -> str:
    return shape.format(value) if value is not None else ""


def markdown(rows: list[Json], compared: Json) -> list[str]:
    """Return the lines of the table for the exported README."""
    return [
        f"Compared with stack {compared['stack']} on {compared['items']:,} items. Each folder has its own README.",
        "",
        f"| {' | '.join(HEADINGS)} |",
        f"|{'---|' * len(HEADINGS)}",
        *(f"| {' | '.join(cells(row, compared))} |" for row in rows),
    ]


def tables(run: Run) -> list[Table]:
    compared = run.record.get("compared_with")
    return [("", [*HEADINGS], [cells(row, compared) for row in run.record["exports"]])] if compared else []


def summary(run: Run) -> list[str]:
    compared = run.record.get("compared_with")
    if not compared:
        return ["Interrupted; nothing is kept."]
    lines = [f"{run.record['model']}, compared with stack {compared['stack']} on {compared['items']:,} items"]
    return [*lines, *LEGEND, *run.record.get("results", [])]

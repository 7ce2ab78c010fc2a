"""Summarize predictions for images for standard output."""

import itertools
from typing import Any

from zoo.config.tasks import Table
from zoo.core.errors import counted
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import summaries
from zoo.tasks.image_classification import feature_writer


def lines(run: Run) -> list[str]:
    """Summarize features, predictions for photos (which are shown as a table), or predictions for small images."""
    if "features" in run.record:
        return feature_writer.lines(run)
    return _photos(run) if _of_photos(run) else summaries.predictions(run)


def _of_photos(run: Run) -> bool:
    return "skipped_items" in run.record.get("data", {})


def tables(run: Run) -> list[Table]:
    if not _of_photos(run) or "features" in run.record:
        return []
    rows = [_best(row) for row in itertools.islice(run.each_prediction(), summaries.SHOWN_PREDICTIONS)]
    if rows and "labels" in next(run.each_prediction(), {}):
        return [("", ["image", "labels"], rows)]
    ranks = ["1st", "2nd", "3rd", "4th", "5th"][: max((len(row) - 1 for row in rows), default=0)]
    return [("", ["image", *run.record["data"].get("numbers", ranks)], rows)] if rows else []


def _best(row: dict[str, Any]) -> list[str]:
    if "labels" in row:
        return [row["input"], row["labels"]]
    if "class" not in row:
        return [f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row.values()]
    places = [""] + [f"_{rank}" for rank in range(2, 6) if f"class_{rank}" in row]
    return [row["input"], *(f"{row['class' + place]} {row['probability' + place]:.2f}" for place in places)]


def _photos(run: Run) -> list[str]:
    record, metrics, data = run.record, run.metrics, run.record["data"]
    summary = ["Interrupted; the predictions so far are kept."] if run.exit == "interrupted" else []
    if data["items"] > summaries.SHOWN_PREDICTIONS:
        summary.append(f"... and {data['items'] - summaries.SHOWN_PREDICTIONS:,} more in predictions.csv")
    sheets = sorted(run.folder.glob("contact_sheet_*.png"))
    if sheets:
        pages = sheets[0].name if len(sheets) == 1 else f"{sheets[0].name} to {sheets[-1].name}"
        summary.append(f"Contact sheet: {pages}; tables: predictions.csv, predictions.json")
    if data["skipped_items"]:
        summary.append(f"Skipped, with reasons in skipped.csv: {data['skipped_items']:,}")
    precision = metrics.get("precision", "float32")
    summary.append(f"{summaries.where(record)}, {precision}: {counted(data['items'], 'image')}")
    if "precision_tried" in metrics:
        summary.append(_precision(metrics))
    if "end_to_end_items_per_s" in metrics:
        batch = f"a batch of {metrics['batch_size']} in {metrics['batch_ms_p50']:.1f} ms"
        summary.append(
            f"{metrics['end_to_end_items_per_s']:,.0f} images/s with decoding; the network alone "
            f"{metrics['items_per_s']:,.0f} images/s, {batch} (90th percentile {metrics['batch_ms_p90']:.1f} ms)"
        )
    return summary


def _precision(metrics: Json) -> str:
    tried, compared = metrics["precision_tried"], metrics["precision_compared"]
    if tried is None:
        return "precision=auto: float32; no faster precision is known for this device"
    if not compared:
        return f"precision=auto: no image was predicted in both float32 and {tried}"
    if metrics["precision"] == tried:
        chosen = tried
    elif not metrics["precision_decided"]:
        chosen = f"float32 kept: too few images to decide on {tried}"
    else:
        chosen = f"float32 kept ({tried} tried)"
    return (
        f"precision=auto: {chosen}; {tried} changed the class of {metrics['precision_changed']:,} of the first "
        f"{counted(compared, 'image')}, in {metrics['precision_time']:.2f} of the time"
    )

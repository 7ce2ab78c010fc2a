"""Summarize predictions and evaluations of images for standard output."""

import csv
import itertools
import json
from typing import Any

from zoo.config.tasks import Table
from zoo.core.errors import counted
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import summaries
from zoo.tasks.image_classification import error_analysis
from zoo.tasks.image_classification.prediction_writer import FeatureNames

MOST_CLASSES = 30
WORST = 15


def lines(run: Run) -> list[str]:
    """Summarize features, predictions for photos (which are shown as a table), or predictions for small images."""
    if "features" in run.record:
        return _features(run)
    return _photos(run) if _of_photos(run) else summaries.predictions(run)


def _features(run: Run) -> list[str]:
    record, about, items = run.record, run.record["features"], run.record["data"]["items"]
    shape = " x ".join(f"{size:,}" for size in about["shape"])
    summary = ["Interrupted; the features so far are kept."] if run.exit == "interrupted" else []
    rows = f"{FeatureNames.ARRAY}: {items:,} rows of {shape} float32, the output of layer {about['layer']}"
    summary.append(f"{rows}; names: {FeatureNames.TABLE}")
    if record["data"].get("skipped_items"):
        summary.append(f"Skipped, with reasons in skipped.csv: {record['data']['skipped_items']:,}")
    speed = run.metrics.get("end_to_end_items_per_s") or run.metrics.get("items_per_s", 0)
    return [*summary, f"{summaries.where(record)}: {speed:,.0f} images/s"]


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


def evaluation_tables(run: Run) -> list[Table]:
    """Return the table of metrics by class; with many classes, only those with the lowest F1."""
    path = run.folder / error_analysis.FIGURES
    if not path.is_file():
        return []
    content = json.loads(path.read_text(encoding="utf-8"))
    if "target" in content:
        labels = content.get("labels", [])
        cells = [[f"{each:.4f}" if isinstance(each, float) else str(each) for each in row.values()] for row in labels]
        return [("", list(labels[0]), cells)] if labels else []
    rows = content["classes"]
    title = ""
    if len(rows) > MOST_CLASSES:
        title = f"The {WORST} classes of {len(rows)} with the lowest F1 (all: classes.csv)"
        rows = sorted((row for row in rows if row["items"]), key=lambda row: row["f1"])[:WORST]
    figures = ("precision", "recall", "f1")
    cells = [[row["class"], f"{row['items']:,}", *(f"{row[key]:.4f}" for key in figures)] for row in rows]
    return [(title, ["class", "images", "precision", "recall", "F1"], cells)]


def evaluation(run: Run) -> list[str]:
    """Return the overall metrics, and the paths of the other results."""
    record, metrics, data = run.record, run.metrics, run.record["data"]
    where = f"{summaries.where(record)}, data {data.get('source') or data['name']}"
    if "target" in (record.get("judgement") or {}):
        interrupted = ["Interrupted; the metrics are for only a part."] if run.exit == "interrupted" else []
        items = counted(record["judgement"]["items"], "image")
        return [*interrupted, f"{where}: {items}", *summaries.of_target(run), "Tables: predictions.csv, mistakes.csv"]
    if "test_accuracy" not in metrics:
        return [f"Interrupted before the first image: {where}"]
    items = record["judgement"]["items"]
    top5 = f", top-5 {metrics['test_top5']:.4f}" if "test_top5" in metrics else ""
    means = ", ".join(f"{name} {metrics[f'macro_{key}']:.4f}" for name, key in
                      (("precision", "precision"), ("recall", "recall"), ("F1", "f1")))  # fmt: skip
    summary = [f"Interrupted; the metrics are for only {items:,} images."] if run.exit == "interrupted" else []
    summary += [f"{where}: {counted(items, 'image')}"]
    summary += [f"top-1 {metrics['test_accuracy']:.4f}{top5}, loss {metrics['test_loss']:z.4f}"]
    summary += [f"Means over the classes: {means}"]
    if data.get("skipped"):
        summary.append(f"Skipped: {counted(data.get('skipped_items', len(data['skipped'])), 'image')}")
    return [*summary, *_confused(run), "Tables: evaluation.json, classes.csv, confusion.csv (.png), mistakes.csv"]


def _confused(run: Run) -> list[str]:
    with (run.folder / "confusion.csv").open(newline="", encoding="utf-8", errors="surrogateescape") as source:
        heads, *rows = csv.reader(source)
    pairs = [
        (int(count), row[0], name) for row in rows for name, count in zip(heads[1:], row[1:], strict=True)
        if name != row[0] and count != "0"
    ]  # fmt: skip
    most = sorted(pairs, key=lambda pair: -pair[0])[:3]
    words = "; ".join(f"{true} for {taken} ({count:,})" for count, true, taken in most)
    return [f"Most frequent confusions: {words}"] if words else []

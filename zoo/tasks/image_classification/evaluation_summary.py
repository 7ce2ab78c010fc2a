"""Summarize an evaluation for standard output."""

import csv
import json

from zoo.config.tasks import Table
from zoo.core.errors import counted
from zoo.runs.result import Run
from zoo.tasks import summaries
from zoo.tasks.image_classification import judging

MOST_CLASSES = 30
WORST = 15


def tables(run: Run) -> list[Table]:
    """Return the table of metrics by class; with many classes, only those with the lowest F1."""
    path = run.folder / judging.FIGURES
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


def lines(run: Run) -> list[str]:
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
    summary += [f"top-1 {metrics['test_accuracy']:.4f}{top5}, loss {metrics['test_loss']:.4f}"]
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

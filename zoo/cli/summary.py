"""Summarize a finished run for standard output."""

import itertools
from typing import Any

from zoo.config import bounds
from zoo.runs import promises
from zoo.runs.result import Run
from zoo.tasks.benchmarks import rows as bench_rows
from zoo.tasks.benchmarks import stacks

SHOWN_PREDICTIONS = 20


def lines(run: Run) -> list[str]:
    """Return the result of a run, its folder, and notes about it."""
    if "told" in run.record:  # the task wrote its own summary
        summary = [_where(run.record), *run.record["told"]]
    else:
        summary = _training(run) if run.record["verb"] == "train" else _inference(run)
    return [*summary, f"Run folder: {run.folder}"]


def _where(record: dict[str, Any]) -> str:
    device = (record.get("device") or {}).get("name", "unknown device")
    place = f"{record.get('bench') or record['model']} on {record['backend']} ({record['stack']['name']}, {device})"
    replaced = record["stack"].get("stand_in_for")
    return f"{place}, a stand-in for {replaced}" if replaced else place


def _training(run: Run) -> list[str]:
    record, data = run.record, run.record["data"]
    if run.exit == "interrupted":
        return _interrupted(run)
    fallback = data["reason"] and data["name"] != "mnist"
    seconds = ", ".join(f"{name.removesuffix('_s')} {value:.1f} s" for name, value in record["phases"].items())
    return [
        f"{_where(record)}: {_result(run.metrics)}",
        _data(data),
        *_mistakes(run),
        *([f"  not MNIST: {data['reason']}"] if fallback else []),
        *_expectations(record),
        *record.get("reference", {}).get("compared", []),
        *([f"Stopped by trainer.{record['stopped']}; to resume: {_resume(run)}"] if record.get("stopped") else []),
        f"Time: {seconds}",
    ]


def _interrupted(run: Run) -> list[str]:
    kept = [f"The best weights so far are in {run.folder / 'weights.npz'}"] if run.history else []
    return [f"Interrupted: {_where(run.record)}", *kept, f"To resume: {_resume(run)}"]


def _resume(run: Run) -> str:
    return f"python -m zoo train resume={run.folder}"


def _expectations(record: dict[str, Any]) -> list[str]:
    outcomes = [
        f"The recipe expects {name} of {bounds.words(row)}: {'reached' if row['met'] else 'MISSED'}"
        for name, row in record.get("expected", {}).items()
    ]
    return [*outcomes, *filter(None, [promises.not_applicable(record)])]


def _result(metrics: dict[str, Any]) -> str:
    """Return accuracy and loss of the test, validation or training part, whichever comes first; or the loss alone."""
    if "val_perplexity" in metrics:
        return f"validation loss {metrics['val_loss']:.4f}, perplexity {metrics['val_perplexity']:.2f}"
    for prefix, name in (("test_", "test"), ("val_", "validation"), ("", "training")):
        if f"{prefix}accuracy" in metrics:
            top = f", top-5 {metrics[f'{prefix}top5']:.4f}" if f"{prefix}top5" in metrics else ""
            return f"{name} accuracy {metrics[f'{prefix}accuracy']:.4f}{top}, loss {metrics[f'{prefix}loss']:.4f}"
    if "val_loss" not in metrics:
        return f"training loss {metrics['loss']:.4f}"
    return f"validation loss {metrics['val_loss']:.4f}"


def _data(data: dict[str, Any]) -> str:
    parts = {"train": "training", "validation": "validation", "test": "testing"}
    sizes = ", ".join(
        f"{data[f'{part}_items']:,} for {purpose}" for part, purpose in parts.items() if data.get(f"{part}_items")
    )
    skipped = f", {data['skipped_items']:,} skipped (skipped.csv)" if data.get("skipped_items") else ""
    text = f"Data: {data['name']}, {data.get('what', 'images')}: {sizes}{skipped}"
    return f"{text}\n  {data['split']}" if data.get("split") else text


def _mistakes(run: Run) -> list[str]:
    """Name the classes with the lowest accuracy, and the files with the mistakes."""
    analysis = run.record.get("judgement")
    if not analysis or not analysis["mistakes"]:
        return []
    worst = sorted(analysis["accuracy_by_class"].items(), key=lambda row: row[1])[:3]
    shown = ", ".join(f"{name} {share:.2f}" for name, share in worst)
    mistakes = f"Mistakes: {analysis['mistakes']:,} of {analysis['items']:,} (mistakes.png)"
    return [f"{mistakes}; lowest per-class accuracy: {shown} (confusion.png)"]


def _inference(run: Run) -> list[str]:
    if "skipped_items" in run.record.get("data", {}):
        return _photos(run)
    record = run.record
    if "prompt" in record["data"]:
        speed = f"{run.metrics.get('items', 0):,} tokens, {run.metrics.get('items_per_s', 0):,.0f} tokens/s"
        return [f"\n{_where(record)}: {speed}; the text is in generated.txt"]
    predictions = run.each_prediction()
    rows = list(itertools.islice(predictions, SHOWN_PREDICTIONS))
    more = sum(1 for _ in predictions)
    width = max((len(row["input"]) for row in rows), default=0)
    summary = [f"{row['input']:<{width}}  {row['class']}  {float(row['probability']):.4f}" for row in rows]
    if more:
        summary.append(f"... and {more:,} more in predictions.csv")
    speed = f"{run.metrics.get('items_per_s', 0):,.0f} per second"
    summary.append(f"{_where(record)}: {len(rows) + more:,} {record['data'].get('what', 'images')}, {speed}")
    if "test_accuracy" in run.metrics:
        summary.append(f"test accuracy {run.metrics['test_accuracy']:.4f}, loss {run.metrics['test_loss']:.4f}")
    return summary


def tables(run: Run) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return title, headings and rows of the tables of a run: timings, or the best predictions for photos."""
    if run.record["verb"] == "bench" and "timings" in run.record:
        return [("", bench_rows.HEADINGS, [bench_rows.cells(row) for row in bench_rows.read(run.folder)])]
    if run.record.get("bench") == "stacks":
        return [("", stacks.HEADINGS, [stacks.cells(row) for row in bench_rows.read(run.folder)])]
    if run.record["verb"] != "infer" or "skipped_items" not in run.record.get("data", {}):
        return []
    rows = [_best(row) for row in itertools.islice(run.each_prediction(), SHOWN_PREDICTIONS)]
    ranks = ["1st", "2nd", "3rd", "4th", "5th"][: max((len(row) - 1 for row in rows), default=0)]
    return [("", ["image", *ranks], rows)] if rows else []


def _best(row: dict[str, str]) -> list[str]:
    places = [""] + [f"_{rank}" for rank in range(2, 6) if f"class_{rank}" in row]
    return [row["input"], *(f"{row['class' + place]} {float(row['probability' + place]):.2f}" for place in places)]


def _photos(run: Run) -> list[str]:
    record, metrics, data = run.record, run.metrics, run.record["data"]
    summary = ["Interrupted; the predictions so far are kept."] if run.exit == "interrupted" else []
    if data["items"] > SHOWN_PREDICTIONS:
        summary.append(f"... and {data['items'] - SHOWN_PREDICTIONS:,} more in predictions.csv")
    sheets = sorted(run.folder.glob("contact_sheet_*.png"))
    if sheets:
        pages = sheets[0].name if len(sheets) == 1 else f"{sheets[0].name} to {sheets[-1].name}"
        summary.append(f"Contact sheet: {pages}; tables: predictions.csv, predictions.json")
    if data["skipped_items"]:
        summary.append(f"Skipped, with reasons in skipped.csv: {data['skipped_items']:,}")
    summary.append(f"{_where(record)}, {metrics.get('precision', 'float32')}: {data['items']:,} images")
    if "end_to_end_items_per_s" in metrics:
        batch = f"a batch of {metrics['batch_size']} in {metrics['batch_ms_p50']:.1f} ms"
        summary.append(
            f"{metrics['end_to_end_items_per_s']:,.0f} images/s with decoding; the network alone "
            f"{metrics['items_per_s']:,.0f} images/s, {batch} (90th percentile {metrics['batch_ms_p90']:.1f} ms)"
        )
    return summary

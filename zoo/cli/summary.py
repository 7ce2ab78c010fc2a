"""What a finished run says on standard output."""

import itertools
from typing import Any

from zoo.config import bounds
from zoo.runs import promises
from zoo.runs.result import Run
from zoo.tasks.benchmarks import rows as bench_rows
from zoo.tasks.benchmarks import stacks

SHOWN_PREDICTIONS = 20


def lines(run: Run) -> list[str]:
    """The result of a run, its place, and what is worth knowing about it."""
    if "told" in run.record:  # the words of a task of its own
        told = [_where(run.record), *run.record["told"]]
    else:
        told = _training(run) if run.record["verb"] == "train" else _inference(run)
    return [*told, f"Run folder: {run.folder}"]


def _where(record: dict[str, Any]) -> str:
    device = (record.get("device") or {}).get("name", "unknown device")
    told = f"{record.get('bench') or record['model']} on {record['backend']} ({record['stack']['name']}, {device})"
    stood_for = record["stack"].get("stand_in_for")
    return f"{told}, standing in for {stood_for}" if stood_for else told


def _training(run: Run) -> list[str]:
    record, metrics, data = run.record, run.metrics, run.record["data"]
    told = []
    if run.exit == "interrupted":
        told.append(f"Interrupted: {_where(record)}")
        told += [f"The best weights so far are kept: {run.folder / 'weights.npz'}"] if run.history else []
        return [*told, f"To go on: python -m zoo train resume={run.folder}"]
    told.append(f"{_where(record)}: {_result(metrics)}")
    told.append(_data(data))
    told += _mistakes(run)
    if data["reason"] and data["name"] != "mnist":
        told.append(f"  not MNIST: {data['reason']}")
    for name, judged in record.get("expected", {}).items():
        verdict = "reached" if judged["met"] else "MISSED"
        told.append(f"The recipe expects {name} of {bounds.words(judged)}: {verdict}")
    told += filter(None, [promises.not_applicable(record)])
    told += record.get("reference", {}).get("compared", [])
    if record.get("stopped"):
        told.append(f"Stopped by trainer.{record['stopped']}; to go on: python -m zoo train resume={run.folder}")
    phases = record["phases"]
    shown = ", ".join(f"{name.removesuffix('_s')} {seconds:.1f} s" for name, seconds in phases.items())
    told.append(f"Time: {shown}")
    return told


def _result(metrics: dict[str, Any]) -> str:
    """Accuracy and loss of the first that there is of the test, validation and training part; or loss alone."""
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
    parts = {"train": "train", "validation": "validate", "test": "test"}
    sizes = ", ".join(
        f"{data[f'{part}_items']:,} to {verb}" for part, verb in parts.items() if data.get(f"{part}_items")
    )
    told = f"Data: {data['name']}, {data.get('what', 'pictures')}: {sizes}"
    told += f", {data['skipped_items']:,} left out (skipped.csv)" if data.get("skipped_items") else ""
    return f"{told}\n  {data['split']}" if data.get("split") else told


def _mistakes(run: Run) -> list[str]:
    """Which classes are told apart worst, and where that can be seen."""
    judged = run.record.get("judgement")
    if not judged or not judged["mistakes"]:
        return []
    worst = sorted(judged["accuracy_by_class"].items(), key=lambda row: row[1])[:3]
    shown = ", ".join(f"{name} {share:.2f}" for name, share in worst)
    told = f"Mistakes: {judged['mistakes']:,} of {judged['items']:,} (mistakes.png)"
    return [f"{told}; least often right: {shown} (confusion.png)"]


def _inference(run: Run) -> list[str]:
    if "skipped_items" in run.record.get("data", {}):
        return _recognition(run)
    record = run.record
    if "prompt" in record["data"]:
        speed = f"{run.metrics.get('items', 0):,} tokens, {run.metrics.get('items_per_s', 0):,.0f} a second"
        return [f"\n{_where(record)}: {speed}; the text is in generated.txt"]
    every = run.each_prediction()
    rows = list(itertools.islice(every, SHOWN_PREDICTIONS))
    more = sum(1 for _ in every)
    width = max((len(row["input"]) for row in rows), default=0)
    told = [f"{row['input']:<{width}}  {row['class']}  {float(row['probability']):.4f}" for row in rows]
    if more:
        told.append(f"... and {more:,} more in predictions.csv")
    speed = f"{run.metrics.get('items_per_s', 0):,.0f} a second"
    told.append(f"{_where(record)}: {len(rows) + more:,} {record['data'].get('what', 'pictures')}, {speed}")
    if "test_accuracy" in run.metrics:
        told.append(f"test accuracy {run.metrics['test_accuracy']:.4f}, loss {run.metrics['test_loss']:.4f}")
    return told


def tables(run: Run) -> list[tuple[str, list[str], list[list[str]]]]:
    """Title, headings and rows of what is best shown as a table: timings; the answers to photos, best first."""
    if run.record["verb"] == "bench" and "timings" in run.record:
        return [("", bench_rows.HEADINGS, [bench_rows.cells(row) for row in bench_rows.read(run.folder)])]
    if run.record.get("bench") == "stacks":
        return [("", stacks.HEADINGS, [stacks.cells(row) for row in bench_rows.read(run.folder)])]
    if run.record["verb"] != "infer" or "skipped_items" not in run.record.get("data", {}):
        return []
    rows = [_best(row) for row in itertools.islice(run.each_prediction(), SHOWN_PREDICTIONS)]
    ranks = ["1st", "2nd", "3rd", "4th", "5th"][: max((len(row) - 1 for row in rows), default=0)]
    return [("", ["picture", *ranks], rows)] if rows else []


def _best(row: dict[str, str]) -> list[str]:
    places = [""] + [f"_{rank}" for rank in range(2, 6) if f"class_{rank}" in row]
    return [row["input"], *(f"{row['class' + place]} {float(row['probability' + place]):.2f}" for place in places)]


def _recognition(run: Run) -> list[str]:
    record, metrics, data = run.record, run.metrics, run.record["data"]
    told = ["Interrupted; what was answered until then is kept."] if run.exit == "interrupted" else []
    if data["items"] > SHOWN_PREDICTIONS:
        told.append(f"... and {data['items'] - SHOWN_PREDICTIONS:,} more in predictions.csv")
    sheets = sorted(run.folder.glob("contact_sheet_*.png"))
    if sheets:
        pages = sheets[0].name if len(sheets) == 1 else f"{sheets[0].name} to {sheets[-1].name}"
        told.append(f"Contact sheet: {pages}; the tables: predictions.csv, predictions.json")
    if data["skipped_items"]:
        told.append(f"Left out, with reasons in skipped.csv: {data['skipped_items']:,}")
    told.append(f"{_where(record)}, {metrics.get('precision', 'float32')}: {data['items']:,} pictures")
    if "end_to_end_items_per_s" in metrics:
        told.append(
            f"{metrics['end_to_end_items_per_s']:,.0f} pictures a second, decoding included; the network alone "
            f"{metrics['items_per_s']:,.0f}, a batch of {metrics['batch_size']} in {metrics['batch_ms_p50']:.1f} ms "
            f"(nine of ten within {metrics['batch_ms_p90']:.1f} ms)"
        )
    return told

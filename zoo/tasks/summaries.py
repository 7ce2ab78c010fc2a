"""Summarize finished runs of any task for standard output."""

import itertools
from typing import Any

from zoo.config import bounds
from zoo.core.errors import listed
from zoo.protocol import targets
from zoo.runs import promises, records
from zoo.runs.records import Json
from zoo.runs.result import Run

# Metrics of an epoch of a classifier in display order, and additional ones in history.csv.
FIGURES = ("loss", "accuracy", "val_loss", "val_accuracy", "val_map", "val_f1", "val_mae", "val_r2")
COLUMNS = ("val_top5", "val_micro_f1")
SHOWN_PREDICTIONS = 20
_FIGURES = targets.KINDS[targets.LABELS].names | targets.KINDS[targets.NUMBER].names
# With fewer items, there is no comparison with the largest class.
FEWEST_JUDGED = 20


def recorded(run: Run) -> list[str]:
    """Summarize a run whose task wrote the lines into its record."""
    return [where(run.record), *run.record["summary"]]


def where(record: Json) -> str:
    place = f"{record.get('bench') or record['model']} on {record['backend']} ({record['stack']['name']})"
    replaced = record["stack"].get("stand_in_for")
    return f"{place}, a stand-in for {replaced}" if replaced else place


def training(run: Run) -> list[str]:
    """Summarize a training run of a classifier or a language model."""
    record, data = run.record, run.record["data"]
    resume = records.resume_command(run.folder, record.get("config"))
    if run.exit == "interrupted":
        kept = [f"The best weights so far are in {run.folder / 'weights.npz'}"] if run.history else []
        return [f"Interrupted: {where(run.record)}", *kept, f"To resume: {resume}"]
    fallback = data["reason"] and data["name"] != "mnist"
    seconds = ", ".join(f"{name.removesuffix('_s')} {value:.1f} s" for name, value in record["phases"].items())
    return [
        f"{where(record)}: {_result(run.metrics)}",
        _data(data),
        *_mistakes(run),
        *_linear(record),
        *([f"  not MNIST: {data['reason']}"] if fallback else []),
        *expected(record),
        *record.get("reference", {}).get("compared", []),
        *([f"Stopped by trainer.{record['stopped']}; to resume: {resume}"] if record.get("stopped") else []),
        f"Time: {seconds}",
    ]


def expected(record: Json) -> list[str]:
    """Compare the metrics of a run with the recipe's promise, or say why it does not apply."""
    judged = [
        f"The recipe expects {name} of {bounds.words(row)}: {'reached' if row['met'] else 'MISSED'}"
        for name, row in record.get("expected", {}).items()
    ]
    return [*judged, *filter(None, [promises.not_applicable(record)])]


def _result(metrics: Json) -> str:
    """Return the accuracy, if any, and the loss of the first available part: test, validation or training."""
    if "val_perplexity" in metrics:
        return f"validation loss {metrics['val_loss']:z.4f}, perplexity {metrics['val_perplexity']:.2f}"
    for prefix, name in (("test_", "test"), ("val_", "validation"), ("", "training")):
        if figures := [
            f"{title} {metrics[prefix + key]:.4g}" for key, title in _FIGURES.items() if prefix + key in metrics
        ]:
            return f"{name} {', '.join(figures)}"
        if f"{prefix}accuracy" in metrics:
            top = f", top-5 {metrics[f'{prefix}top5']:.4f}" if f"{prefix}top5" in metrics else ""
            return f"{name} accuracy {metrics[f'{prefix}accuracy']:.4f}{top}, loss {metrics[f'{prefix}loss']:z.4f}"
    if "val_loss" not in metrics:
        return f"training loss {metrics['loss']:z.4f}"
    return f"validation loss {metrics['val_loss']:z.4f}"


def _data(data: Json) -> str:
    parts = {"train": "training", "validation": "validation", "test": "testing"}
    sizes = ", ".join(
        f"{data[f'{part}_items']:,} for {purpose}" for part, purpose in parts.items() if data.get(f"{part}_items")
    )
    skipped = f", {data['skipped_items']:,} skipped (skipped.csv)" if data.get("skipped_items") else ""
    text = f"Data: {data['name']}, {data.get('what', 'images')}: {sizes}{skipped}"
    return f"{text}\n  {data['split']}" if data.get("split") else text


def _mistakes(run: Run) -> list[str]:
    """Return the classes with the lowest accuracy, and the files with the mistakes."""
    analysis = run.record.get("judgement")
    if analysis and "target" in analysis:
        return [*_target_errors(analysis), *_duplicates(run)]
    if not analysis or not analysis["mistakes"]:
        return _duplicates(run)
    worst = sorted(analysis["accuracy_by_class"].items(), key=lambda row: row[1])[:3]
    shown = listed(f"{name}: {share:.2f}" for name, share in worst)
    file = "mistakes.png" if (run.folder / "mistakes.png").is_file() else "mistakes.csv"
    mistakes = f"Mistakes: {analysis['mistakes']:,} of {analysis['items']:,} ({file})"
    macro = f"; macro F1 {analysis['macro_f1']:.4f} (classes.csv)"
    balanced = bool(((run.record.get("config") or {}).get("data") or {}).get("balance"))
    lowest = f"{mistakes}; lowest accuracy of a class: {shown} (confusion.png){macro}"
    return [lowest, *no_better(analysis, run.record["data"].get("what", "images"), balanced), *_duplicates(run)]


def of_target(run: Run) -> list[str]:
    """Summarize an evaluation of labels or numbers."""
    return [_result(run.metrics), *_target_errors(run.record["judgement"])]


def _target_errors(analysis: Json) -> list[str]:
    """Return the labels with the lowest F1, or the error of always predicting the mean of a number."""
    if analysis["target"] == targets.NUMBER:
        usual = analysis.get("mae_of_mean")
        words = "" if usual is None else f"; always predicting the training mean: mean absolute error {usual:.4g}"
        return [f"Largest error {analysis['largest_error']:.4g}{words} (scatter.png, mistakes.png)"]
    worst = sorted((row for row in analysis["labels"] if row["items"]), key=lambda row: row["f1"])[:3]
    shown = ", ".join(f"{row['label']}: {row['f1']:.2f} (from {row['threshold']:.2f} on)" for row in worst)
    wrong = f"Items with a wrong label: {analysis['mistakes']:,} of {analysis['items']:,} (mistakes.csv)"
    return [f"{wrong}; lowest F1 of a label: {shown} (labels.csv)"]


def no_better(analysis: Json, what: str, balanced: bool) -> list[str]:
    """Warn if the network is no more accurate than the largest class; advise ``data.balance`` if not ``balanced``."""
    items, largest = analysis["items"], analysis["largest_class"]["items"]
    if items < FEWEST_JUDGED or items - analysis["mistakes"] > largest or largest == items:
        return []
    name, share = analysis["largest_class"]["name"], largest / items
    uneven = what == "images" and not balanced and largest > 1.5 * items / len(analysis["accuracy_by_class"])
    remedy = "; data.balance=true makes all classes count equally" if uneven else ""
    return [f"Always predicting {name!r} would be right at least as often: {share:.4f} of the {what}{remedy}"]


def _linear(record: Json) -> list[str]:
    """Compare the network with a linear classifier of the texts, or a linear probe."""
    baseline, probe = record.get("linear_baseline"), record.get("linear_probe")
    verdict = [probe["verdict"]] if probe else []
    if not baseline:
        return verdict
    accuracy, seconds = baseline["test_accuracy"], baseline["seconds"]
    return [*verdict, f"Linear baseline ({baseline['name']}): test accuracy {accuracy:.4f} after {seconds:.1f} s"]


def _duplicates(run: Run) -> list[str]:
    """Return the number of test items that were also used for training, and the accuracy without them."""
    count, data = run.record["data"].get("duplicates"), run.record["data"]
    if not count:
        return []
    others = (run.record.get("judgement") or {}).get("accuracy_without_duplicates")
    without = "" if others is None else f"; test accuracy without them {others:.4f}"
    what, part = data.get("what", "images"), data.get("duplicates_in", "training")
    return [f"Test {what} like those used for {part}: {count:,} of {data['test_items']:,}{without}"]


def predictions(run: Run) -> list[str]:
    record = run.record
    rest = run.each_prediction()
    rows = list(itertools.islice(rest, SHOWN_PREDICTIONS))
    more = sum(1 for _ in rest)
    width = max((len(row["input"]) for row in rows), default=0)
    best = record.get("config", {}).get("top") or 1
    summary = [f"{row['input']:<{width}}  {_likeliest(row, best)}" for row in rows]
    if more:
        summary.append(f"... and {more:,} more in predictions.csv")
    speed = f"{run.metrics.get('items_per_s', 0):,.0f} per second"
    summary.append(f"{where(record)}: {len(rows) + more:,} {record['data'].get('what', 'images')}, {speed}")
    if rows and "class" not in rows[0]:
        is_judged = any(f"test_{name}" in run.metrics for name in _FIGURES)
        return [*summary, _result(run.metrics)] if is_judged else summary
    if "test_accuracy" in run.metrics:
        summary.append(f"test accuracy {run.metrics['test_accuracy']:.4f}, loss {run.metrics['test_loss']:z.4f}")
    return summary


def _likeliest(row: dict[str, Any], count: int) -> str:
    """Return a row's most likely classes with their probabilities, its only class, or its labels or number."""
    if "labels" in row:
        return str(row["labels"])
    if "class" not in row:
        return "  ".join(str(value) for key, value in row.items() if key not in ("input", "text"))
    shares = {name.removeprefix("p_"): share for name, share in row.items() if name.startswith("p_")}
    ranked = sorted(shares.items(), key=lambda pair: -pair[1])[:count] if count > 1 and shares else []
    return "  ".join(f"{name}  {share:.4f}" for name, share in ranked or [(row["class"], row["probability"])])

"""What a finished run says on standard output."""

from typing import Any

from zoo.results import Run

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
    told = f"{record['model']} on {record['backend']} ({record['stack']['name']}, {device})"
    stood_for = record["stack"].get("stand_in_for")
    return f"{told}, standing in for {stood_for}" if stood_for else told


def _training(run: Run) -> list[str]:
    record, metrics, data = run.record, run.metrics, run.record["data"]
    told = []
    if run.exit == "interrupted":
        told.append(f"Interrupted: {_where(record)}")
        told += [f"The best weights so far are kept: {run.folder / 'weights.npz'}"] if run.history else []
        return told
    told.append(f"{_where(record)}: test accuracy {metrics['test_accuracy']:.4f}, loss {metrics['test_loss']:.4f}")
    told.append(f"Data: {data['name']}, {data['train_items']:,} pictures to train, {data['test_items']:,} to test")
    if data["reason"] and data["name"] != "mnist":
        told.append(f"  not MNIST: {data['reason']}")
    for name, judged in record.get("expected", {}).items():
        verdict = "reached" if judged["met"] else "MISSED"
        told.append(f"The recipe expects {name} of at least {judged['at_least']}: {verdict}")
    told += record.get("reference", {}).get("compared", [])
    phases = record["phases"]
    shown = ", ".join(f"{name.removesuffix('_s')} {seconds:.1f} s" for name, seconds in phases.items())
    told.append(f"Time: {shown}")
    return told


def _inference(run: Run) -> list[str]:
    record, rows = run.record, run.predictions
    width = max((len(row["input"]) for row in rows[:SHOWN_PREDICTIONS]), default=0)
    told = [
        f"{row['input']:<{width}}  {row['class']}  {float(row['probability']):.4f}"
        for row in rows[:SHOWN_PREDICTIONS]
    ]
    if len(rows) > SHOWN_PREDICTIONS:
        told.append(f"... and {len(rows) - SHOWN_PREDICTIONS:,} more in predictions.csv")
    told.append(f"{_where(record)}: {len(rows):,} pictures, {run.metrics.get('items_per_s', 0):,.0f} a second")
    if "test_accuracy" in run.metrics:
        told.append(f"test accuracy {run.metrics['test_accuracy']:.4f}, loss {run.metrics['test_loss']:.4f}")
    return told

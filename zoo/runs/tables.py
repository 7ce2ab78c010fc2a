"""Tables of a run: ``history.csv`` with a row per epoch, ``predictions.csv`` with a row per input."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.core import csv_files
from zoo.core.errors import ZooError
from zoo.protocol.events import EpochEvent
from zoo.protocol.targets import CLASSES, LABELS, NUMBER
from zoo.runs.records import Json

# Between the labels of an item.
AND = "|"


def write_history(path: Path, epochs: list[EpochEvent], figures: Sequence[str]) -> None:
    """Write a row per epoch as CSV, with the columns that the task declares and that have values."""
    rows = [epoch.to_json() for epoch in epochs]
    columns = ["epoch", "stage", *figures, "learning_rate", "epoch_s", "items_per_s", "peak_memory_bytes", "best"]
    present = [name for name in columns if any(name in row for row in rows)]
    with path.open("w", newline="", encoding="utf-8", errors="backslashreplace") as out:
        writer = csv.DictWriter(out, present, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def read_history(folder: Path, name: str = "history.csv") -> list[dict[str, float]]:
    """Read a table of numbers; return an empty list if it is missing."""
    path = folder / name
    if not path.is_file():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as source:
            rows = list(csv.DictReader(source, restkey="rest", strict=True))
            return [{str(key): _number(value) for key, value in row.items() if key != "rest"} for row in rows]
    except (OSError, ValueError, csv.Error) as error:
        raise ZooError(f"{path} cannot be read: {error}", "Remove it, or train again.") from error


def _number(text: str) -> float:
    return float(text == "True") if text in ("True", "False") else float(text or "nan")


def labels_over(names: Sequence[str], probabilities: Any, thresholds: Sequence[float]) -> list[str]:
    """Return the labels whose probability reaches their threshold."""
    pairs = zip(names, probabilities.tolist(), thresholds, strict=True)
    return [name for name, share, threshold in pairs if share >= threshold]


def answers(
    names: Sequence[str], classes: Sequence[str], outputs: Any, kind: str = CLASSES, thresholds: Sequence[float] = ()
) -> Iterator[Json]:
    """Yield a row for each item of (n, classes) float32: ``input``, and what is predicted.

    This is the most likely ``class`` and its ``probability``, the ``labels`` over their thresholds, or the number.
    """
    for name, values in zip(names, outputs, strict=True):
        if kind == LABELS:
            yield {"input": name, "labels": AND.join(labels_over(classes, values, thresholds))}
        elif kind == NUMBER:
            yield {"input": name} | {each: float(f"{value:.9g}") for each, value in zip(classes, values, strict=True)}
        else:
            best = int(values.argmax())
            yield {"input": name, "class": classes[best], "probability": float(values[best])}


def write_predictions(
    path: Path, names: Sequence[str], classes: Sequence[str], outputs: Any,
    more: Mapping[str, Sequence[str]] | None = None, kind: str = CLASSES, thresholds: Sequence[float] = (),
) -> None:  # fmt: skip
    """Write ``predictions.csv``: a row of :func:`answers`, the columns in ``more``, the probability of every class.

    ``names`` and each column in ``more`` have n entries.
    """
    more, shown = more or {}, () if kind == NUMBER else classes
    first = {LABELS: ["labels"], NUMBER: [*classes]}.get(kind, ["class", "probability"])
    with path.open("w", newline="", encoding="utf-8", errors="backslashreplace") as out:
        writer = csv_files.Writer(out)
        writer.writerow(["input", *first, *more, *(f"p_{name}" for name in shown)])
        rows = answers(names, classes, outputs, kind, thresholds)
        for number, (row, values) in enumerate(zip(rows, outputs, strict=True)):
            others = [column[number] for column in more.values()]
            writer.writerow([*row.values(), *others, *(f"{value:.9g}" for value in values[: len(shown)])])

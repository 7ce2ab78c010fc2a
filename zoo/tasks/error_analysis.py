"""The errors of a trained classifier: confusion matrix, metrics by class and worst mistakes, as tables."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from zoo.core import csv_files
from zoo.core.arrays import Arrays, NDArray, np
from zoo.protocol.targets import f1
from zoo.runs import plots
from zoo.runs.records import Json

PARTS = ("test", "validation")
LISTED = 1000
FIGURES = ("precision", "recall", "f1")


@dataclasses.dataclass(frozen=True)
class Items:
    """The evaluated items.

    Attributes:
        class_names: names of the classes, by label.
        names: function that returns the names of items, given their part and their indices in it.
        texts: function that returns the texts of items; None if they are not texts.
        known: for each test item, whether it was also used for training; None if unknown.
    """

    class_names: list[str]
    names: "Callable[[str, Sequence[int]], list[str]]"
    texts: "Callable[[str, Sequence[int]], list[str]] | None" = None
    known: "NDArray[np.bool_] | None" = None


def read(folder: Path) -> "tuple[str, Arrays] | None":
    """Read the worker's predictions for the evaluated part, ``judged_test.npz`` or ``judged_validation.npz``."""
    part = next((name for name in PARTS if (folder / f"judged_{name}.npz").is_file()), None)
    if part is None:
        return None
    with np.load(folder / f"judged_{part}.npz", allow_pickle=False) as stored:
        return part, {name: stored[name] for name in stored.files}


def keep(folder: Path, items: Items, title: str, part: str, predictions: "Arrays") -> Json:
    """Write ``confusion.csv`` and ``.png``, ``classes.csv`` and ``mistakes.csv``; return the fields for ``run.json``.

    :func:`read` returns ``part`` and ``predictions``; ``title`` is the title of ``confusion.png``.
    """
    names = items.class_names
    matrix = _matrix(predictions, len(names))
    counts = [[name, *row] for name, row in zip(names, matrix.tolist(), strict=True)]
    csv_files.write(folder / "confusion.csv", [["true \\ predicted", *names], *counts])
    plots.confusion(matrix, names, f"{title}, {part} part", folder / "confusion.png")
    worst = mistakes(predictions)
    _write_mistakes(folder / "mistakes.csv", items, part, predictions, worst[:LISTED])
    rows = class_figures(predictions, names)
    cells = [[row["class"], row["items"], *(f"{row[key]:.4f}" for key in FIGURES)] for row in rows]
    csv_files.write(folder / "classes.csv", [["class", "items", *FIGURES], *cells])
    tested = [row for row in rows if row["items"]]
    largest = max(rows, key=lambda row: row["items"])
    return {
        **_without_known(items, part, predictions), "part": part, "items": len(predictions["label"]),
        "mistakes": len(worst), "largest_class": {"name": largest["class"], "items": largest["items"]}, **macro(rows),
        "accuracy_by_class": {row["class"]: row["recall"] for row in tested},
        "precision_by_class": {row["class"]: row["precision"] for row in tested},
        "f1_by_class": {row["class"]: row["f1"] for row in tested},
    }  # fmt: skip


def _without_known(items: Items, part: str, predictions: "Arrays") -> dict[str, float]:
    """Return the accuracy on the test items that were not used for training, if some but not all were."""
    known = items.known
    if known is None or part != "test" or known.all() or not known.any():
        return {}
    right = predictions["best"][:, 0] == predictions["label"]
    return {"accuracy_without_duplicates": float(right[~known].mean())}


def _matrix(predictions: "Arrays", classes: int) -> "NDArray[np.int64]":
    matrix = np.zeros((classes, classes), np.int64)
    np.add.at(matrix, (predictions["label"], predictions["best"][:, 0]), 1)
    return matrix


def class_figures(predictions: "Arrays", names: list[str]) -> list[Json]:
    matrix = _matrix(predictions, len(names))
    counts = np.stack([matrix.sum(axis=1), matrix.sum(axis=0), matrix.diagonal()], axis=1).tolist()
    return [{"class": name, "items": row[0]} | shares(*row) for name, row in zip(names, counts, strict=True)]


def macro(rows: list[Json]) -> Json:
    """Return the means of precision, recall and F1 over the classes that have items."""
    tested = [row for row in rows if row["items"]]
    return {f"macro_{key}": sum(row[key] for row in tested) / len(tested) for key in FIGURES}


def shares(items: int, taken: int, right: int) -> Json:
    """Return precision, recall and F1 of a class or label; undefined values are 0."""
    return {"precision": right / max(1, taken), "recall": right / max(1, items), "f1": f1(items, taken, right)}


def mistakes(predictions: "Arrays") -> "NDArray[np.int64]":
    """Return the indices of misclassified items, the most confident mistakes first."""
    wrong = np.flatnonzero(predictions["best"][:, 0] != predictions["label"])
    return wrong[np.argsort(predictions["true"][wrong] - predictions["probability"][wrong, 0], kind="stable")]


def _write_mistakes(path: Path, items: Items, part: str, predictions: "Arrays", worst: "NDArray[np.int64]") -> None:
    names, numbers = items.class_names, worst.tolist()
    texts = [[text] for text in items.texts(part, numbers)] if items.texts else [[] for _ in numbers]
    rows = [
        [name, names[predictions["label"][item]], names[predictions["best"][item, 0]],
         f"{predictions['probability'][item, 0]:.4f}", f"{predictions['true'][item]:.4f}", *text]
        for item, name, text in zip(numbers, items.names(part, numbers), texts, strict=True)
    ]  # fmt: skip
    head = ["input", "true", "predicted", "probability", "probability of the true class"]
    csv_files.write(path, [[*head, "text"] if items.texts else head, *rows])

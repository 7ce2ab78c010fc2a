"""The errors of a network that predicts several labels or a number: figures, tables and plots."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zoo.core import csv_files
from zoo.core.arrays import Arrays, NDArray, np
from zoo.data.targets import Targets
from zoo.protocol import targets
from zoo.runs import plots, tables
from zoo.runs.records import Json
from zoo.tasks import error_analysis


@dataclasses.dataclass(frozen=True)
class Judged:
    """Predictions for items whose targets are known.

    Attributes:
        kind: ``labels`` or ``number``.
        names: the labels, or the name of the number.
        predicted: (n, names), probabilities or numbers; ``truth`` likewise, with 0 and 1 for labels.
        thresholds: of each label.
        mean: mean of the number in training, if known.
    """

    kind: str
    names: list[str]
    predicted: "NDArray[np.float64]"
    truth: "NDArray[np.float64]"
    thresholds: list[float]
    mean: float | None = None

    @property
    def given(self) -> "NDArray[np.bool_]":
        return self.predicted >= np.array(self.thresholds)

    @functools.cached_property
    def errors(self) -> "NDArray[np.float64]":
        """The largest error of each item."""
        largest: NDArray[np.float64] = np.abs(self.predicted - self.truth).max(axis=1)
        return largest

    def worst(self) -> "NDArray[np.int64]":
        """Return the items with a wrong label, or all items by number, the largest error first."""
        order = np.argsort(-self.errors, kind="stable")
        if self.kind == targets.NUMBER:
            return order
        wrong: NDArray[np.bool_] = np.any(self.given != (self.truth > 0), axis=1)
        chosen: NDArray[np.int64] = order[wrong[order]]
        return chosen

    def said(self, item: int) -> list[str]:
        """Return what is true and what is predicted for an item."""
        if self.kind == targets.NUMBER:
            return [f"{rows[item, 0]:.6g}" for rows in (self.truth, self.predicted)]
        pairs = (self.truth[item] > 0, self.given[item])
        return [tables.AND.join(np.array(self.names)[row].tolist()) for row in pairs]

    def metrics(self, prefix: str) -> Json:
        """Return the figures of all items. A number has no loss, because its unit is from training."""
        rows = targets.figures(self.kind, self.predicted, self.truth, self.thresholds)
        return {prefix + name: value for name, value in rows.items() if (name, self.kind) != ("loss", targets.NUMBER)}


def thresholds(record: Json, count: int) -> list[float]:
    """Return the thresholds of labels, from the record of a run or the description of an export, or usual ones."""
    kept = (record.get("judgement") or record).get("thresholds")
    if isinstance(kept, list) and len(kept) == count and all(isinstance(each, float) for each in kept):
        return kept
    return [targets.USUAL] * count


def of_outputs(
    target: Json, names: list[str], limits: list[float], outputs: "NDArray[Any]", truth: "NDArray[Any]"
) -> Judged:
    """Return outputs in the unit of a ``target``, (n, names), for the first items of ``truth``."""
    known = np.asarray(truth)[: len(outputs)]
    return Judged(target["kind"], names, outputs.astype(np.float64), known, limits, target.get("mean"))


def of_worker(known: Targets, trained: "NDArray[np.int64]", predictions: "Arrays") -> Judged:
    """Return predictions that the worker kept, see :func:`zoo.tasks.error_analysis.read`; ``trained`` are rows."""
    limits = predictions.get("thresholds", np.full(len(known.names), targets.USUAL)).tolist()
    mean = float(known.values[trained].mean())
    return Judged(known.kind, known.names, predictions["predicted"], predictions["truth"], limits, mean)


def keep(
    folder: Path, judged: Judged, title: str, part: str, names_of: "Callable[[str, Sequence[int]], list[str]]"
) -> Json:
    """Write ``labels.csv`` or ``scatter.png``, and ``mistakes.csv``; return the fields for ``run.json``.

    ``names_of`` returns the names of items, as in :class:`zoo.tasks.error_analysis.Items`.
    """
    worst = judged.worst()[: error_analysis.LISTED].tolist()
    pairs = zip(worst, names_of(part, worst), strict=True)
    rows = [[name, *judged.said(item), f"{judged.errors[item]:.6g}"] for item, name in pairs]
    largest = "error" if judged.kind == targets.NUMBER else "largest error of a probability"
    csv_files.write(folder / "mistakes.csv", [["input", "true", "predicted", largest], *rows])
    analysis: Json = {"part": part, "items": len(judged.truth), "target": judged.kind}
    if judged.kind == targets.NUMBER:
        plots.scatter(judged.truth[:, 0], judged.predicted[:, 0], judged.names[0], title, folder / "scatter.png")
        baseline = {} if judged.mean is None else {"mae_of_mean": float(np.abs(judged.truth - judged.mean).mean())}
        return analysis | baseline | {"name": judged.names[0], "largest_error": float(judged.errors.max())}
    table = label_figures(judged)
    cells = [[f"{each:.4f}" if isinstance(each, float) else each for each in row.values()] for row in table]
    csv_files.write(folder / "labels.csv", [list(table[0]), *cells])
    return analysis | {"mistakes": len(judged.worst()), "thresholds": judged.thresholds, "labels": table}


def label_figures(judged: Judged) -> list[Json]:
    """Return a row for each label: items, threshold, precision, recall, F1 and average precision."""
    counts = targets.counts(judged.predicted, judged.truth, judged.thresholds)
    columns = zip(judged.names, judged.thresholds, counts, judged.predicted.T, judged.truth.T, strict=True)
    return [
        {"label": name, "items": count[0], "threshold": threshold}
        | error_analysis.shares(*count)
        | {"average precision": targets.precision_recall(predicted, truth)[0]}
        for name, threshold, count, predicted, truth in columns
    ]

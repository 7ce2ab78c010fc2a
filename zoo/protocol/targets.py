"""Kinds of targets: one class, several labels or a number for each item, with activation, loss and figures.

Host and worker share these definitions. Arrays are NumPy's, but only their methods are used, which every version has.
"""

import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

CLASSES, LABELS, NUMBER = "classes", "labels", "number"


class Kind(NamedTuple):
    """What a network with this kind of target has.

    Attributes:
        activation: of the last layer.
        loss: name of the loss in Keras.
        best: the figure that selects the best epoch, next to the loss.
        names: words for the figures, by their name without the part of the data.
    """

    activation: str
    loss: str
    best: str
    names: Dict[str, str]


KINDS = {
    CLASSES: Kind("softmax", "categorical_crossentropy", "accuracy", {"accuracy": "accuracy"}),
    LABELS: Kind(
        "sigmoid",
        "binary_crossentropy",
        "map",
        {"map": "mean average precision", "f1": "macro F1", "micro_f1": "micro F1"},
    ),
    NUMBER: Kind("linear", "mse", "r2", {"r2": "R2", "mae": "mean absolute error"}),
}
# Names of the figures of several labels and of numbers in epochs and results.
FIGURES = tuple(name for kind in (LABELS, NUMBER) for name in KINDS[kind].names)
# A label is given from this probability on, if no validation items determine a threshold.
USUAL = 0.5
# The largest weight of a rare label in the loss.
MOST_WEIGHT = 20.0
# Number of most likely classes that are kept of a prediction.
BEST = 5
# The smallest probability in a cross-entropy.
SMALLEST = 1e-7


def cross_entropy(probabilities: Any) -> float:
    """Return the mean cross-entropy (nats) of the probabilities of what is true, (n,)."""
    return -sum(map(math.log, probabilities.astype("float64").clip(SMALLEST, None).tolist())) / len(probabilities)


def of_likeliest(kept: Any, prefix: str) -> Dict[str, float]:
    """Return the mean cross-entropy (nats), accuracy and, with more than five classes, top-5 accuracy.

    ``kept`` are arrays by name: ``label`` (n,), ``best`` (n, 5 or fewer), the likeliest classes first, and ``true``
    (n,), the probability of the label. ``prefix``, such as ``val_``, is prepended to the names.
    """
    hits = kept["best"] == kept["label"][:, None]
    figures = {prefix + "loss": cross_entropy(kept["true"]), prefix + "accuracy": float(hits[:, 0].mean())}
    if hits.shape[1] == BEST:
        figures[prefix + "top5"] = float(hits.any(axis=1).mean())
    return figures


def counts(predicted: Any, truth: Any, thresholds: List[float]) -> List[Tuple[int, int, int]]:
    """Return for each label the number of items that have it, that get it, and both.

    ``predicted`` are probabilities (n, labels), ``truth`` is 0 or 1.
    """
    true, taken = truth > 0, predicted >= thresholds
    return list(zip(*(rows.sum(axis=0).tolist() for rows in (true, taken, true & taken))))


def f1(true: int, taken: int, both: int) -> float:
    return 2.0 * both / max(1, true + taken)


def precision_recall(predicted: Any, truth: Any) -> Tuple[float, float]:
    """Return a label's average precision, and the threshold with the best F1: 0 and the usual one without its items.

    ``predicted`` and ``truth``: (n,). Equal values are one step. A tenth of answers at the threshold must be right.
    """
    order = (-predicted).argsort(kind="mergesort")
    shares, true = predicted[order], truth[order] > 0
    hits, total = true.cumsum(), int(true.sum())
    if not total:
        return 0.0, USUAL
    ends = [*((shares[1:] != shares[:-1]).nonzero()[0]).tolist(), len(shares) - 1]
    average, before, best, threshold = 0.0, 0, -1.0, USUAL
    for end in ends:
        both = int(hits[end])
        average += (both - before) / total * both / (end + 1)
        before = both
        figure = f1(total, end + 1, both)
        if figure > best and 10 * both >= end + 1:
            best, below = figure, float(shares[end + 1]) if end + 1 < len(shares) else 0.0
            threshold = (float(shares[end]) + below) / 2
    return average, threshold


def thresholds(predicted: Any, truth: Any) -> List[float]:
    """Return for each label the threshold with the best F1 on these items, or the usual one if no item has it."""
    return [precision_recall(shares, true)[1] for shares, true in zip(predicted.T, truth.T)]


def figures(
    kind: str, predicted: Any, truth: Any, limits: Optional[List[float]] = None, scale: float = 1.0,
    loss: Optional[str] = None,
) -> Dict[str, float]:  # fmt: skip
    """Return loss and figures of predictions (n, outputs).

    Labels without an item do not count in means over labels.

    Args:
        limits: threshold of each label; None chooses them on these items.
        scale: deviation of a number in training; the loss is of errors divided by it.
        loss: of a number, ``mse`` or ``mae``.
    """
    if kind == NUMBER:
        spread = float(((truth - truth.mean()) ** 2).mean())
        square, mae = float(((predicted - truth) ** 2).mean()), float(abs(predicted - truth).mean())
        r2 = 1.0 - square / spread if spread else 0.0
        return {"loss": mae / scale if loss == "mae" else square / scale**2, "r2": r2, "mae": mae}
    shares = predicted.astype("float64").clip(SMALLEST, 1 - SMALLEST)
    right = shares * (truth > 0) + (1 - shares) * (truth <= 0)
    rows = [precision_recall(*columns) for columns in zip(predicted.T, truth.T)]
    numbers = counts(predicted, truth, [row[1] for row in rows] if limits is None else limits)
    present = [place for place, (true, _, _) in enumerate(numbers) if true]
    return {
        "loss": cross_entropy(right.ravel()),
        "map": sum(rows[place][0] for place in present) / max(1, len(present)),
        "f1": sum(f1(*numbers[place]) for place in present) / max(1, len(present)),
        "micro_f1": f1(*map(sum, zip(*numbers))),
    }

"""Compute the metrics of a classifier, in NumPy so that they mean the same on every stack."""

import numpy as np

from zoo.protocol import targets
from zoo.worker.training.schedules import smooth_labels


def score(predicted, labels):
    """Return the mean cross-entropy (nats) and accuracy of (n, classes) probabilities and (n,) integer labels."""
    none = _none(predicted)
    chosen = np.where(none, 0.0, predicted[np.arange(len(labels)), labels])
    return targets.cross_entropy(chosen), float(((predicted.argmax(axis=1) == labels) & ~none).mean())


def likeliest(predicted, labels):
    """Return the parts of each prediction that show mistakes.

    A prediction with NaN or infinity counts as wrong, with probability 0.

    Returns:
        Arrays by name: ``label`` (n,), ``best`` (n, 5 or fewer), the likeliest classes first, and ``probability`` of
        these. ``true`` (n,) is the probability of the label, ``none`` (n,) whether the prediction was not finite.
    """
    # Fewer than the classes, because a list of all classes always contains the correct one.
    count = max(1, min(targets.BEST, predicted.shape[1] - 1))
    none = _none(predicted)
    if none.any():
        predicted = np.where(none[:, None], np.float32(0), predicted)
        predicted[none, labels[none]] = -1.0  # so that the right class is the last
    best = np.argsort(-predicted, axis=1, kind="mergesort")[:, :count]
    return {
        "label": labels.astype(np.int32), "best": best.astype(np.int32),
        "probability": np.take_along_axis(predicted, best, 1),
        "true": np.maximum(predicted[np.arange(len(labels)), labels], 0.0), "none": none,
    }  # fmt: skip


def encoded(target, labels):
    """Return several labels or numbers, (n, outputs), as the network learns them: float32, numbers standardized."""
    if target.kind == targets.NUMBER:
        labels = (labels - target.mean) / target.scale
    return labels.astype(np.float32)


def encoder(target, classes, smoothing):
    """Return the function that encodes what is known of items as the network learns it; classes without a target."""
    if target:
        return lambda labels: encoded(target, labels)
    rows = smooth_labels(np.eye(classes, dtype=np.float32), smoothing)
    return lambda labels: rows[labels]


def judged(target, predicted, labels):
    """Return ``predicted`` and ``truth``, (n, outputs) in the unit of the target, and which are ``none``.

    See :func:`likeliest`, which does this for one class, without a ``target``. Outputs that are not finite become 0.
    """
    if target is None:
        return likeliest(predicted, labels)
    none = _none(predicted)
    predicted = np.where(none[:, None], np.float32(0), predicted)
    if target.kind == targets.NUMBER:
        predicted = predicted.astype(np.float64) * target.scale + target.mean
    return {"predicted": predicted, "truth": labels, "none": none}


def figures(target, kept, prefix):
    """Return the figures of :func:`judged` items; ``prefix``, such as ``val_``, is prepended to the names."""
    if target is None:
        return targets.of_likeliest(kept, prefix)
    limits = kept.get("thresholds")
    limits = None if limits is None else limits.tolist()
    rows = targets.figures(target.kind, kept["predicted"], kept["truth"], limits, target.scale, target.loss)
    return {prefix + name: value for name, value in rows.items()}


def _none(predicted):
    """Return a mask of shape (n,) of the predictions that are not finite; they count as wrong."""
    return ~np.isfinite(predicted).all(axis=1)

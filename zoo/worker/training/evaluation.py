"""How well a model tells the pictures of a part, with what is needed to show its mistakes."""

import numpy as np

from zoo.models import compat

BEST = 5


def judge(model, preprocess, part, batch_size):
    """Predict every item of a part, a batch at a time; little is kept of each.

    Args:
        model: the Keras model.
        preprocess: from stored rows to its input.
        part: has ``rows`` and ``labels``.
        batch_size: items at a time; the last batch is padded, since a new shape means compiling anew.

    Returns:
        Arrays by name: ``label`` (n,), ``best`` (n, 5 or fewer), the likeliest classes first, ``probability`` of
        these, ``true`` (n,), the probability of the label.
    """
    size = min(batch_size, len(part))
    kept = []
    for begin in range(0, len(part), size):
        batch = preprocess(part.rows[begin : begin + size])
        count = len(batch)
        if count < size:
            batch = np.concatenate([batch, np.zeros((size - count, *batch.shape[1:]), batch.dtype)])
        kept.append(_kept(compat.predict(model, batch)[:count], part.labels[begin : begin + size]))
    return {name: np.concatenate([some[name] for some in kept]) for name in kept[0]}


def _kept(predicted, labels):
    # One fewer than there are classes: that the right one is among all of them says nothing.
    kept = max(1, min(BEST, predicted.shape[1] - 1))
    best = np.argsort(-predicted, axis=1, kind="mergesort")[:, :kept]
    return {
        "label": labels.astype(np.int32),
        "best": best.astype(np.int32),
        "probability": np.take_along_axis(predicted, best, 1),
        "true": predicted[np.arange(len(labels)), labels],
    }


def figures(found, prefix):
    """Mean cross-entropy (nats), accuracy and, of more than five classes, top-5 accuracy.

    They are computed here so that they mean the same on every stack.
    """
    hits = found["best"] == found["label"][:, None]
    loss = -np.log(np.maximum(found["true"].astype(np.float64), 1e-7)).mean()
    told = {prefix + "loss": float(loss), prefix + "accuracy": float(hits[:, 0].mean())}
    if hits.shape[1] == BEST:
        told[prefix + "top5"] = float(hits.any(axis=1).mean())
    return told

"""Compare the outputs of an exported file with the outputs of its source, and time both."""

import statistics

import numpy as np

from zoo.worker.benchmarks import timing
from zoo.worker.errors import UserError

# Largest time (seconds) and number of timed calls, after some calls for warm-up.
TIMED_S, TIMED_CALLS, WARM = 1.5, 60, 3
# A pixel is changed if it differs by more levels than this, of 0 to 255.
CHANGED_LEVELS = 2
# Largest difference between the results of the README's program and the zoo's for files; colors are rounded.
FROM_FILES = {"images": 1e-3, "texts": 1e-3, "next_token": 1e-3, "pictures": 1.01 / 255}
# Additional difference if the model resizes images: rounding changes some pixels by one level of 255.
INSIDE = 1e-2


def compare(kind, answers, source, scale=1.0, thresholds=None):
    """Compare outputs with those of the source model: for each batch, a list of arrays, one per output.

    Args:
        scale: deviation of numbers; their differences are divided by it.
        thresholds: of labels; a prediction has changed if one of its labels has.

    Returns:
        ``difference``: largest difference of probabilities, or of colors divided by 255. ``changed``: predictions, or
        pixels of images, that changed, per thousand. ``items``: their number.
    """
    largest, changed, items = 0.0, 0, 0
    for ours, theirs in zip(answers, source):
        for one, other in zip(ours, theirs):
            if one.shape != other.shape:
                raise UserError("the exported model's output is %s, its source's is %s" % (one.shape, other.shape))
            if not np.isfinite(one).all():
                raise UserError("the exported model's outputs are not finite (NaN or infinity)")
        ours, theirs = _comparable(kind, ours), _comparable(kind, theirs)
        largest = max([largest, *(float(np.abs(one - other).max()) / scale for one, other in zip(ours, theirs))])
        differs = _changed(kind, ours[0], theirs[0], thresholds)
        changed, items = changed + int(differs.sum()), items + differs.size
    return {"difference": largest, "changed": 1000.0 * changed / items, "items": items}


def of_files(kind, answers, source, scale=1.0, thresholds=None):
    """Compare the first outputs of single items with the source's; pixels are cropped to the size of the result.

    Returns:
        ``difference``: as in :func:`compare`. ``changed``: number of items whose class or token changed, except ties.
        ``worst``: index of the item that differs most. ``items``: their number.
    """
    differences, changed = [], 0
    for ours, theirs in zip(answers, source):
        theirs = theirs[0][:, : ours.shape[0], : ours.shape[1]] if kind == "pictures" else theirs[0].reshape(1, -1)
        (ours,), (theirs,) = _comparable(kind, [ours[None]]), _comparable(kind, [theirs])
        differences.append(float(np.abs(ours - theirs).max()) / scale)
        if thresholds:
            near = np.abs(theirs - np.array(thresholds)) <= FROM_FILES[kind]
            changed += bool(((ours >= thresholds) != (theirs >= thresholds))[~near].any())
        elif kind != "pictures":
            changed += bool(theirs.max() - theirs[0, ours.argmax()] > 2 * FROM_FILES[kind])
    worst = int(np.argmax(differences))
    return {"difference": differences[worst], "changed": changed, "worst": worst, "items": len(answers)}


def _comparable(kind, outputs):
    first = np.asarray(outputs[0], np.float64)
    if kind == "pictures":
        return [np.clip(first, 0, 255) / 255.0]
    if kind == "next_token":
        powers = np.exp(first - first.max(axis=-1, keepdims=True))
        # Keys and values have no fixed scale; the normalizations before them keep them at about 1.
        return [powers / powers.sum(axis=-1, keepdims=True), *(np.asarray(each, np.float64) for each in outputs[1:])]
    return [first]


def _changed(kind, ours, theirs, thresholds):
    if thresholds:
        near = np.abs(theirs - np.array(thresholds)) <= 1e-5
        return (((ours >= thresholds) != (theirs >= thresholds)) & ~near).any(axis=-1)
    if kind == "pictures":
        return (np.abs(ours - theirs) * 255.0 > CHANGED_LEVELS).any(axis=-1)
    return ours.argmax(axis=-1) != theirs.argmax(axis=-1)


def accuracy(answers, labels):
    """Return the share of correct classes, or None without labels."""
    if labels is None:
        return None
    classes = np.concatenate([each[0].argmax(axis=-1) for each in answers])
    return float((classes == labels[: len(classes)]).mean())


def milliseconds(run, question):
    """Return the median time of one item in milliseconds, after some warm-up calls."""
    single = [array[:1] for array in question]
    return 1000.0 * statistics.median(timing.rounds(lambda: run(single), TIMED_CALLS, WARM, TIMED_S, least=1))

"""Hold what an exported file answers against what its source answers, and time both."""

import statistics
import time

import numpy as np

from zoo.worker.errors import UserError

# A question is repeated for so long, and so often at most.
TIMED_S, TIMED_CALLS, WARM = 1.5, 60, 3
# Levels of 0 to 255 by which a pixel must differ to count as changed.
CHANGED_LEVELS = 2


def compare(kind, answers, source):
    """Compare answers with those of the source.

    Args:
        kind: of the subject.
        answers: of each question a list of arrays, one an output.
        source: the same of the source.

    Returns:
        ``difference``: the largest, of probabilities, or of colors as a share of 255; ``changed``: answers, pixels of
        pictures, in a thousand that became others; ``items``.

    Raises:
        UserError: an answer is not finite or has another shape.
    """
    largest, changed, items = 0.0, 0, 0
    for ours, theirs in zip(answers, source):
        for one, other in zip(ours, theirs):
            if one.shape != other.shape:
                raise UserError("the exported model answers %s, its source %s" % (one.shape, other.shape))
            if not np.isfinite(one).all():
                raise UserError("the exported model answers with numbers that are not finite")
        ours, theirs = _comparable(kind, ours), _comparable(kind, theirs)
        largest = max([largest, *(float(np.abs(one - other).max()) for one, other in zip(ours, theirs))])
        differs = _changed(kind, ours[0], theirs[0])
        changed, items = changed + int(differs.sum()), items + differs.size
    return {"difference": largest, "changed": 1000.0 * changed / items, "items": items}


def _comparable(kind, outputs):
    """The outputs, each in units in which 1 is all there is."""
    first = np.asarray(outputs[0], np.float64)
    if kind == "pictures":
        return [np.clip(first, 0, 255) / 255.0]
    if kind == "next_token":
        powers = np.exp(first - first.max(axis=-1, keepdims=True))
        # Keys and values have no scale of their own: after the normalizations before them they are about 1.
        return [powers / powers.sum(axis=-1, keepdims=True), *(np.asarray(each, np.float64) for each in outputs[1:])]
    return [first]


def _changed(kind, ours, theirs):
    if kind == "pictures":
        return (np.abs(ours - theirs) * 255.0 > CHANGED_LEVELS).any(axis=-1)
    return ours.argmax(axis=-1) != theirs.argmax(axis=-1)


def accuracy(answers, labels):
    """Share of right classes; None where nobody knows them."""
    if labels is None:
        return None
    classes = np.concatenate([each[0].argmax(axis=-1) for each in answers])
    return float((classes == labels[: len(classes)]).mean())


def milliseconds(run, question):
    """Median time of one item, after some calls that do not count."""
    single, taken = [array[:1] for array in question], []
    for _ in range(WARM):
        run(single)
    end = time.perf_counter() + TIMED_S
    while not taken or (time.perf_counter() < end and len(taken) < TIMED_CALLS):
        began = time.perf_counter()
        run(single)
        taken.append(time.perf_counter() - began)
    return 1000.0 * statistics.median(taken)

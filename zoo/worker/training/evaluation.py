"""Evaluate a classifier on a part of the data, and store the data that shows its mistakes."""

import os

import numpy as np

from zoo.protocol import targets
from zoo.worker import distributed, metrics
from zoo.worker.files import save_arrays
from zoo.worker.prediction import predict_batches, slices


def evaluate(model, preprocess, part, batch_size, group=None, target=None):
    """Predict every item of a part, batch by batch, and return :func:`zoo.worker.metrics.judged` of all items.

    The part has ``rows`` and ``labels``; ``preprocess`` maps stored rows to inputs. The processes of ``group`` share
    the items; each returns the result for all of them.
    """

    def judged(first, last):
        some = part.between(first, last)
        size, kept, begin = min(batch_size, len(some)), [], 0
        for predicted in predict_batches(model, slices(some.rows, size, preprocess), size):
            kept.append(metrics.judged(target, predicted, some.labels[begin : begin + len(predicted)]))
            begin += len(predicted)
        return {name: np.concatenate([row[name] for row in kept]) for name in kept[0]}

    return distributed.together(group, len(part), judged)


def keep(training, name, part, validation, judge):
    """Judge a part, ``test`` or ``validation``; write its mistakes into the run folder, and return its metrics.

    The thresholds of labels are chosen on the ``validation`` part, if there is one. ``judge`` returns
    :func:`zoo.worker.metrics.judged` of a part.
    """
    kept, path = judge(part), os.path.join(training.folder, "judged_%s.npz" % name)
    if training.target and training.target.kind == targets.LABELS:
        known = judge(validation) if len(validation) else {key: rows[:0] for key, rows in kept.items()}
        kept["thresholds"] = np.array(targets.thresholds(known["predicted"], known["truth"]))
    none = kept.pop("none")
    bad, count = int(none.sum()), len(none)
    if bad:
        words = "The network's outputs for %d of %d items for %s are not numbers (NaN); they count as wrong"
        training.warn(words % (bad, count, "testing" if name == "test" else name))
    if training.group.rank == 0:
        save_arrays(path, kept)
    training.events.emit("artifact", kind="judged", path=path)
    return metrics.figures(training.target, kept, "test_" if name == "test" else "val_")

"""The training loop, the same for every model and every stack.

It takes a feed: an object that knows the data. ``steps(epoch)`` is the number of optimizer steps of an epoch;
``batches(epoch)`` iterates over (x, y), or (x, y, weights) where items do not count the same: numpy arrays for one
step each, the same ones in the same order whenever it is asked for that epoch; ``evaluate(model)`` returns figures
such as ``val_loss`` and ``val_accuracy``, or nothing where no data is set aside.
"""

import math
import os
import time

import numpy as np

from zoo.models import compat
from zoo.worker import memory, weights


def fit(model, feed, settings, keeper, events, stop, phases, first=1, last=None):
    """Train for all epochs, or until asked to stop; one ``epoch`` event each, ``step`` events between.

    Args:
        model: compiled.
        feed: see above.
        settings: ``epochs``, ``learning_rate``, ``schedule``, ``warmup`` and ``patience``.
        keeper: is shown the record of every epoch.
        events: where to report.
        stop: when asked to, training ends after the step in hand.
        phases: seconds by phase, filled in.
        first: number of the first epoch, where there were others before.
        last: number of the last one of the whole run, where others follow; shown.

    Returns:
        The number of epochs.

    Raises:
        FloatingPointError: the loss is no longer a number.
    """
    epochs = range(first, first + settings["epochs"])
    last, stale = last or epochs[-1], 0
    total, done = sum(feed.steps(epoch) for epoch in epochs), 0
    for epoch in epochs:
        began, evaluated = time.time(), phases.get("evaluate_s", 0.0)
        means, items = compat.RunningMeans(model), 0
        for step, batch in enumerate(feed.batches(epoch), 1):
            rate = learning_rate(settings, done, total)
            step_s = _step(model, batch, rate, means)
            if not done:  # the first step is where frameworks trace and compile
                compile_s = step_s
            done, items = done + 1, items + len(batch[1])
            if not math.isfinite(means.loss):
                raise FloatingPointError(
                    "the loss became %s at epoch %d, step %d; a lower trainer.learning_rate than %g usually helps"
                    % (means.loss, epoch, step, settings["learning_rate"])
                )
            events.step(
                epoch=epoch,
                epochs=last,
                step=step,
                steps=feed.steps(epoch),
                loss=means.loss,
                accuracy=means.accuracy,
                items_per_s=items / max(1e-9, time.time() - began),
            )
            if stop.asked:
                break
        record = {"loss": means.loss, "accuracy": means.accuracy}
        evaluating = time.time()
        record.update(feed.evaluate(model))
        phases["evaluate_s"] = phases.get("evaluate_s", 0.0) + time.time() - evaluating
        record.update(epoch=epoch, steps=step, learning_rate=rate, epoch_s=time.time() - began)
        # A size that grows from epoch to epoch is how memory leaks of GPU plug-ins show.
        record["peak_memory_bytes"] = memory.peak_bytes()
        keeper.consider(record)
        train_s = record["epoch_s"] - (phases["evaluate_s"] - evaluated)
        record["items_per_s"] = items / train_s
        phases["train_s"] = phases.get("train_s", 0.0) + train_s
        events.emit("epoch", epochs=last, **record)
        stale = 0 if record["best"] else stale + 1
        if stop.asked or (settings.get("patience") and stale >= settings["patience"]):
            break
    phases["train_s"] -= compile_s
    phases["compile_s"] = phases.get("compile_s", 0.0) + compile_s
    return epoch - first + 1


def learning_rate(settings, step, steps):
    """Learning rate at a step.

    ``constant``; ``cosine``: from the given rate down to a hundredth of it; ``one_cycle``: from a 25th up to it and
    down to a 10,000th (Smith 2018, https://arxiv.org/abs/1803.09820, without its cycle of momentum), both along half
    a cosine. A ``warmup`` share of the steps climbs to the given rate first, linearly but for ``one_cycle``.
    """
    rate, schedule, warmup = settings["learning_rate"], settings["schedule"], settings["warmup"]
    cycle = schedule == "one_cycle"
    warm = int((warmup or (0.3 if cycle else 0.0)) * steps)
    if step < warm:
        return _between(rate / 25, rate, step / warm) if cycle else rate * (step + 1) / warm
    if schedule == "constant":
        return rate
    return _between(rate, rate * (1e-4 if cycle else 0.01), (step - warm) / max(1, steps - warm))


def _between(start, end, share):
    """A point on the half cosine from one value to another."""
    return end + (start - end) * 0.5 * (1 + math.cos(math.pi * share))


def smooth(labels, share):
    """Spread a share of every one-hot label over all classes (Szegedy et al. 2015, https://arxiv.org/abs/1512.00567)."""
    return labels if not share else labels * np.float32(1 - share) + np.float32(share / labels.shape[-1])


def _step(model, batch, rate, means):
    compat.set_learning_rate(model, rate)
    began = time.time()
    means.train(*batch)
    return time.time() - began


class Keeper:
    """Holds the best weights so far, in memory and on disk: a killed run loses only what came after them."""

    def __init__(self, model, folder):
        self._model, self._path = model, os.path.join(folder, "weights.npz")
        self._arrays = None
        self.best = None

    def consider(self, record):
        """Keep the present weights if they are the best, and mark the epoch's record with ``best``."""
        record["best"] = self.best is None or _better(record, self.best)
        if record["best"]:
            self._arrays = [np.array(value) for value in self._model.get_weights()]
            self.best = {name: record[name] for name in _KEPT if name in record}
            self.best["best_epoch"] = record["epoch"]
            weights.save(self._arrays, self._model, self._path)

    def restore_best(self):
        if self._arrays is not None:
            self._model.set_weights(self._arrays)


_KEPT = ("loss", "accuracy", "val_loss", "val_accuracy")


def _better(record, best):
    """More validation accuracy, then less validation loss; without a validation set the latest is best."""
    if "val_accuracy" not in record:
        return True
    return (record["val_accuracy"], -record["val_loss"]) > (best["val_accuracy"], -best["val_loss"])

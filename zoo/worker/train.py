"""Training a classifier, the same loop on every stack."""

import math
import os
import time

import numpy as np

from zoo.models import compat
from zoo.worker import memory, weights
from zoo.worker.model import build, probabilities, score


def run(request, events, stop, phases):
    """Train, keep the best weights, evaluate once on the test set.

    Args:
        request: the request; its ``train`` and ``data`` parts are used here.
        events: where to report.
        stop: when asked to, training ends after the step in hand and what was learnt is kept.
        phases: seconds by phase, filled in.

    Returns:
        The fields of the ``done`` event: ``metrics`` and ``stopped``.

    Raises:
        FloatingPointError: the loss is no longer a number.
    """
    settings, folder = request["train"], request["run_dir"]
    compat.seed(settings["seed"])
    began = time.time()
    model, preprocess = build(request)
    weights.initialise(model, settings["seed"])
    if request.get("weights"):
        weights.load(model, request["weights"])
    compat.compile_classifier(model, settings["optimizer"], settings["learning_rate"], settings["jit"])
    phases["build_s"] = time.time() - began
    data = _open(request["data"])
    keeper = _Keeper(model, folder, events)
    _fit(model, preprocess, data, settings, keeper, events, stop, phases)
    keeper.restore_best()
    metrics = dict(keeper.best or {}, parameters=int(model.count_params()))
    if not stop.asked:
        began = time.time()
        predicted = probabilities(model, preprocess, data["x_test"], settings["batch_size"])
        metrics["test_loss"], metrics["test_accuracy"] = score(predicted, data["y_test"])
        phases["evaluate_s"] = phases.get("evaluate_s", 0.0) + time.time() - began
    _save_all(model, folder, events)
    return {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}


def learning_rate(settings, step, steps):
    """Learning rate at a step: ``constant``, or ``cosine`` from the given rate down to a hundredth of it.

    A ``warmup`` share of the steps climbs linearly to the given rate first.
    """
    rate, warm = settings["learning_rate"], int(settings["warmup"] * steps)
    if step < warm:
        return rate * (step + 1) / warm
    if settings["schedule"] == "constant":
        return rate
    turn = (step - warm) / max(1, steps - warm)
    return rate * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * turn)))


def _open(paths):
    """Map the arrays into memory and limit them to what this run uses."""
    split = np.load(paths["split"], allow_pickle=False)
    test = slice(0, paths["test_limit"])
    return {
        "x": np.load(paths["x_train"], mmap_mode="r", allow_pickle=False),
        "y": np.load(paths["y_train"], allow_pickle=False),
        "train": split["train"],
        "validation": split["validation"],
        "x_test": np.load(paths["x_test"], mmap_mode="r", allow_pickle=False)[test],
        "y_test": np.load(paths["y_test"], allow_pickle=False)[test],
        "classes": paths["classes"],
    }


def _fit(model, preprocess, data, settings, keeper, events, stop, phases):
    size = min(settings["batch_size"], len(data["train"]))
    # The rest of an epoch that does not fill a batch is left out: it differs from epoch to epoch, and another
    # batch size would make most frameworks compile once more.
    steps = len(data["train"]) // size
    for epoch in range(1, settings["epochs"] + 1):
        began, evaluated = time.time(), phases.get("evaluate_s", 0.0)
        order = np.random.RandomState([settings["seed"], epoch]).permutation(data["train"])
        means = compat.RunningMeans(model)
        for step in range(steps):
            rate = learning_rate(settings, (epoch - 1) * steps + step, settings["epochs"] * steps)
            _step(model, preprocess, data, order[step * size : (step + 1) * size], rate, means, phases)
            if not math.isfinite(means.loss):
                raise FloatingPointError(
                    "the loss became %s at epoch %d, step %d; a lower trainer.learning_rate than %g usually helps"
                    % (means.loss, epoch, step + 1, settings["learning_rate"])
                )
            events.step(
                epoch=epoch,
                epochs=settings["epochs"],
                step=step + 1,
                steps=steps,
                loss=means.loss,
                accuracy=means.accuracy,
                items_per_s=(step + 1) * size / max(1e-9, time.time() - began),
            )
            if stop.asked:
                break
        record = _end_of_epoch(model, preprocess, data, size, means, phases)
        record.update(epoch=epoch, steps=step + 1, learning_rate=rate, epoch_s=time.time() - began)
        # A size that grows from epoch to epoch is how memory leaks of GPU plug-ins show.
        record["peak_memory_bytes"] = memory.peak_bytes()
        keeper.consider(record)
        train_s = record["epoch_s"] - (phases.get("evaluate_s", 0.0) - evaluated)
        record["items_per_s"] = (step + 1) * size / train_s
        phases["train_s"] = phases.get("train_s", 0.0) + train_s
        events.emit("epoch", epochs=settings["epochs"], **record)
        if stop.asked:
            break
    phases["train_s"] -= phases["compile_s"]


def _step(model, preprocess, data, chosen, rate, means, phases):
    labels = np.eye(data["classes"], dtype=np.float32)[data["y"][chosen]]
    batch = preprocess(data["x"][chosen])
    compat.set_learning_rate(model, rate)
    began = time.time()
    means.train(batch, labels)
    # The first step is where frameworks trace and compile.
    phases.setdefault("compile_s", time.time() - began)


def _end_of_epoch(model, preprocess, data, size, means, phases):
    record = {"loss": means.loss, "accuracy": means.accuracy}
    chosen = data["validation"]
    if len(chosen):
        began = time.time()
        predicted = probabilities(model, preprocess, _Rows(data["x"], chosen), size)
        record["val_loss"], record["val_accuracy"] = score(predicted, data["y"][chosen])
        phases["evaluate_s"] = phases.get("evaluate_s", 0.0) + time.time() - began
    return record


class _Rows:
    """Some rows of a memory-mapped array, fetched a batch at a time."""

    def __init__(self, array, chosen):
        self._array, self._chosen = array, chosen

    def __len__(self):
        return len(self._chosen)

    def __getitem__(self, part):
        return self._array[self._chosen[part]]


class _Keeper:
    """Holds the best weights so far, in memory and on disk: a killed run loses only what came after them."""

    def __init__(self, model, folder, events):
        self._model, self._path, self._events = model, os.path.join(folder, "weights.npz"), events
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


def _save_all(model, folder, events):
    path = os.path.join(folder, "weights.npz")
    weights.save(None, model, path)
    events.emit("artifact", kind="weights", path=path)
    native = os.path.join(folder, "model" + compat.native_suffix())
    model.save(native)
    events.emit("artifact", kind="model", path=native)

"""Training a classifier of pictures."""

import os
import time

import numpy as np

from zoo.models import compat
from zoo.worker import weights
from zoo.worker.loop import Keeper, fit
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
    keeper = Keeper(model, folder)
    fit(model, _Feed(data, preprocess, settings), settings, keeper, events, stop, phases)
    keeper.restore_best()
    metrics = dict(keeper.best or {}, parameters=int(model.count_params()))
    if not stop.asked or stop.reason == "max_minutes":
        began = time.time()
        predicted = probabilities(model, preprocess, data["x_test"], settings["batch_size"])
        metrics["test_loss"], metrics["test_accuracy"] = score(predicted, data["y_test"])
        phases["evaluate_s"] = phases.get("evaluate_s", 0.0) + time.time() - began
    _save_all(model, folder, events)
    return {"metrics": metrics, "stopped": stop.reason if stop.asked else None}


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


class _Feed:
    """Batches of pictures in a new order each epoch, the same for the same seed."""

    def __init__(self, data, preprocess, settings):
        self._data, self._preprocess, self._seed = data, preprocess, settings["seed"]
        self._size = min(settings["batch_size"], len(data["train"]))

    def steps(self, epoch):
        # The rest of an epoch that does not fill a batch is left out: it differs from epoch to epoch, and another
        # batch size would make most frameworks compile once more.
        return len(self._data["train"]) // self._size

    def batches(self, epoch):
        data = self._data
        order = np.random.RandomState([self._seed, epoch]).permutation(data["train"])
        for step in range(self.steps(epoch)):
            chosen = order[step * self._size : (step + 1) * self._size]
            labels = np.eye(data["classes"], dtype=np.float32)[data["y"][chosen]]
            yield self._preprocess(data["x"][chosen]), labels

    def evaluate(self, model):
        chosen = self._data["validation"]
        if not len(chosen):
            return {}
        predicted = probabilities(model, self._preprocess, _Rows(self._data["x"], chosen), self._size)
        loss, accuracy = score(predicted, self._data["y"][chosen])
        return {"val_loss": loss, "val_accuracy": accuracy}


class _Rows:
    """Some rows of a memory-mapped array, fetched a batch at a time."""

    def __init__(self, array, chosen):
        self._array, self._chosen = array, chosen

    def __len__(self):
        return len(self._chosen)

    def __getitem__(self, part):
        return self._array[self._chosen[part]]


def _save_all(model, folder, events):
    path = os.path.join(folder, "weights.npz")
    weights.save(None, model, path)
    events.emit("artifact", kind="weights", path=path)
    native = os.path.join(folder, "model" + compat.native_suffix())
    model.save(native)
    events.emit("artifact", kind="model", path=native)

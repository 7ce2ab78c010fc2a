"""Training a classifier of texts."""

import time

import numpy as np

from zoo.models import compat
from zoo.worker.model import score
from zoo.worker.training import loop, text_batches
from zoo.worker.training.setup import ready, save_all


def run(request, events, stop, phases):
    """Train, keep the best weights, evaluate once on the test texts.

    Args:
        request: the request; its ``train`` and ``data`` parts are used here.
        events: where to report.
        stop: when asked to, training ends after the step in hand and what was learnt is kept.
        phases: seconds by phase, filled in.

    Returns:
        The fields of the ``done`` event: ``metrics`` and ``stopped``.

    Raises:
        FloatingPointError: the loss is no longer a number.
        RefusalError: the stack cannot do what is asked for.
    """
    settings, data = request["train"], request["data"]
    model = ready(request, phases)
    arguments = request["model"]["args"]
    texts = open_texts(data, arguments["length"], arguments["fixed"])
    labels = np.load(data["labels"], allow_pickle=False)
    split = np.load(data["split"], allow_pickle=False)
    keeper = loop.Keeper(model, request["run_dir"])
    feed = Feed(texts, labels, {name: split[name] for name in split.files}, arguments["classes"], settings)
    loop.fit(model, feed, settings, keeper, events, stop, phases)
    keeper.restore_best()
    metrics = dict(keeper.best or {}, parameters=int(model.count_params()))
    if not stop.asked or stop.reason == "max_minutes":
        began = time.monotonic()
        predicted = probabilities(model, texts, split["test"], settings["batch_size"])
        metrics["test_loss"], metrics["test_accuracy"] = score(predicted, labels[split["test"]])
        phases["evaluate_s"] = phases.get("evaluate_s", 0.0) + time.monotonic() - began
    save_all(model, request["run_dir"], events)
    return {"metrics": metrics, "stopped": stop.reason if stop.asked else None}


def open_texts(data, length, fixed):
    """The texts of a request, mapped into memory."""
    tokens = np.load(data["tokens"], mmap_mode="r", allow_pickle=False)
    return text_batches.Texts(tokens, np.load(data["offsets"], allow_pickle=False), length, fixed)


class Feed:
    """Batches of texts of like length, in a new order each epoch, the same for the same seed.

    Args:
        texts: a :class:`zoo.worker.training.text_batches.Texts`.
        labels: (texts,) integer classes.
        split: numbers of the texts, ``train`` and ``validation``.
        classes: number of classes.
        settings: ``batch_size``, ``seed``, ``label_smoothing`` and ``word_dropout``.
    """

    def __init__(self, texts, labels, split, classes, settings):
        self._texts, self._labels, self._split, self._settings = texts, labels, split, settings
        self._rows = np.eye(classes, dtype=np.float32)
        self._size = min(settings["batch_size"], len(split["train"]))

    def steps(self, epoch):
        return len(self._split["train"]) // self._size

    def batches(self, epoch):
        random = np.random.RandomState([self._settings["seed"], epoch])
        for chosen in self._texts.dealt(self._split["train"], self._size, random):
            batch = text_batches.hide(self._texts.batch(chosen), self._settings["word_dropout"], random)
            yield batch, loop.smooth(self._rows[self._labels[chosen]], self._settings["label_smoothing"])

    def evaluate(self, model):
        chosen = self._split["validation"]
        if not len(chosen):
            return {}
        predicted = probabilities(model, self._texts, chosen, self._size)
        loss, accuracy = score(predicted, self._labels[chosen])
        return {"val_loss": loss, "val_accuracy": accuracy}


def probabilities(model, texts, chosen, size, stop=None, progress=None):
    """Predict some texts, in batches of one size and of few lengths.

    Args:
        model: the Keras model.
        texts: a :class:`zoo.worker.training.text_batches.Texts`.
        chosen: (n,) numbers of texts.
        size: texts at a time; the last batch is padded, since a new shape means compiling anew.
        stop: looked at between batches; when asked to, the rest is left at zero.
        progress: called with the number of texts done so far.

    Returns:
        (n, classes) float32.
    """
    found, done = None, 0
    for places, batch in texts.batches_of(chosen, size):
        missing = np.zeros((size - len(batch), batch.shape[1]), np.int32)
        predicted = compat.predict(model, np.concatenate([batch, missing]))[: len(batch)]
        found = np.zeros((len(chosen), predicted.shape[1]), np.float32) if found is None else found
        found[places], done = predicted, done + len(places)
        if progress:
            progress(done)
        if stop is not None and stop.asked:
            break
    return found

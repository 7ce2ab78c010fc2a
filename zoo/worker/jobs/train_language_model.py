"""Training a language model on one long text."""

import math

import numpy as np

from zoo.models import compat
from zoo.worker.training import loop
from zoo.worker.training.setup import ready, save_all

# Windows predicted at a time while evaluating: as much as gives a good product, little enough for any memory.
TOKENS_AT_ONCE = 8192


def run(request, events, stop, phases):
    """Train, and keep the weights that predicted the validation part best.

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
    settings, data, arguments = request["train"], request["data"], request["model"]["args"]
    model = ready(request, phases)
    tokens = np.load(data["tokens"], mmap_mode="r", allow_pickle=False)
    parts = {name: tokens[begin:end] for name, (begin, end) in data["parts"].items()}
    keeper = loop.Keeper(model, request["run_dir"])
    feed = Feed(parts, arguments["length"], arguments["vocabulary"], settings)
    loop.fit(model, feed, settings, keeper, events, stop, phases)
    keeper.restore_best()
    metrics = dict(keeper.best or {}, parameters=int(model.count_params()))
    if "val_loss" in metrics:
        metrics["val_perplexity"] = math.exp(min(700.0, metrics["val_loss"]))
    save_all(model, request["run_dir"], events)
    return {"metrics": metrics, "stopped": stop.reason if stop.asked else None}


class Feed:
    """Windows from anywhere in a text, each with what follows every token of it; the same for the same seed.

    Args:
        parts: ``train``, more tokens than a window has, and ``validation``.
        length: tokens of a window.
        vocabulary: number of tokens there are.
        settings: ``batch_size``, ``steps``, ``seed``, ``label_smoothing``.
    """

    def __init__(self, parts, length, vocabulary, settings):
        self._parts, self._length, self._settings = parts, length, settings
        self._rows = np.eye(vocabulary, dtype=np.float32)

    def steps(self, epoch):
        return self._settings["steps"]

    def batches(self, epoch):
        random, text = np.random.RandomState([self._settings["seed"], epoch]), self._parts["train"]
        places = np.arange(self._length)
        for _ in range(self.steps(epoch)):
            begins = random.randint(0, len(text) - self._length, self._settings["batch_size"])
            chosen = begins[:, None] + places
            labels = self._rows[text[chosen + 1]]
            yield text[chosen].astype(np.int32), loop.smooth(labels, self._settings["label_smoothing"])

    def evaluate(self, model):
        if not len(self._parts["validation"]):
            return {}
        loss, accuracy = evaluate(model, self._parts["validation"], self._length)
        return {"val_loss": loss, "val_token_accuracy": accuracy}


def evaluate(model, text, length):
    """Mean cross-entropy (nats) and accuracy over all of a text but its first token, in windows side by side.

    Args:
        model: from tokens to probabilities.
        text: tokens.
        length: tokens of a window; each begins without knowing those before it.
    """
    count = len(text) - 1
    windows = -(-count // length)
    padded = np.zeros(windows * length + 1, np.int32)
    padded[: count + 1] = text
    x, y = padded[:-1].reshape(windows, length), padded[1:].reshape(windows, length)
    size = max(1, min(windows, TOKENS_AT_ONCE // length))
    losses, right = np.zeros(windows * length), np.zeros(windows * length, bool)
    for begin in range(0, windows, size):
        # The last batch is filled up with windows seen before: a new shape means compiling anew.
        chosen = np.arange(begin, begin + size) % windows
        predicted = compat.predict(model, x[chosen])
        found = np.take_along_axis(predicted, y[chosen][..., None], -1)[..., 0].astype(np.float64)
        where = (chosen[:, None] * length + np.arange(length)).ravel()
        losses[where] = -np.log(np.maximum(found, 1e-30)).ravel()
        right[where] = (predicted.argmax(-1) == y[chosen]).ravel()
    return float(losses[:count].mean()), float(right[:count].mean())

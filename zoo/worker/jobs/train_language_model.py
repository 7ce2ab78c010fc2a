"""Train a language model on one long text."""

import math

import numpy as np

from zoo.worker.prediction import predict_batches
from zoo.worker.training.checkpointing import Checkpointer
from zoo.worker.training.finish import evaluate_best, save
from zoo.worker.training.loop import fit
from zoo.worker.training.run import Run
from zoo.worker.training.schedules import smooth_labels
from zoo.worker.training.setup import build_and_compile
from zoo.worker.training.state import Stage

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
        UserError: the stack cannot do what is asked for.
    """
    training, data, arguments = Run(request, events, stop, phases), request["data"], request["model"]["args"]
    model = build_and_compile(training)
    tokens = np.load(data["tokens"], mmap_mode="r", allow_pickle=False)
    parts = {name: tokens[begin:end] for name, (begin, end) in data["parts"].items()}
    checkpointer = Checkpointer(model, training)
    batches = WindowBatches(parts, arguments["length"], arguments["vocabulary"], training.settings)
    fit(model, batches, Stage(training.settings), checkpointer, training)
    metrics = evaluate_best(model, checkpointer, training)
    if "val_loss" in metrics:
        metrics["val_perplexity"] = math.exp(min(700.0, metrics["val_loss"]))
    return save(model, training, metrics)


class WindowBatches:
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
            yield text[chosen].astype(np.int32), smooth_labels(labels, self._settings["label_smoothing"])

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
    losses, right, begin = np.zeros((windows, length)), np.zeros((windows, length), bool), 0
    for predicted in predict_batches(model, (x[first : first + size] for first in range(0, windows, size)), size):
        places = slice(begin, begin + len(predicted))
        chosen = np.take_along_axis(predicted, y[places][..., None], -1)[..., 0].astype(np.float64)
        losses[places] = -np.log(np.maximum(chosen, 1e-30))
        right[places] = predicted.argmax(-1) == y[places]
        begin += len(predicted)
    return float(losses.ravel()[:count].mean()), float(right.ravel()[:count].mean())

"""Train a language model on one long text."""

import math

import numpy as np

from zoo.worker import distributed
from zoo.worker.prediction import predict_batches
from zoo.worker.training import placement
from zoo.worker.training.checkpointing import Checkpointer
from zoo.worker.training.finish import evaluate_best, save
from zoo.worker.training.loop import fit
from zoo.worker.training.run import Run
from zoo.worker.training.schedules import smooth_labels
from zoo.worker.training.setup import build_and_compile
from zoo.worker.training.state import Stage
from zoo.worker.training.text_batches import TokenRange

# Tokens evaluated at a time: enough for efficient products, few enough for any memory.
TOKENS_AT_ONCE = 8192


def run(request, events, stop, phases):
    """Train, and keep the weights that predicted the validation part best.

    Uses the request's ``train`` and ``data`` parts. A stop ends training after the current step, with its result.
    """
    training, data, arguments = Run(request, events, stop, phases), request.data, request.model.args
    model = build_and_compile(training)
    parts = {name: TokenRange(data.tokens, begin, end) for name, (begin, end) in data.parts.items()}
    checkpointer = Checkpointer(model, training)
    batches = WindowBatches(parts, arguments["length"], arguments["vocabulary"], training.settings, training.group)
    batches.place(training)
    fit(model, batches, Stage(training.settings), checkpointer, training)
    metrics = evaluate_best(model, checkpointer, training)
    if "val_loss" in metrics:
        metrics["val_perplexity"] = math.exp(min(700.0, metrics["val_loss"]))
    metrics["precision"] = training.settings.precision
    return save(model, training, metrics)


class WindowBatches:
    """Batches of windows at random positions of a text, labeled with the next tokens; the seed determines them.

    Args:
        parts: tokens by part, ``train`` and ``validation``; ``train`` must be longer than a window.
        length: number of tokens in a window.
        settings: ``batch_size``, ``steps``, ``seed``, ``label_smoothing``.
        group: the processes that share the batches; this process reads only its own windows.
    """

    def __init__(self, parts, length, vocabulary, settings, group=None):
        self._group = group or distributed.Group()
        distributed.require_divisible(settings.batch_size, self._group)
        self._parts, self._length, self._settings = parts, length, settings
        self._rows = smooth_labels(np.eye(vocabulary, dtype=np.float32), settings.label_smoothing)
        self.on_device = None

    def place(self, run):
        """Put the text on the device, if :func:`zoo.worker.training.placement.keeper` selects the device."""
        text = self._parts["train"]
        keeper = placement.keeper(run, 4 * len(text) + self._rows.nbytes)
        if keeper:
            tokens, labels = keeper.put(text[:].astype(np.int32)), keeper.put(self._rows)
            self.on_device = lambda places: (
                keeper.take(tokens, places[:, :-1]),
                keeper.take(labels, keeper.take(tokens, places[:, 1:])),
            )

    def steps(self, epoch):
        return self._settings.steps

    def batches(self, epoch):
        random, text = np.random.RandomState([self._settings.seed, epoch]), self._parts["train"]
        places = np.arange(self._length + 1)
        for _ in range(self.steps(epoch)):
            begins = random.randint(0, len(text) - self._length, self._settings.batch_size)
            if self.on_device:
                yield self.on_device(begins[:, None] + places)
                continue
            first, last = self._group.bounds(len(begins))
            windows = text[begins[first:last, None] + places]
            labels = self._rows[windows[:, 1:]]
            yield distributed.ShareOfBatch((windows[:, :-1].astype(np.int32), labels), first, len(begins))

    def evaluate(self, model):
        if not len(self._parts["validation"]):
            return {}
        loss, accuracy = evaluate(model, self._parts["validation"][:], self._length, self._group)
        return {"val_loss": loss, "val_token_accuracy": accuracy}


def evaluate(model, text, length, group=None):
    """Return the mean cross-entropy (nats) and accuracy over all tokens of a text except the first.

    The model, which ends in probabilities, predicts adjacent windows of ``length`` tokens independently. Processes of
    ``group`` share the windows; each returns the metrics of the whole text.
    """
    count = len(text) - 1
    windows = -(-count // length)
    padded = np.zeros(windows * length + 1, np.int32)
    padded[: count + 1] = text
    x, y = padded[:-1].reshape(windows, length), padded[1:].reshape(windows, length)
    judged = distributed.together(group, windows, lambda begin, end: _judged(model, x[begin:end], y[begin:end]))
    return tuple(float(judged[name].ravel()[:count].mean()) for name in ("loss", "right"))


def _judged(model, x, y):
    """Return the cross-entropy and whether the most likely token is correct, (windows, length) each."""
    windows, length = x.shape
    size = max(1, min(windows, TOKENS_AT_ONCE // length))
    losses, right, begin = np.zeros((windows, length)), np.zeros((windows, length), bool), 0
    for predicted in predict_batches(model, (x[first : first + size] for first in range(0, windows, size)), size):
        places = slice(begin, begin + len(predicted))
        chosen = np.take_along_axis(predicted, y[places][..., None], -1)[..., 0].astype(np.float64)
        losses[places] = -np.log(np.maximum(chosen, 1e-30))
        right[places] = predicted.argmax(-1) == y[places]
        begin += len(predicted)
    return {"loss": losses, "right": right}

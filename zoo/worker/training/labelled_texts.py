"""Feed texts and their classes to the training loop, and predict the classes of texts."""

import numpy as np

from zoo.worker import distributed, metrics
from zoo.worker.prediction import predict_batches
from zoo.worker.training.equal_batches import equal_batches
from zoo.worker.training.text_batches import word_dropout


class TextBatches:
    """Batches of texts of similar length, in a new random order each epoch, which the seed determines.

    Args:
        texts: a :class:`zoo.worker.training.text_batches.TokenizedTexts`.
        labels: (texts,) integer classes.
        split: indices of the texts, ``train`` and ``validation``.
        settings: ``batch_size``, ``seed``, ``label_smoothing`` and ``word_dropout``.
        group: the processes that share the batches; this one reads only its own texts.
        target: what the network learns, if not one class; ``labels`` are (texts, outputs).
    """

    on_device = None

    def __init__(self, texts, labels, split, classes, settings, group=None, target=None):
        self._texts, self._labels, self._split, self._settings = texts, labels, split, settings
        self._target, self._encoded = target, metrics.encoder(target, classes, settings.label_smoothing)
        self._group = group or distributed.Group()
        self._steps, self._size = equal_batches(len(split["train"]), settings.batch_size, self._group.multiple)

    def steps(self, epoch):
        return self._steps

    def batches(self, epoch):
        random = np.random.RandomState([self._settings.seed, epoch])
        for chosen in self._texts.shuffled_batches(self._split["train"], self._size, random):
            begin, end = self._group.bounds(len(chosen))
            batch = self._texts.batch(chosen, slice(begin, end))
            batch = word_dropout(batch, self._settings.word_dropout, random, (len(chosen), slice(begin, end)))
            labels = self._encoded(self._labels[chosen[begin:end]])
            yield distributed.ShareOfBatch((batch, labels), begin, len(chosen))

    def evaluate(self, model):
        chosen = self._split["validation"]
        if not len(chosen):
            return {}
        predicted = predict_shared(model, self._texts, chosen, self._size, self._group)
        kept = metrics.judged(self._target, predicted, self._labels[chosen])
        return dict(metrics.figures(self._target, kept, "val_"), judged=kept)


def predict_shared(model, texts, chosen, size, group):
    """Predict some texts, a part in each process; the arguments are the same as for :func:`predict_texts`."""

    def part(begin, end):
        return {"rows": predict_texts(model, texts, chosen[begin:end], size)}

    return distributed.together(group, len(chosen), part)["rows"]


def predict_texts(model, texts, chosen, size, stop=None, progress=None):
    """Predict some texts, in batches of one size and of few lengths; return (n, classes) float32.

    Args:
        chosen: (n,) indices of texts in a :class:`zoo.worker.training.text_batches.TokenizedTexts`.
        stop: checked between batches; after a stop the rest remains zero.
        progress: called with the number of texts done so far.
    """
    predicted, done = None, 0
    places = texts.places_of(chosen, size)
    batches = (texts.batch(chosen[some]) for some in places)
    for some, rows in zip(places, predict_batches(model, batches, size, stop)):
        predicted = np.zeros((len(chosen), rows.shape[1]), np.float32) if predicted is None else predicted
        predicted[some], done = rows, done + len(some)
        if progress:
            progress(done)
    return predicted

"""Read batches of images from disk, with optional augmentation; the seed determines all of them."""

import os

import numpy as np

from zoo.worker import distributed, metrics
from zoo.worker.training import placement
from zoo.worker.training.augment import blend, draw_partners
from zoo.worker.training.equal_batches import equal_batches, fill
from zoo.worker.training.evaluation import evaluate

# Bytes of a file that is read whole: 256 random rows of MNIST took 1.2 ms from a mapped file, a seventh of a step.
SMALL = 64 << 20


class Rows:
    """Some rows of a .npy file, by index, read on demand.

    A file that is not read whole is mapped only during a read. Its pages stay in the system's cache, but would count
    as this process's memory while they are mapped. ``whole`` is the content of a file from :func:`read_small`.
    """

    def __init__(self, path, chosen, whole=None):
        self._path, self._chosen, self._whole = path, np.asarray(chosen), whole

    def __len__(self):
        return len(self._chosen)

    def between(self, begin, end):
        return Rows(self._path, self._chosen[begin:end], self._whole)

    def __getitem__(self, part):
        array = np.load(self._path, mmap_mode="r", allow_pickle=False) if self._whole is None else self._whole
        return np.array(array[self._chosen[part]])


def read_small(path):
    """Read a .npy file if it is small, or return None."""
    return np.load(path, allow_pickle=False) if os.path.getsize(path) <= SMALL else None


class Part:
    """The rows and labels of the training, validation or test part."""

    def __init__(self, rows, labels):
        self.rows, self.labels = rows, labels

    def __len__(self):
        return len(self.labels)

    def between(self, begin, end):
        return Part(self.rows.between(begin, end), self.labels[begin:end])

    def through(self, path):
        """Return the part with its inputs replaced by a file that has a row for each item."""
        return Part(Rows(path, np.arange(len(self)), read_small(path)), self.labels)


def parts(data):
    split = np.load(data.split, allow_pickle=False)
    whole = {path: read_small(path) for path in {data.x_train, data.x_test}}
    train, test = (data.x_train, data.y_train), (data.x_test, data.y_test)
    return {
        name: Part(Rows(x, split[name], whole[x]), np.load(y, allow_pickle=False)[split[name]])
        for name, (x, y) in {"train": train, "validation": train, "test": test}.items()
    }


class ImageBatches:
    """Batches in a new random order each epoch, which the seed determines.

    Args:
        parts: ``train``, the part to train on, and ``validation``, the part to evaluate after each epoch.
        preprocess: from stored rows to the model's input.
        settings: ``batch_size``, which no batch exceeds, ``seed`` and ``label_smoothing``.
        augment: None, or called with (rows, seeds) to augment a batch; the seeds are those of this epoch and step.
        balance: weight items so that every class counts the same.
        mixup: alpha of :func:`zoo.worker.training.augment.draw_partners`; 0 mixes nothing.
        group: the processes that share the batches; this one reads and augments only its own items.
        target: what the network learns, if not one class.
    """

    def __init__(
        self, parts, preprocess, settings, classes, augment=None, balance=False, mixup=0.0, group=None, target=None
    ):
        self._target = target
        self._train, self._validation, self._preprocess = parts["train"], parts["validation"], preprocess
        self._seed, self._encoded = settings.seed, metrics.encoder(target, classes, settings.label_smoothing)
        self._group = group or distributed.Group()
        self._steps, self._size = equal_batches(len(self._train), settings.batch_size, self._group.multiple)
        self._augment, self._mixup = augment, mixup
        self._weights = class_weights(self._train.labels, classes) if balance else None
        self.on_device = None

    def place(self, run):
        """Put all items on the device, if :func:`zoo.worker.training.placement.keeper` selects the device."""
        altered = "images are altered on the host (augment)" if self._augment or self._mixup else None
        first = () if altered else self._items(np.arange(1), slice(None), None)
        keeper = placement.keeper(run, len(self._train) * sum(each.nbytes for each in first), altered)
        self.on_device = placement.gatherer(keeper, self._every_item(first)) if keeper else None
        return self

    def _every_item(self, first):
        """Return arrays of all items, made in parts, because converting all at once would need much more memory."""
        count = len(self._train)
        arrays = [np.empty((count, *each.shape[1:]), each.dtype) for each in first]
        for begin in range(0, count, self._size):
            places = np.arange(begin, min(begin + self._size, count))
            for array, rows in zip(arrays, self._items(places, slice(None), None)):
                array[begin : begin + len(rows)] = rows
        return arrays

    def steps(self, epoch):
        return self._steps

    def batches(self, epoch):
        random = np.random.RandomState([self._seed, epoch])
        order = fill(random.permutation(len(self._train)), self._size, random)
        for step in range(self.steps(epoch)):
            chosen = order[step * self._size : (step + 1) * self._size]
            # A fourth seed: mixing is drawn separately from augmentation.
            seeds, mixing = [self._seed, epoch, step], [self._seed, epoch, step, 1]
            yield self.on_device(chosen) if self.on_device else self._share(chosen, seeds, mixing)

    def _items(self, chosen, places, seeds):
        rows, labels = self._train.rows[chosen[places]], self._train.labels[chosen[places]]
        if self._augment:
            rows = self._augment(rows, seeds, places, len(chosen))
        batch = (self._preprocess(rows), self._encoded(labels))
        return batch if self._weights is None else (*batch, self._weights[labels])

    def _share(self, chosen, seeds, mixing):
        """Return this process's items of a batch; the items to mix them with are read too."""
        begin, end = self._group.bounds(len(chosen))
        own = np.arange(begin, end)
        if not self._mixup:
            return distributed.ShareOfBatch(self._items(chosen, own, seeds), begin, len(chosen))
        shares, others = draw_partners(len(chosen), self._mixup, mixing)
        needed, places = np.unique(np.concatenate([own, others[own]]), return_inverse=True)
        first, second = np.split(places, 2)
        mixed = [blend(rows[first], rows[second], shares[own]) for rows in self._items(chosen, needed, seeds)]
        return distributed.ShareOfBatch(mixed, begin, len(chosen))

    def evaluate(self, model):
        """Return the figures of the validation images and, as ``judged``, :func:`zoo.worker.metrics.judged`."""
        if not len(self._validation):
            return {}
        kept = evaluate(model, self._preprocess, self._validation, self._size, self._group, self._target)
        return dict(metrics.figures(self._target, kept, "val_"), judged=kept)


def class_weights(labels, classes):
    """Return the weight of every class, 1 on average over the items: the rarer a class, the higher its weight."""
    counts = np.bincount(labels, minlength=classes)
    return (len(labels) / (np.count_nonzero(counts) * np.maximum(counts, 1.0))).astype(np.float32)

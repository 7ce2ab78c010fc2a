"""Track the position in a training run: everything in a checkpoint except arrays."""

import collections

from zoo.worker.training.running_means import RunningMeans
from zoo.worker.training.weight_average import WeightAverage

# Number of epochs that a resumed run reports again.
REPORTED = 100
# Attributes in a checkpoint.
SAVED = (
    "epoch", "step", "done", "items", "epochs_without_improvement", "scale", "rollbacks", "rate", "seconds", "steps",
    "reported", "frozen_at",
)  # fmt: skip


# Freezes some layers after a ``share`` of all steps (Brock et al. 2017, https://arxiv.org/abs/1706.04983).
# ``prepare`` is called with whether they are frozen, and returns the model to train, compiled.
ProgressiveFreezing = collections.namedtuple("ProgressiveFreezing", ["share", "prepare"])


class Stage:
    """One stage of a training run: its settings and its position among the stages.

    Args:
        settings: ``epochs``, ``learning_rate``, ``schedule``, ``warmup``, ``patience``, ``ema``, ``max_minutes`` and
            ``max_memory_gb``.
        first: number of the first epoch, if there were earlier stages.
        last: number of the last epoch of the whole run, if stages follow; for display.
        freezing: which layers are frozen when, if any.
        number: number of the stage, from 1, if there are several.
        whole: the model whose weights are averaged, if the trained one only shares its layers.
    """

    def __init__(self, settings, first=1, last=None, freezing=None, number=None, whole=None):
        self.settings, self.first, self.freezing = settings, first, freezing
        self.number, self.whole = number, whole
        self.final = first + settings.epochs - 1
        self.last = last or self.final


class TrainingState:
    def __init__(self, model, batches, stage):
        self.model, self._batches, self._freezing = model, batches, stage.freezing
        self.first = self.epoch = stage.first
        self.step = self.done = self.items = self.epochs_without_improvement = self.rollbacks = 0
        self.scale, self.rate, self.seconds = 1.0, 0.0, 0.0
        self.frozen_at, self.compiled, self.reported = None, False, []
        self.steps = batches.steps(self.first)
        self.means = RunningMeans()
        self.average = WeightAverage(stage.whole or model, stage.settings.ema)

    def set_frozen(self, step):
        """Unfreeze all layers (None), or freeze the early ones from a step on."""
        if (step is None) != (self.frozen_at is None):
            self.model = self._freezing.prepare(step is not None)
            self.compiled = False
        self.frozen_at = step

    def count(self, items):
        self.step, self.done, self.items = self.step + 1, self.done + 1, self.items + items

    def end_epoch(self, record):
        self.epochs_without_improvement = 0 if record["best"] else self.epochs_without_improvement + 1
        self.epoch, self.step, self.items, self.seconds = self.epoch + 1, 0, 0, 0.0
        self.steps = self._batches.steps(self.epoch)
        self.means = RunningMeans()
        self.reported = [*self.reported, record][-REPORTED:]

    def capture(self):
        return dict({name: getattr(self, name) for name in SAVED}, means=self.means.state())

    def restore(self, saved):
        """Continue from the result of :meth:`capture`; with a new batch size, at the same share of the epoch."""
        for name in SAVED:
            setattr(self, name, saved[name])
        self.means = RunningMeans(saved["means"])
        self.steps = self._batches.steps(self.epoch)
        if self.steps != saved["steps"]:
            self.step = self.step * self.steps // saved["steps"]
            self.done = sum(self._batches.steps(epoch) for epoch in range(self.first, self.epoch)) + self.step

    def locate(self, problem):
        """Append the epoch and step to a problem."""
        return "%s at epoch %d, step %d" % (problem, self.epoch, self.step)

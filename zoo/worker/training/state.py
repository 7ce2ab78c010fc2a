"""Track where a training is: everything that a checkpoint must hold of it beside arrays."""

from zoo.worker.training.running_means import RunningMeans
from zoo.worker.training.weight_average import WeightAverage

# An optimizer begins anew where fewer layers go on learning; so many steps let its moments settle.
SETTLING = 20
# So many epochs are reported again by a run that goes on.
REPORTED = 100
# Attributes that a checkpoint holds.
SAVED = (
    "epoch", "step", "done", "items", "epochs_without_improvement", "scale", "rollbacks", "rate", "seconds", "steps",
    "reported", "frozen_at",
)  # fmt: skip


class ProgressiveFreezing:
    """Some layers stop learning before the others do (Brock et al. 2017, https://arxiv.org/abs/1706.04983).

    Attributes:
        share: of all steps after which they do.
        prepare: called with whether they have; the model that is trained then, compiled.
    """

    def __init__(self, share, prepare):
        self.share, self.prepare = share, prepare


class Stage:
    """One stage of a training: its settings and its place among the others.

    Args:
        settings: ``epochs``, ``learning_rate``, ``schedule``, ``warmup``, ``patience``, ``ema``, ``max_minutes`` and
            ``max_memory_gb``.
        first: number of the first epoch, where there were others before.
        last: number of the last epoch of the whole run, where others follow; shown.
        freezing: which layers stop learning and when, if any do.
        number: of the stage, from 1 on, where there is more than one.
        whole: the model whose weights are averaged, where another one that shares its layers is trained.
    """

    def __init__(self, settings, first=1, last=None, freezing=None, number=None, whole=None):
        self.settings, self.first, self.freezing = settings, first, freezing
        self.number, self.whole = number, whole
        self.final = first + settings.epochs - 1
        self.last = last or self.final

    def total_steps(self, batches):
        """Steps of all its epochs."""
        return sum(batches.steps(epoch) for epoch in range(self.first, self.final + 1))


class TrainingState:
    """Where one stage is."""

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
        """Let all layers learn, or from a step on only those that go on learning to the end."""
        if (step is None) != (self.frozen_at is None):
            self.model = self._freezing.prepare(step is not None)
            self.compiled = False
        self.frozen_at = step

    def rate_factor(self):
        """Share of the learning rate while the moments of a new optimizer settle."""
        return 1.0 if self.frozen_at is None else min(1.0, (self.done - self.frozen_at + 1) / SETTLING)

    def count(self, items):
        """Count a step that was taken on a batch of so many items."""
        self.step, self.done, self.items = self.step + 1, self.done + 1, self.items + items

    def end_epoch(self, record):
        """Note the figures of an epoch and go on to the next."""
        self.epochs_without_improvement = 0 if record["best"] else self.epochs_without_improvement + 1
        self.epoch, self.step, self.items, self.seconds = self.epoch + 1, 0, 0, 0.0
        self.steps = self._batches.steps(self.epoch)
        self.means = RunningMeans()
        self.reported = [*self.reported, record][-REPORTED:]

    def capture(self):
        """All of it, as JSON can hold it."""
        return dict({name: getattr(self, name) for name in SAVED}, means=self.means.state())

    def restore(self, saved):
        """Go on from what :meth:`capture` returned; with batches of another size, at the same share of the epoch."""
        for name in SAVED:
            setattr(self, name, saved[name])
        self.means = RunningMeans()
        self.means.restore(saved["means"])
        self.steps = self._batches.steps(self.epoch)
        if self.steps != saved["steps"]:
            self.step = self.step * self.steps // saved["steps"]
            self.done = sum(self._batches.steps(epoch) for epoch in range(self.first, self.epoch)) + self.step

    def locate(self, problem):
        """Say what is wrong, and where."""
        return "%s at epoch %d, step %d" % (problem, self.epoch, self.step)

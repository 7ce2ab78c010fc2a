"""The training loop, the same for every model and every stack.

It takes a feed: an object that knows the data. ``steps(epoch)`` is the number of optimizer steps of an epoch;
``batches(epoch)`` iterates over (x, y), or (x, y, weights) where items do not count the same: numpy arrays for one
step each; ``evaluate(model)`` returns figures such as ``val_loss`` and ``val_accuracy``, or nothing where no data is
set aside.

A run that was cut off goes on in the middle of an epoch as if nothing had happened. So whatever a feed draws, be it
order, crops or noise, must be a function of (seed, epoch, step) alone: ``batches(epoch)`` yields the same batches
whenever it is asked, and the loop may pass over the first ones. Nothing may be drawn from a generator that lives
longer than one call of ``batches``, which is gone through in a thread of its own, a batch ahead.
"""

import itertools
import math
import time

import numpy as np

from zoo.models import compat
from zoo.worker import memory
from zoo.worker.training.checkpointing import Keeper
from zoo.worker.training.prefetch import ahead

# So many epochs are told again by a run that goes on.
TOLD = 100
# An optimizer begins anew where fewer layers go on learning; so many steps let its moments settle.
SETTLING = 20

__all__ = ["Keeper", "fit", "learning_rate", "smooth"]


class Course:
    """Where the training of one stage is, and everything a checkpoint must hold of it beside arrays."""

    _NUMBERS = ("epoch", "step", "done", "items", "stale", "scale", "rollbacks", "rate", "seconds", "steps", "told",
                "narrowed")  # fmt: skip

    def __init__(self, model, feed, first, narrowing=None):
        self.model, self._feed = model, feed
        self._narrowing, self.narrowed = narrowing, None
        self.first = self.epoch = first
        self.step = self.done = self.items = self.stale = self.rollbacks = 0
        self.scale, self.rate, self.seconds = 1.0, 0.0, 0.0
        self.compiled, self.told = False, []
        self.steps = feed.steps(first)
        self.means = compat.RunningMeans(model)

    def aim(self, narrowed):
        """Let all layers learn, or from the step ``narrowed`` on only those that go on learning to the end."""
        if (narrowed is None) != (self.narrowed is None):
            self.model = self.means.model = self._narrowing.prepare(narrowed is not None)
            self.compiled = False
        self.narrowed = narrowed

    def share_of_rate(self):
        """Of the learning rate, while the moments of a new optimizer settle."""
        return 1.0 if self.narrowed is None else min(1.0, (self.done - self.narrowed + 1) / SETTLING)

    def count(self, batch):
        """A step was taken on a batch."""
        self.step, self.done, self.items = self.step + 1, self.done + 1, self.items + len(batch[1])

    def turn(self, best):
        """An epoch is over; go on to the next."""
        self.stale = 0 if best else self.stale + 1
        self.epoch, self.step, self.items, self.seconds = self.epoch + 1, 0, 0, 0.0
        self.steps = self._feed.steps(self.epoch)
        self.means = compat.RunningMeans(self.model)

    def state(self):
        """All of it, as JSON knows it."""
        return dict({name: getattr(self, name) for name in self._NUMBERS}, means=self.means.state())

    def go_on(self, state):
        """Take up what :meth:`state` told; with batches of another size, at the same share of the epoch."""
        for name in self._NUMBERS:
            setattr(self, name, state[name])
        self.means = compat.RunningMeans(self.model)
        self.means.restore(state["means"])
        self.steps = self._feed.steps(self.epoch)
        if self.steps != state["steps"]:
            self.step = self.step * self.steps // state["steps"]
            self.done = sum(self._feed.steps(epoch) for epoch in range(self.first, self.epoch)) + self.step

    def words(self, what):
        """What is wrong, and where."""
        return "%s at epoch %d, step %d" % (what, self.epoch, self.step)


class Narrowing:
    """Some layers leave off learning before the others do (Brock et al. 2017, https://arxiv.org/abs/1706.04983).

    Attributes:
        share: of all steps after which they do.
        prepare: called with whether they have; the model that is trained then, compiled.
    """

    def __init__(self, share, prepare):
        self.share, self.prepare = share, prepare


def fit(model, feed, settings, keeper, events, stop, phases, first=1, last=None, narrowing=None):
    """Train for all epochs, or until asked to stop; one ``epoch`` event each, ``step`` events between.

    Args:
        model: compiled.
        feed: see above.
        settings: ``epochs``, ``learning_rate``, ``schedule``, ``warmup`` and ``patience``, ``max_minutes`` and
            ``max_memory_gb``, and what the keeper needs.
        keeper: is shown the record of every epoch, and writes checkpoints.
        events: where to report.
        stop: when asked to, training ends after the step in hand.
        phases: seconds by phase, filled in.
        first: number of the first epoch, where there were others before.
        last: number of the last one of the whole run, where others follow; shown.
        narrowing: which layers leave off learning and when, if any do.

    Returns:
        The number of epochs.

    Raises:
        FloatingPointError: the loss is no longer a number.
        OutOfMemoryError: the device or this machine has no more, or the run may not take more.
    """
    keeper.begin(settings, events, phases)
    if keeper.finished(first) is not None:
        return keeper.finished(first)
    course = Course(model, feed, first, narrowing)
    stage = _Stage(course, feed, settings, keeper, events, stop, phases, last, narrowing)
    keeper.enter(course)
    for told in course.told:  # the host may have died before it heard of them
        events.emit("epoch", **told)
    while stage.goes_on():
        try:
            stage.train_epoch()
        except FloatingPointError as error:
            keeper.roll_back(course, error)
        except BrokenPipeError:  # the host is gone: what was learnt stays
            if not stage.parted:
                keeper.save(course)
            raise
        except Exception as error:
            memory.judge(error, settings)
            raise
    keeper.leave(course)
    return course.epoch - first


class _Stage:
    """What the epochs of one stage share."""

    def __init__(self, course, feed, settings, keeper, events, stop, phases, last, narrowing):
        self._course, self._feed, self._settings, self._keeper = course, feed, settings, keeper
        self._events, self._stop, self._phases = events, stop, phases
        epochs = range(course.first, course.first + settings["epochs"])
        self._final, self._last = epochs[-1], last or epochs[-1]
        self._total = sum(feed.steps(epoch) for epoch in epochs)
        self._narrow_at = int(narrowing.share * self._total) if narrowing else None
        self._began, self.parted = time.monotonic(), False

    def goes_on(self):
        patience = self._settings.get("patience")
        stale = patience and self._course.stale >= patience
        return self._course.epoch <= self._final and not self._stop.asked and not stale

    def train_epoch(self):
        """Train what is left of the epoch in hand, evaluate, report and keep."""
        course, began, before = self._course, time.monotonic(), self._course.seconds
        known = self._phases.get("compile_s", 0.0) + self._phases.get("checkpoint_s", 0.0)
        for batch in ahead(itertools.islice(self._feed.batches(course.epoch), course.step, None)):
            self._take_step(batch)
            course.seconds = before + time.monotonic() - began
            self._report()
            self._heed_limits()
            if self._stop.asked:
                break
            if self._keeper.due():
                self._keeper.save(course)
        self.parted = self._stop.asked and course.step < course.steps
        if self.parted:  # what follows must not get into the checkpoint
            self._keeper.save(course)
        evaluating = time.monotonic()
        record = {"loss": course.means.loss, "accuracy": course.means.accuracy}
        record.update(self._feed.evaluate(course.model))
        evaluate_s = time.monotonic() - evaluating
        record.update(epoch=course.epoch, steps=course.step, learning_rate=course.rate)
        record["epoch_s"] = course.seconds + evaluate_s
        record["items_per_s"] = course.items / max(1e-9, course.seconds)
        # A size that grows from epoch to epoch is how memory leaks of GPU plug-ins show.
        record["peak_memory_bytes"] = memory.peak_bytes()
        known = self._phases.get("compile_s", 0.0) + self._phases.get("checkpoint_s", 0.0) - known
        self._add("train_s", evaluating - began - known)
        self._add("evaluate_s", evaluate_s)
        self._keeper.consider(record)
        told = dict(record, epochs=self._last)
        if not self.parted:
            course.turn(record["best"])
            course.told = [*course.told, told][-TOLD:]
            self._keeper.save_epoch(course, self._stop.asked)
        self._events.emit("epoch", **told)

    def _add(self, phase, seconds):
        self._phases[phase] = self._phases.get(phase, 0.0) + seconds

    def _take_step(self, batch):
        course = self._course
        if self._narrow_at is not None and course.narrowed is None and course.done >= self._narrow_at:
            course.aim(course.done)
        rate = learning_rate(self._settings, course.done, self._total)
        course.rate = rate * course.scale * course.share_of_rate()
        compat.set_learning_rate(course.model, course.rate)
        began = time.monotonic()
        course.means.train(*batch)
        if not course.compiled:  # the first step is where frameworks trace and compile
            self._add("compile_s", time.monotonic() - began)
            course.compiled = True
        course.count(batch)
        if not math.isfinite(course.means.loss):
            words = course.words("the loss became %s" % course.means.loss)
            rate = self._settings["learning_rate"]
            raise FloatingPointError(words + "; a lower trainer.learning_rate than %g usually helps" % rate)

    def _report(self):
        course = self._course
        self._events.step(
            epoch=course.epoch,
            epochs=self._last,
            step=course.step,
            steps=course.steps,
            loss=course.means.loss,
            accuracy=course.means.accuracy,
            items_per_s=course.items / max(1e-9, course.seconds),
        )

    def _heed_limits(self):
        """Stop in time; leave off before memory runs out, with a checkpoint to go on from."""
        minutes, gigabytes = self._settings.get("max_minutes"), self._settings.get("max_memory_gb")
        if minutes and time.monotonic() - self._began >= 60 * minutes and not self._stop.asked:
            self._stop.asked, self._stop.reason = True, "max_minutes"
        peak = memory.peak_bytes() if gigabytes else None
        if peak and peak > gigabytes * 2**30:
            self._keeper.save(self._course)
            raise memory.OutOfMemoryError(
                "the worker has taken %.2f GB, trainer.max_memory_gb is %g" % (peak / 2**30, gigabytes)
            )


def learning_rate(settings, step, steps):
    """Learning rate at a step.

    ``constant``; ``cosine``: from the given rate down to the ``final`` share of it, a hundredth; ``one_cycle``: from
    a 25th up to it and down to a 10,000th (Smith 2018, https://arxiv.org/abs/1803.09820, without its cycle of
    momentum), both along half a cosine. A ``warmup`` share of the steps climbs to the given rate first, linearly but
    for ``one_cycle``.
    """
    rate, schedule, warmup = settings["learning_rate"], settings["schedule"], settings["warmup"]
    cycle = schedule == "one_cycle"
    warm = int((warmup or (0.3 if cycle else 0.0)) * steps)
    if step < warm:
        return _between(rate / 25, rate, step / warm) if cycle else rate * (step + 1) / warm
    if schedule == "constant":
        return rate
    return _between(
        rate, rate * (1e-4 if cycle else settings.get("final_lr_ratio", 0.01)), (step - warm) / max(1, steps - warm)
    )


def _between(start, end, share):
    """A point on the half cosine from one value to another."""
    return end + (start - end) * 0.5 * (1 + math.cos(math.pi * share))


def smooth(labels, share):
    """Spread a share of every one-hot label over all classes (Szegedy et al. 2015, https://arxiv.org/abs/1512.00567)."""
    return labels if not share else labels * np.float32(1 - share) + np.float32(share / labels.shape[-1])

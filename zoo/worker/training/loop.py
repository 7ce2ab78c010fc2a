"""The training loop, the same for every model and every stack.

Its batches are an object that iterates over the data. ``steps(epoch)`` is the number of optimizer steps of an epoch.
``batches(epoch)`` iterates over (x, y), or (x, y, weights) unless all items count the same, as NumPy arrays for one
step each. ``evaluate(model)`` returns metrics such as ``val_loss`` and ``val_accuracy``, or nothing without
validation data.

An interrupted run resumes in the middle of an epoch as if nothing had happened. Therefore everything that ``batches``
draws, such as order, crops or noise, must be a function of (seed, epoch, step) only. It yields the same batches at
every call, and the loop may skip the first ones. A separate thread consumes the result ahead of the training, so
``batches`` must not draw from a generator that outlives the call.
"""

import math
import time

from zoo.models import compat
from zoo.protocol import memory
from zoo.worker.errors import OutOfMemoryError, raise_if_out_of_memory
from zoo.worker.training import placement
from zoo.worker.training.schedules import learning_rate
from zoo.worker.training.state import TrainingState

GIB = 2**30
# The optimizer restarts when more layers are frozen; its moments settle in this number of steps.
SETTLING = 20


def fit(model, batches, stage, checkpointer, run):
    """Train for all epochs, or until stopped, and return the number of epochs.

    Emits an ``epoch`` event after each epoch, and ``step`` events in between.

    Raises:
        FloatingPointError: the loss is not finite.
        OutOfMemoryError: the device or this machine is out of memory, or the run reached its limit.
    """
    if checkpointer.finished(stage.first) is not None:
        return checkpointer.finished(stage.first)
    run.group.unite(model)
    state = TrainingState(model, batches, stage)
    checkpointer.enter(state)
    loop = _Loop(state, batches, stage, checkpointer, run)
    for record in state.reported:  # the host may have ended before it received them
        run.events.emit("epoch", **record)
    run.group.settle_stop()
    while loop.goes_on():
        loop.try_epoch()
        run.group.settle_stop()
    checkpointer.leave(state)
    return state.epoch - stage.first


class _Loop:
    def __init__(self, state, batches, stage, checkpointer, run):
        self._state, self._batches, self._stage = state, batches, stage
        self._checkpointer, self._run = checkpointer, run
        self._settings = stage.settings
        self._total = sum(batches.steps(epoch) for epoch in range(stage.first, stage.final + 1))
        self._freeze_at = int(stage.freezing.share * self._total) if stage.freezing else None
        self._interrupted_mid_epoch = False

    def goes_on(self):
        patience = self._settings.patience
        patient = not patience or self._state.epochs_without_improvement < patience
        return self._state.epoch <= self._stage.final and not self._run.stop.asked and patient

    def try_epoch(self):
        """Train an epoch; keep the results so far if it fails."""
        try:
            self._train_epoch()
        except FloatingPointError as error:
            self._checkpointer.roll_back(self._state, error)
        except BrokenPipeError:  # the host has ended
            if not self._interrupted_mid_epoch:
                self._checkpointer.save(self._state)
            raise
        except Exception as error:
            raise_if_out_of_memory(error, self._settings)
            raise

    def _train_epoch(self):
        state, run, began = self._state, self._run, time.monotonic()
        not_training = run.spent("compile_s", "checkpoint_s")
        self._take_steps()
        self._interrupted_mid_epoch = run.stop.asked and state.step < state.steps
        if self._interrupted_mid_epoch:  # before the evaluation, which the checkpoint must not contain
            self._checkpointer.save(state)
        not_training = run.spent("compile_s", "checkpoint_s") - not_training
        run.add("train_s", time.monotonic() - began - not_training)
        with state.average.in_place():
            record = self._evaluate()
            self._checkpointer.consider(record)
            run.report_weights(self._stage.whole or state.model, state.epoch)
        record["epochs"] = self._stage.last
        if self._stage.number:
            record["stage"] = self._stage.number
        if self._interrupted_mid_epoch:
            record["all_steps"] = state.steps
        else:
            state.end_epoch(record)
            self._checkpointer.save_epoch(state, run.stop.asked or state.epoch > self._stage.final)
        run.events.emit("epoch", **record)

    def _take_steps(self):
        state, began, before = self._state, time.monotonic(), self._state.seconds
        for batch in placement.feed(self._batches, state.epoch, state.step, self._run):
            self._take_step(batch)
            state.seconds = before + time.monotonic() - began
            self._report()
            self._enforce_limits()
            due = self._run.group.after_step(self._checkpointer.due())
            if self._run.stop.asked:
                break
            if due:
                self._checkpointer.save(state)

    def _evaluate(self):
        state, began = self._state, time.monotonic()
        record = dict({"loss": state.means.loss}, **self._accuracy())
        record.update(self._batches.evaluate(state.model))
        evaluate_s = time.monotonic() - began
        self._run.add("evaluate_s", evaluate_s)
        record.update(epoch=state.epoch, steps=state.step, learning_rate=state.rate)
        record["epoch_s"] = state.seconds + evaluate_s
        record["items_per_s"] = state.items / max(1e-9, state.seconds)
        # Memory leaks of GPU plug-ins show as growth from epoch to epoch.
        record["peak_memory_bytes"] = memory.peak_bytes()
        return record

    def _take_step(self, batch):
        state = self._state
        if self._freeze_at is not None and state.frozen_at is None and state.done >= self._freeze_at:
            state.set_frozen(state.done)
        state.rate = learning_rate(self._settings, state.done, self._total) * state.scale
        if state.frozen_at is not None:
            state.rate *= min(1.0, (state.done - state.frozen_at + 1) / SETTLING)
        compat.set_learning_rate(state.model, state.rate)
        began = time.monotonic()
        items = self._run.group.enter(batch)
        state.means.add(*compat.train_classifier(state.model, *batch))
        if not state.compiled:  # frameworks trace and compile at the first step
            self._run.add("compile_s", time.monotonic() - began)
            state.compiled = True
        state.count(items)
        if not math.isfinite(state.means.loss):
            problem = state.locate("the loss became %s" % state.means.loss)
            rate = self._settings.learning_rate
            raise FloatingPointError(problem + "; a lower trainer.learning_rate than %g usually helps" % rate)
        state.average.update(state.done)

    def _report(self):
        state = self._state
        self._run.events.step(
            epoch=state.epoch, epochs=self._stage.last, step=state.step, steps=state.steps, items=state.items,
            loss=state.means.loss, items_per_s=state.items / max(1e-9, state.seconds), **self._accuracy(),
        )  # fmt: skip

    def _accuracy(self):
        return {} if self._run.target else {"accuracy": self._state.means.accuracy}

    def _enforce_limits(self):
        """Stop at the time limit, and before memory runs out, with a checkpoint to resume from."""
        gigabytes, stop = self._settings.max_memory_gb, self._run.stop
        if self._run.is_out_of_time() and not stop.asked:
            self._run.group.ask_to_stop(stop, "max_minutes")
        peak = memory.peak_bytes() if gigabytes else None
        if peak and peak > gigabytes * GIB:
            self._checkpointer.save(self._state)
            raise OutOfMemoryError("the worker uses %.2f GB, trainer.max_memory_gb is %g" % (peak / GIB, gigabytes))

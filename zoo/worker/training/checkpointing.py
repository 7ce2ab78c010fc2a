"""Keeping what a training has learnt: the best weights, checkpoints, and going on from them."""

import contextlib
import os
import time

import numpy as np

from zoo.models import compat
from zoo.models.compat import training_state
from zoo.worker import weights
from zoo.worker.errors import RefusalError
from zoo.worker.training.checkpoint_files import Checkpoints

# A checkpoint at the end of an epoch waits until training took this many times as long as the last one did, so that
# all of them together cost less than 2 % of the time; that of the first epoch does not wait.
PATIENCE = 60
ROLLBACKS = 5


class Keeper:
    """Holds the best weights so far, and writes them and checkpoints: a killed run loses only what came after."""

    def __init__(self, model, folder):
        self._model = model
        self._folder = folder
        self._path = os.path.join(folder, "weights.npz")
        self._arrays, self._written = None, True
        self.best = None
        self._files, self._loaded = None, None
        self._finished, self._steps = {}, 0
        self._saved, self._cost, self._complained = None, 0.0, False

    def begin(self, settings, events, phases):
        """Get ready for a stage; where the run is resumed, read its newest checkpoint that is whole.

        Args:
            settings: ``checkpoint_minutes``, ``keep_checkpoints``, ``disk_reserve_gb``, ``on_nan`` and ``resume``.
            events: where to report.
            phases: seconds by phase; ``checkpoint_s`` is filled in.
        """
        first_stage = self._files is None
        self._settings, self._events, self._phases = settings, events, phases
        reserve = int(settings.get("disk_reserve_gb", 0) * 2**30)
        self._files = Checkpoints(self._folder, settings.get("keep_checkpoints", 2), reserve)
        if first_stage and settings.get("resume"):
            self._loaded = self._files.load(self._warn)
            with _sound():
                self._find_best()

    def _find_best(self):
        if self._loaded is None:
            self._warn("There is no whole checkpoint: the run starts again from its beginning")
            return
        arrays, state = self._loaded
        _check(state)
        self.best, self._finished, self._steps = state["best"], state["finished"], state["steps_before"]
        if self.best is not None:
            kind = "best/" if any(name.startswith("best/") for name in arrays) else "weights/"
            self._arrays = [arrays[name] for name in sorted(arrays) if name.startswith(kind)]

    def finished(self, first):
        """How many epochs the stage that begins with epoch ``first`` took, if it came to its end before."""
        return self._finished.get(str(first)) if self._loaded is not None else None

    def enter(self, course):
        """Put model and course where the checkpoint found them, if there is one of this stage.

        The stage may train another model than the keeper's that shares its layers: the optimizer is its own.
        """
        self._saved = time.monotonic()
        if self._loaded is not None:
            with _sound():
                self._take_up(course, *self._loaded)
            self._events.emit("resume", epoch=course.epoch, step=course.step, done=self._steps + course.done)
            self._loaded = None
        elif self._settings.get("on_nan") == "rollback":
            self.save(course)

    def _take_up(self, course, arrays, state):
        here = _stack()
        course.aim(state["course"]["narrowed"])
        if state["stack"] == here:
            training_state.restore(self._model, course.model, arrays)
        else:
            training_state.restore_weights(self._model, arrays)
            self._warn(
                "The run goes on with %s from weights of %s: the optimizer and all draws start anew"
                % (" on ".join(here), " on ".join(state["stack"]))
            )
        course.go_on(state["course"])

    def due(self):
        """Whether so many minutes have passed since the last checkpoint that it is time for the next one."""
        return time.monotonic() - self._saved >= 60 * self._settings.get("checkpoint_minutes", 10)

    def save_epoch(self, course, parting):
        """Write a checkpoint after an epoch; where more follow, the last one may be too young for its cost."""
        if parting or not self._cost or time.monotonic() - self._saved >= PATIENCE * self._cost:
            self.save(course)

    def save(self, course):
        """Write a checkpoint and the best weights. Where the disk is full that is said, and training goes on.

        Raises:
            FloatingPointError: the weights are no longer numbers, and no checkpoint is made of them.
        """
        began = time.monotonic()
        arrays = training_state.capture(self._model, course.model)
        if not all(np.isfinite(value).all() for name, value in arrays.items() if name.startswith("weights/")):
            raise FloatingPointError(course.words("the weights are no longer numbers"))
        if self._arrays is not None:
            arrays.update(("best/%05d" % number, value) for number, value in enumerate(self._arrays))
        state = {"best": self.best, "finished": self._finished, "steps_before": self._steps}
        state.update(stack=_stack(), course=course.state())
        try:
            self._files.save(self._steps + course.done, arrays, state)
            self._write_best()
            self._complained = False
        except OSError as error:
            self._complain(error)
        self._saved = time.monotonic()
        self._cost = self._saved - began
        self._phases["checkpoint_s"] = self._phases.get("checkpoint_s", 0.0) + self._cost

    def _write_best(self):
        if not self._written:
            weights.save(self._arrays, self._model, self._path)
            self._written = True

    def _complain(self, error):
        if not self._complained:
            self._warn(
                "No checkpoint can be written to %s: %s. Training goes on; until there is room again, a run that is"
                " cut off goes on from the checkpoint before" % (self._folder, error.strerror or error)
            )
        self._complained = True

    def consider(self, record):
        """Keep the present weights if they are the best, and mark the epoch's record with ``best``."""
        again = self.best is not None and self.best["best_epoch"] == record["epoch"]
        record["best"] = self.best is None or again or _better(record, self.best)
        if record["best"]:
            self._arrays, self._written = [np.array(value) for value in self._model.get_weights()], False
            self.best = {name: record[name] for name in _KEPT if name in record}
            self.best["best_epoch"] = record["epoch"]

    def roll_back(self, course, error):
        """After a loss that is no number: go back to the last checkpoint, with half the learning rate.

        Raises:
            FloatingPointError: the given one, where that is not wanted, not possible or did not help.
        """
        if self._settings.get("on_nan") != "rollback" or course.rollbacks >= ROLLBACKS:
            raise error
        found = self._files.load(self._warn)
        if found is None:
            raise error
        scale, rollbacks = course.scale / 2, course.rollbacks + 1
        self._take_up(course, *found)
        course.scale, course.rollbacks = scale, rollbacks
        self._warn(
            "%s. Back to epoch %d, step %d, with %g times the learning rate"
            % (error, course.epoch, course.step, scale)
        )

    def leave(self, course):
        """A stage has come to its end."""
        self._finished[str(course.first)] = course.epoch - course.first
        self._steps += course.done

    def restore_best(self):
        if self._arrays is not None:
            self._model.set_weights(self._arrays)

    def _warn(self, words):
        self._events.emit("warning", message=words)


@contextlib.contextmanager
def _sound():
    """What a checkpoint holds may be another run's, or a stranger's."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        told = "%s: %s" % (type(error).__name__, error)
        raise RefusalError("the run cannot go on from its checkpoint, which holds something else: " + told) from error


def _check(state):
    """Raise one of what :func:`_sound` turns into words where a state is not as ``Keeper.save`` writes it."""
    course, told = dict(state["course"]), list(state["course"]["told"])
    numbers = [value for name, value in course.items() if name not in ("told", "means", "narrowed")]
    numbers.append(course["narrowed"] or 0)
    numbers += [state["steps_before"], *state["finished"].values()]
    if not all(isinstance(value, (int, float)) for value in numbers):
        raise TypeError("where numbers should be is %r" % numbers)
    if any(row["epoch"] < 0 or "event" in row or "self" in row for row in told):
        raise ValueError("its epochs are none")
    if state["best"] is not None and state["best"]["best_epoch"] < 0:
        raise ValueError("its best epoch is none")


def _stack():
    return ["Keras " + compat.version(), compat.backend_name()]


_KEPT = ("loss", "accuracy", "val_loss", "val_accuracy", "val_token_accuracy", "val_top5")


def _better(record, best):
    """More validation accuracy, then less validation loss; without a validation set the latest is best."""
    if "val_loss" not in record:
        return True
    if "val_accuracy" not in record:
        return record["val_loss"] < best["val_loss"]
    return (record["val_accuracy"], -record["val_loss"]) > (best["val_accuracy"], -best["val_loss"])

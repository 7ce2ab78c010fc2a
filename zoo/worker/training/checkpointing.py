"""Keep the results of training: the best weights, and checkpoints from which a run can be resumed."""

import contextlib
import os
import time

import numpy as np

from zoo.models import compat
from zoo.models.compat import training_state
from zoo.protocol.targets import CLASSES, FIGURES, KINDS, SMALLEST
from zoo.worker import weights
from zoo.worker.errors import UserError
from zoo.worker.training import checkpoint_files
from zoo.worker.training.checkpoint_files import Checkpoints

# Least time between checkpoints of epochs, as a multiple of the time to write one: they cost less than 2 % of the
# time. The first epoch is always saved.
PATIENCE = 60
ROLLBACKS = 5
# Gains of an epoch over a linear probe up to this are due to rounding.
ROUNDING = 1e-3


class Checkpointer:
    """Writes the best weights and checkpoints, so that a killed run loses only the steps after its last checkpoint.

    For a resumed run, the newest valid checkpoint is read first.

    Args:
        run: a :class:`zoo.worker.training.run.Run`, with the settings ``checkpoint_minutes``, ``keep_checkpoints``,
            ``disk_reserve_gb``, ``on_nan`` and ``resume``.

    Attributes:
        best: the metrics of the best epoch so far, or None; epoch 0 is a linear probe.
        probe: validation figures of the linear probe, if any, and of the best ``trained`` network.
    """

    def __init__(self, model, run):
        self._model, self._run, self._settings = model, run, run.settings
        self._path = os.path.join(run.folder, "weights.npz")
        self._arrays, self._written = None, True
        self.best = self.probe = None
        reserve = int(self._settings.disk_reserve_gb * 2**30)
        kept, run_id = self._settings.keep_checkpoints, run.request.run_id
        self._files = Checkpoints(run.folder, kept, reserve, run_id)
        self._finished, self._steps, self._rolled_back = {}, 0, False
        self._saved, self._cost, self._complained = None, 0.0, False
        present = os.path.exists(self._path)  # before reading: the worker of a killed run may end a moment later
        self._loaded = self._files.load(run.warn) if run.request.resume else None
        if run.request.resume:
            with _refuse_wrong_content():
                self._find_best(present)

    def _find_best(self, present):
        if self._loaded is None:
            if present:
                why = "no checkpoint of the run is complete, and a new start would replace %s. Move that file elsewhere"
                raise UserError(why % self._path)
            self._run.warn("No complete checkpoint: the run starts from the beginning")
            return
        arrays, saved = self._loaded
        _check(saved)
        self.best, self._finished, self._steps = saved["best"], saved["finished"], saved["steps_before"]
        self.probe = saved.get("probe")
        self._rolled_back = saved.get("course", {}).get("rollbacks", 0) > 0
        if self.best is not None:
            kind = "best/" if any(name.startswith("best/") for name in arrays) else "weights/"
            self._arrays = [arrays[name] for name in sorted(arrays) if name.startswith(kind)]

    def goes_on(self):
        return self._loaded is not None

    def finished(self, first):
        """Return the number of epochs of the stage that starts with epoch ``first``, if it is already complete."""
        return self._finished.get(str(first)) if self._loaded is not None else None

    def enter(self, state):
        """Restore the model and the state from the checkpoint, if there is one for this stage.

        The stage may train a different model, with its own optimizer, that shares the layers of the checkpointer's.
        """
        self._saved = time.monotonic()
        if self._loaded is not None:
            with _refuse_wrong_content():
                self._restore(state, *self._loaded)
            self._run.events.emit("resume", epoch=state.epoch, step=state.step, done=self._steps + state.done)
            self._loaded = None
            places = self._run.group.gather_values(self._steps + state.done)
            if len(set(places)) > 1:
                why = "the processes read different checkpoints (steps %s): %s is not the same folder on all machines"
                raise UserError(why % (", ".join(map(str, places)), self._run.folder))
        elif self._settings.on_nan == "rollback" or self._run.group.size > 1:
            self.save(state)

    def _restore(self, state, arrays, saved):
        here = compat.stack()
        state.set_frozen(saved["course"]["frozen_at"])
        if saved["stack"] == here:
            training_state.restore(self._model, state.model, arrays)
        else:
            training_state.restore_weights(self._model, arrays)
            words = "Resuming on %s with weights from %s: the optimizer and random numbers are reset"
            self._run.warn(words % (" on ".join(here), " on ".join(saved["stack"])))
        state.restore(saved["course"])
        state.average.restore(arrays)

    def due(self):
        return time.monotonic() - self._saved >= 60 * self._settings.checkpoint_minutes

    def save_epoch(self, state, is_last):
        """Write a checkpoint after an epoch, unless it is too soon after the previous one and more epochs follow."""
        wanted = is_last or not self._cost or time.monotonic() - self._saved >= PATIENCE * self._cost
        if self._run.group.agree(wanted):
            self.save(state)

    def save(self, state):
        """Write a checkpoint and the best weights; report a full disk and continue training.

        Raises:
            FloatingPointError: the weights are not finite; no checkpoint is written.
        """
        began = time.monotonic()
        self._run.group.busy()
        self._save(state)
        self._saved = time.monotonic()
        self._cost = self._saved - began
        self._run.add("checkpoint_s", self._cost)

    def _save(self, state):
        arrays = dict(training_state.capture(self._model, state.model), **state.average.capture())
        if not all(np.isfinite(value).all() for name, value in arrays.items() if name.startswith("weights/")):
            raise FloatingPointError(state.locate("the weights are not finite"))
        if self._arrays is not None:
            arrays.update(("best/%05d" % number, value) for number, value in enumerate(self._arrays))
        if self._run.group.rank:
            return
        saved = {"best": self.best, "finished": self._finished, "steps_before": self._steps, "probe": self.probe}
        saved.update(stack=compat.stack(), course=state.capture(), precision=self._settings.precision)
        try:
            self._files.save(self._steps + state.done, arrays, saved)
            if not self._written:
                weights.save(self._model, self._path, self._arrays)
                self._written = True
            self._complained = False
        except OSError as error:
            if not self._complained:
                self._run.warn(
                    "Cannot write a checkpoint to %s: %s. Training continues; an interrupted run would resume from"
                    " the previous checkpoint" % (self._run.folder, error.strerror or error)
                )
            self._complained = True

    def consider(self, record):
        """Keep the current weights if they are the best, and mark the epoch's record with ``best``.

        The best of many epochs often beats a linear probe on few images by chance. An epoch therefore replaces it
        only if the mean gain for an image is above its standard error (as in Breiman et al. 1984, section 3.4.3).
        Labels and numbers have no such costs.
        """
        costs = self._costs(record.pop("judged", None))
        # A resumed run may evaluate its best epoch again. After a rollback, a repeated epoch must beat the best one.
        again = not self._rolled_back and self.best is not None and self.best["best_epoch"] == record["epoch"]
        record["best"] = self.best is None or again or self._is_better(record, self.best)
        if costs is not None and self.best is not None and self.best["best_epoch"] == 0:
            gains = self.probe["costs"] - costs
            record["best"] = bool(gains.mean() * (len(gains) - 1) ** 0.5 > gains.std() + ROUNDING)
        if record["best"]:
            self._arrays, self._written = [np.array(value) for value in self._model.get_weights()], False
            self.best = {name: record[name] for name in _KEPT if name in record}
            self.best["best_epoch"] = record["epoch"]
        if record["epoch"] == 0:
            self.probe = dict(self.best, trained=None, costs=[] if costs is None else costs.tolist())
        elif self.probe and (not self.probe["trained"] or self._is_better(record, self.probe["trained"])):
            self.probe["trained"] = {name: record[name] for name in ("epoch", *_KEPT) if name in record}

    def _is_better(self, record, best):
        """Compare the main figure of the target, such as validation accuracy, then validation loss.

        Without a validation set, the latest epoch is best.
        """
        if "val_loss" not in record:
            return True
        target = self._run.target
        figure = "val_" + KINDS[target.kind if target else CLASSES].best
        by_loss = self._settings.best_by == "loss" or (target is not None and target.loss == "mae")
        if figure not in record or by_loss:
            return record["val_loss"] < best["val_loss"]
        return (record[figure], -record["val_loss"]) > (best[figure], -best["val_loss"])

    def _costs(self, judged):
        """Return what counts for the best epoch, of each validation item: its loss, or whether it is wrong."""
        if judged is None or "true" not in judged:
            return None
        if self._settings.best_by == "loss":
            return -np.log(np.maximum(judged["true"].astype(np.float64), SMALLEST))
        return (judged["best"][:, 0] != judged["label"]).astype(np.float64)

    def roll_back(self, state, error):
        """Return to the last checkpoint after a loss that is not finite, with half the learning rate.

        Raises:
            FloatingPointError: the given one, if rolling back is disabled, impossible or did not help.
        """
        if self._settings.on_nan != "rollback" or state.rollbacks >= ROLLBACKS:
            raise error
        checkpoint = self._files.load(self._run.warn)
        if checkpoint is None:
            raise error
        scale, rollbacks = state.scale / 2, state.rollbacks + 1
        self._restore(state, *checkpoint)
        self._rolled_back = True
        state.scale, state.rollbacks = scale, rollbacks
        words = "%s. Back to epoch %d, step %d, with %g times the learning rate"
        self._run.warn(words % (error, state.epoch, state.step, scale))

    def leave(self, state):
        self._finished[str(state.first)] = state.epoch - state.first
        self._steps += state.done

    def restore_best(self):
        if self._arrays is not None:
            self._model.set_weights(self._arrays)


def precision_before(run):
    """Return the precision in the checkpoint of a resumed run, or None."""
    loaded = checkpoint_files.resumed(run.request)
    precision = loaded[1].get("precision") if loaded else None
    return precision if precision in ("float32", "mixed_bfloat16") else None


@contextlib.contextmanager
def _refuse_wrong_content():
    """Report a checkpoint that belongs to a different run or comes from a third party."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = "the run cannot be resumed: its checkpoint has unexpected content: %s: %s"
        raise UserError(why % (type(error).__name__, error)) from error


def _check(saved):
    """Raise an error that :func:`_refuse_wrong_content` reports, unless ``Checkpointer.save`` wrote the state."""
    state, epochs = dict(saved["course"]), list(saved["course"]["reported"])
    numbers = [value for name, value in state.items() if name not in ("reported", "means", "frozen_at")]
    numbers.append(state["frozen_at"] or 0)
    numbers += [saved["steps_before"], *saved["finished"].values(), *(saved.get("probe") or {"costs": []})["costs"]]
    if not all(isinstance(value, (int, float)) for value in numbers):
        raise TypeError("expected numbers, got %r" % numbers)
    if any(row["epoch"] < 0 or "event" in row or "self" in row for row in epochs):
        raise ValueError("its list of epochs is invalid")
    if saved["best"] is not None and saved["best"]["best_epoch"] < 0:
        raise ValueError("its best epoch is invalid")


_KEPT = (
    "loss", "accuracy", "val_loss", "val_accuracy", "val_token_accuracy", "val_top5",
    *("val_" + name for name in FIGURES),
)  # fmt: skip

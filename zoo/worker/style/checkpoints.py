"""Save images, losses and checkpoints of an image that is being optimized."""

import csv
import os
import time

import numpy as np

from zoo.models import compat
from zoo.worker import png
from zoo.worker.errors import UserError
from zoo.worker.training.checkpoint_files import Checkpoints

COLUMNS = ("step", "height", "width", "seconds", "loss", "style", "content", "roughness")


class StyleCheckpoints:
    """Writes ``picture.png``, ``steps/NNNNN.png``, ``losses.csv`` and a checkpoint; a full disk is reported once.

    Args:
        minutes: time between two checkpoints within one size.

    Attributes:
        full: why no more images are saved, or None.
        rows: losses so far, one row per step.
    """

    def __init__(self, folder, minutes, events, run_id=""):
        self._folder, self._seconds, self._events = folder, 60.0 * minutes, events
        self._files = Checkpoints(folder, keep=1, run_id=run_id)
        self._saved = time.monotonic()
        self.full, self.rows, self._newest = None, [], None
        os.makedirs(os.path.join(folder, "steps"), exist_ok=True)

    def resumed(self):
        """Return (image, index of the size, steps taken at it) of the newest valid checkpoint, or None.

        Raise UserError if the content is invalid: the file may come from a third party.
        """
        checkpoint = self._files.load(lambda words: self._events.emit("warning", message=words))
        if checkpoint is None:
            self._warn("No complete checkpoint: the image starts from the beginning")
            return None
        arrays, state = checkpoint
        _check(arrays, state)
        self.rows = state["rows"]
        self._events.emit("resume", epoch=state["size"] + 1, step=state["step"], done=state["done"])
        self._warn("Resuming from the last saved image; the optimizer is reset")
        return arrays["picture"], state["size"], state["step"]

    def due(self):
        return time.monotonic() - self._saved >= self._seconds

    def checkpoint(self, picture, size, step, done):
        """Save an image, (height, width, 3) float32, to view and to continue from.

        ``size`` is the index of the size; ``step`` and ``done`` are the steps at this size and in total.
        """
        self.picture("picture.png", picture)
        state = {"size": size, "step": step, "done": done, "rows": self.rows, "stack": compat.stack()}
        try:
            # The steps of each size start at 0, but the number must grow.
            self._files.save(done, {"picture": picture}, state)
        except OSError as error:
            self._report_full("a checkpoint", error)
        self._saved = time.monotonic()

    def picture(self, name, picture):
        """Write an image, unless the disk is full."""
        if self.full:
            return
        path = os.path.join(self._folder, *name.split("/"))
        try:
            png.write(path, picture)
            self._newest = path
        except OSError as error:
            self._report_full(name, error)
            shown = os.path.join(self._folder, "picture.png")
            if self._newest not in (None, shown):
                os.replace(self._newest, shown)  # the newest step: a rename needs no space

    def losses(self):
        try:
            with open(os.path.join(self._folder, "losses.csv"), "w") as out:
                writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(self.rows)
        except OSError as error:
            self._report_full("losses.csv", error)

    def _report_full(self, name, error):
        if not self.full:
            self.full = "%s cannot be written (%s)" % (name, error.strerror or error)
            self._warn(self.full + ": no more images are saved")

    def _warn(self, words):
        self._events.emit("warning", message=words)


def _check(arrays, state):
    rows, picture = state.get("rows"), arrays.get("picture")
    sound = picture is not None and picture.dtype == np.float32 and picture.ndim == 3 and np.isfinite(picture).all()
    sound = sound and all(type(state.get(name)) is int and state[name] >= 0 for name in ("size", "step", "done"))
    sound = sound and isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    if not (sound and all(sorted(row) == sorted(COLUMNS) for row in rows)):
        raise UserError("the run cannot be resumed: its checkpoint has unexpected content")

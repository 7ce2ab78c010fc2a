"""Style transfer by optimisation: a picture's pixels are trained, coarse sizes first."""

import contextlib
import csv
import os
import time

import numpy as np

from zoo.models import compat
from zoo.models.features import network
from zoo.worker import features, minimise, png, precision, style_problem
from zoo.worker.refusal import RefusalError
from zoo.worker.resample import resize

COLUMNS = ("step", "height", "width", "seconds", "loss", "style", "content", "roughness")


def run(request, events, stop, phases):
    """Optimise a picture, size after size, and leave ``picture.png`` and ``steps/NNNN.png`` in the run folder.

    Args:
        request: its ``style`` part holds ``features``, ``layers``, ``weights``, ``sizes`` (for each its arrays and
            number of steps), ``optimizer``, ``rate``, ``start``, ``every`` and ``seed``.
        events: where to report.
        stop: when asked to, the picture is kept as it is.
        phases: seconds by phase, filled in.

    Returns:
        The fields of the ``done`` event.

    Raises:
        RefusalError: features, layers or numbers are wrong.
        FloatingPointError: the loss is no longer a number.
    """
    settings = request["style"]
    compat.seed(settings["seed"])
    chosen = dict(settings["features"])
    chosen["precision"] = precision.settle(chosen["precision"])
    layers = _layers(chosen, settings["layers"])
    maker = _Maker(request["run_dir"], settings, events, stop)
    picture, before = None, None
    for number, size in enumerate(settings["sizes"], 1):
        began = time.monotonic()
        content = np.load(size["content"], allow_pickle=False).astype(np.float32)
        picture = _start(settings, size, content) if picture is None else _grown(picture, before, content)
        padded = style_problem.padded(content)
        target = _target(chosen, layers, settings, size, padded)
        problem = None  # the smaller one makes room before the larger one is built
        problem = style_problem.build(chosen, layers, target, settings["weights"])
        phases["build_s"] = phases.get("build_s", 0.0) + time.monotonic() - began
        picture = maker.optimise(problem, picture, size["steps"], phases)
        before = content
        maker.end_of_size(number, picture)
        if stop.asked or maker.full:
            break
    if maker.full:
        raise RefusalError("%s; the last picture that found room is kept as picture.png" % maker.full)
    events.emit("artifact", kind="picture", path=os.path.join(request["run_dir"], "picture.png"))
    metrics = dict(zip(("style", "content", "roughness"), maker.terms))
    metrics.update(loss=sum(maker.terms), steps=maker.done, layers=layers, precision=chosen["precision"])
    return {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}


def _layers(chosen, wanted):
    """The layers to use: those asked for, else the network's usual ones as far as the weights reach."""
    held = features.held(chosen)
    module = network(chosen["network"])
    found = {}
    for kind, usual in (("style", module.STYLE), ("content", module.CONTENT)):
        missing = [name for name in wanted[kind] if name not in held]
        if missing:
            raise RefusalError("there is no layer %s at hand; there are %s" % (", ".join(missing), ", ".join(held)))
        # Where the weights end before the usual content layer, the last one they hold is the nearest to it.
        found[kind] = list(wanted[kind] or [name for name in usual if name in held] or held[-1:])
    return found


def _target(chosen, layers, settings, size, content):
    grams = []
    for path in size["styles"]:
        picture = style_problem.padded(np.load(path, allow_pickle=False).astype(np.float32))
        grams.append(style_problem.grams(chosen, layers["style"], picture))
    masks = [None if path is None else _mask(path, content.shape) for path in size["masks"]]
    return style_problem.Target(content, grams, settings["shares"], masks)


def _mask(path, shape):
    """A mask, 0..255, as 0..1 on the padded picture; what was added belongs to nobody."""
    mask = np.load(path, allow_pickle=False).astype(np.float32) / 255.0
    padded = np.zeros(shape[:2], np.float32)
    style_problem.cropped(padded, *mask.shape)[:] = mask
    return padded


def _start(settings, size, content):
    if settings["start"] == "noise":
        random = np.random.RandomState(settings["seed"])
        return (content.mean(axis=(0, 1)) + random.normal(0, 40, content.shape)).astype(np.float32)
    if settings["start"] == "picture":
        return np.load(size["start"], allow_pickle=False).astype(np.float32)
    return content.copy()


def _grown(picture, before, content):
    """The result of a smaller size on the next: what was changed is scaled up and laid over the larger content."""
    rows, columns = content.shape[:2]
    changed = resize(np.clip(picture, 0, 255) - before, rows, columns)
    return np.clip(content + changed, 0, 255)


class _Maker:
    """Goes down the losses, telling and keeping what there is on the way."""

    def __init__(self, folder, settings, events, stop):
        self._folder, self._settings, self._events, self._stop = folder, settings, events, stop
        self._all = sum(size["steps"] for size in settings["sizes"])
        self._began, self._size_began = time.monotonic(), time.monotonic()
        self._rows, self._shape, self._count = [], None, 0
        self.done, self._size_done, self.terms = 0, 0, [float("nan")] * 3
        self._due, self.full = 1, None
        os.makedirs(os.path.join(folder, "steps"), exist_ok=True)

    def optimise(self, problem, picture, steps, phases):
        """The picture after some steps at one size."""
        self._shape, begun, self._size_done = picture.shape, time.monotonic(), self.done

        def function(x):
            if self._stop.asked and self._count:
                raise _StoppedError
            answer = problem(x)
            self._count += 1
            # The first look is where frameworks trace and compile.
            if self._count == 1:
                phases["compile_s"] = time.monotonic() - begun
            return answer

        def after(step, x, terms):
            self.done, self.terms = self._size_done + step, terms
            self._last = x
            self._tell(x)
            return self._stop.asked

        self._last = style_problem.padded(picture)
        go = minimise.lbfgs if self._settings["optimizer"] == "lbfgs" else minimise.adam
        self._size_began = time.monotonic()
        with contextlib.suppress(_StoppedError):
            self._last = go(function, self._last, steps, self._settings["rate"], after)
        self.done = self._size_done + steps
        phases["train_s"] = phases.get("train_s", 0.0) + time.monotonic() - begun
        return np.clip(style_problem.cropped(self._last, *self._shape[:2]), 0, 255)

    def _tell(self, x):
        rows, columns = self._shape[:2]
        style, content, roughness = self.terms
        fields = {"loss": sum(self.terms), "style": style, "content": content, "roughness": roughness}
        row = dict(
            fields, step=self.done, height=rows, width=columns, seconds=round(time.monotonic() - self._began, 3)
        )
        self._rows.append(row)
        speed = (self.done - self._size_done) / max(1e-9, time.monotonic() - self._size_began)
        self._events.step(step=self.done, steps=self._all, items_per_s=speed, **fields)
        every = self._settings["every"]
        # L-BFGS does not tell of steps that led nowhere, so the very step may be missing.
        if every and self.done >= self._due:
            self._due = (self.done // every + 1) * every
            self._keep("steps/%05d.png" % self.done, style_problem.cropped(x, rows, columns))

    def end_of_size(self, number, picture):
        """Write ``losses.csv`` and the picture so far; a full disk is told and costs only what comes after."""
        self._keep("picture.png", picture)
        spent = time.monotonic() - self._size_began
        losses = dict(zip(("style", "content", "roughness"), self.terms), loss=sum(self.terms))
        size = {"size": "%dx%d" % (self._shape[1], self._shape[0]), "epochs": len(self._settings["sizes"])}
        speed = (self.done - self._size_done) / max(1e-9, spent)
        self._events.emit("epoch", epoch=number, epoch_s=spent, items_per_s=speed, **size, **losses)
        try:
            with open(os.path.join(self._folder, "losses.csv"), "w") as out:
                writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(self._rows)
        except OSError as error:
            self._told_full("losses.csv", error)

    def _keep(self, name, picture):
        if self.full:
            return
        try:
            png.write(os.path.join(self._folder, *name.split("/")), picture)
        except OSError as error:
            self._told_full(name, error)

    def _told_full(self, name, error):
        self.full = "%s cannot be written (%s)" % (name, error.strerror)
        self._events.emit("warning", message=self.full + ": no more pictures are kept")


class _StoppedError(Exception):
    """The user asked to stop; the last picture is kept."""

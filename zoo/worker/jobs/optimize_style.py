"""Transfer a style by optimizing the pixels of an image, coarse sizes first."""

import contextlib
import os
import time

import numpy as np

from zoo.models import compat
from zoo.models.features import network
from zoo.protocol.request import LayersPart
from zoo.worker import precision
from zoo.worker.errors import UserError
from zoo.worker.resample import resize
from zoo.worker.style import feature_model, memory_estimate, objective
from zoo.worker.style.checkpoints import StyleCheckpoints
from zoo.worker.training import optimizers

TERMS = ("style", "content", "roughness")


def run(request, events, stop, phases):
    """Optimize an image, one size after the other; write ``picture.png`` and ``steps/NNNNN.png`` in the run folder.

    The request's ``style`` part has the settings. A stop keeps the current image.
    """
    settings = request.style
    compat.seed(settings.seed)
    chosen = settings.features.replace(precision=precision.settle(settings.features.precision))
    layers = _layers(chosen, settings.layers)
    if request.device.device_kind != "gpu":  # the memory of a GPU is unknown
        shape = np.load(settings.sizes[-1].content, mmap_mode="r", allow_pickle=False).shape
        memory_estimate.check(chosen, *shape[:2])
    checkpoints = StyleCheckpoints(request.run_dir, settings.checkpoint_minutes, events, request.run_id)
    maker = _Maker(checkpoints, settings, events, stop)
    resumed = checkpoints.resumed() if request.resume else None

    def build(size, content):
        target = _target(chosen, layers, settings, size, objective.padded(content))
        return objective.build(chosen, layers, target, settings.strength)

    _descend(settings, maker, resumed or (None, 0, 0), build, phases)
    if checkpoints.full:
        raise UserError("%s; the last complete image is picture.png" % checkpoints.full)
    events.emit("artifact", kind="picture", path=os.path.join(request.run_dir, "picture.png"))
    metrics = dict(maker.losses(), steps=maker.done, layers=layers.to_json(), precision=chosen.precision)
    return {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}


def _descend(settings, maker, start, build, phases):
    """Optimize one size after the other; ``start`` is (image or None, index of the size, steps taken at it)."""
    picture, first, begun = start
    sizes, before, problem = settings.sizes, None, None
    maker.skip(sizes[:first])
    for number, size in list(enumerate(sizes))[first:]:
        began = time.monotonic()
        content = np.load(size.content, allow_pickle=False).astype(np.float32)
        if picture is None:
            picture = _start(settings, size, content)
        elif before is not None:  # add the scaled-up change of the smaller size to the larger content
            changed = resize(np.clip(picture, 0, 255) - before, *content.shape[:2])
            picture = np.clip(content + changed, 0, 255)
        elif picture.shape != content.shape:
            raise UserError("the checkpoint has an image of another size: %r" % (picture.shape,))
        before = content
        if begun >= size.steps:
            maker.skip([size])
        else:
            problem = None  # free the smaller one before the larger one is built
            problem = build(size, content)
            phases["build_s"] = phases.get("build_s", 0.0) + time.monotonic() - began
            picture = maker.optimise(problem, picture, number, size.steps, begun, phases)
        begun = 0
        if maker.ended():
            return


def _layers(chosen, wanted):
    """Return the requested layers, or the default layers of the network that the weights include."""
    available = feature_model.available_layers(chosen)
    module = network(chosen.network)
    missing = [name for name in wanted.style + wanted.content if name not in available]
    if missing:
        raise UserError("unknown layer %s; available layers: %s" % (", ".join(missing), ", ".join(available)))
    # If the weights end before the usual content layer, the last available layer is the nearest to it.
    style, content = (
        list(names or [name for name in usual if name in available] or available[-1:])
        for names, usual in ((wanted.style, module.STYLE), (wanted.content, module.CONTENT))
    )
    return LayersPart(style=style, content=content)


def _target(chosen, layers, settings, size, content):
    grams = []
    for path in size.styles:
        picture = objective.padded(np.load(path, allow_pickle=False).astype(np.float32))
        grams.append(objective.grams(chosen, layers.style, picture))
    masks = [None if path is None else _mask(path, content.shape) for path in size.masks]
    return objective.Target(content, grams, settings.shares, masks)


def _mask(path, shape):
    """Read a mask of 0..255; return it as 0..1 for the padded image, with 0 in the padding."""
    mask = np.load(path, allow_pickle=False).astype(np.float32) / 255.0
    padded = np.zeros(shape[:2], np.float32)
    objective.cropped(padded, *mask.shape)[:] = mask
    return padded


def _start(settings, size, content):
    if settings.start == "noise":
        random = np.random.RandomState(settings.seed)
        return (content.mean(axis=(0, 1)) + random.normal(0, 40, content.shape)).astype(np.float32)
    if settings.start == "picture":
        return np.load(size.start, allow_pickle=False).astype(np.float32)
    return content.copy()


class _Maker:
    """Minimizes the losses, and reports and saves intermediate results."""

    def __init__(self, checkpoints, settings, events, stop):
        self._checkpoints, self._settings, self._events, self._stop = checkpoints, settings, events, stop
        self._all = sum(size.steps for size in settings.sizes)
        self._began, self._shape, self._count = time.monotonic(), None, 0
        self.done, self.terms = 0, [float("nan")] * 3

    def skip(self, sizes):
        """Skip sizes that were completed before the run was interrupted."""
        self.done += sum(size.steps for size in sizes)
        if self._checkpoints.rows:
            self.terms = [self._checkpoints.rows[-1][name] for name in TERMS]

    def losses(self):
        return dict(zip(TERMS, self.terms), loss=sum(self.terms))

    def ended(self):
        return self._stop.asked or self._checkpoints.full

    def optimise(self, problem, picture, size, steps, begun, phases):
        """Return the image after the steps of one size, of which ``begun`` have already been taken; report them."""
        self._shape, started, before = picture.shape, time.monotonic(), self.done
        self._taken, self._last = begun, objective.padded(picture)
        self._due = (self.done + begun) // max(1, self._settings.every) * self._settings.every + 1

        def speed():
            return (self._taken - begun) / max(1e-9, time.monotonic() - started)

        def function(x):
            if self._stop.asked and self._count:
                raise _StoppedError
            answer = problem(x)
            self._count += 1
            # Frameworks trace and compile at the first evaluation.
            if self._count == 1:
                phases["compile_s"] = time.monotonic() - started
            return answer

        def after(step, x, terms):
            self._taken, self._last = begun + step, x
            self.done, self.terms = before + self._taken, terms
            self._tell(x, speed())
            if self._checkpoints.due():
                self._checkpoints.checkpoint(self._cropped(x), size, self._taken, self.done)
            return self._stop.asked

        go = optimizers.lbfgs if self._settings.optimizer == "lbfgs" else optimizers.adam
        with contextlib.suppress(_StoppedError):
            self._last = go(function, self._last, steps - begun, self._settings.rate, after)
        if not self._stop.asked:
            self._taken = steps
        self.done = before + self._taken
        phases["train_s"] = phases.get("train_s", 0.0) + time.monotonic() - started
        picture = self._cropped(self._last)
        self._checkpoints.checkpoint(picture, size, self._taken, self.done)
        about = {"size": "%dx%d" % (self._shape[1], self._shape[0]), "epochs": len(self._settings.sizes)}
        about.update(epoch=size + 1, epoch_s=time.monotonic() - started, items_per_s=speed())
        self._events.emit("epoch", **about, **self.losses())
        self._checkpoints.losses()
        return picture

    def _cropped(self, x):
        return np.clip(objective.cropped(x, *self._shape[:2]), 0, 255)

    def _tell(self, x, speed):
        rows, columns = self._shape[:2]
        fields = self.losses()
        seconds = round(time.monotonic() - self._began, 3)
        self._checkpoints.rows.append(dict(fields, step=self.done, height=rows, width=columns, seconds=seconds))
        self._events.step(step=self.done, steps=self._all, items_per_s=speed, **fields)
        every = self._settings.every
        # L-BFGS does not report steps without improvement, so the exact step may be missing.
        if every and self.done >= self._due:
            self._due = (self.done // every + 1) * every
            self._checkpoints.picture("steps/%05d.png" % self.done, objective.cropped(x, rows, columns))


class _StoppedError(Exception):
    """The user asked to stop; the last image is kept."""

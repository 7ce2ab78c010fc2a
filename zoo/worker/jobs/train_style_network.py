"""Train a feed-forward style network: Johnson et al. 2016, https://arxiv.org/abs/1603.08155, section 3.

The network learns to restyle random crops of photos. A frozen feature network compares the results with the content
of the photo and the Gram matrices of the painting. Each term is divided by the scale of these matrices, or of the
features of the first photos. Weights thus have a similar effect with every feature network.
"""

import math
import os
import time

import numpy as np

from zoo.models import compat
from zoo.models.compat import training_state
from zoo.models.layers import style_losses
from zoo.models.style_transfer import fast as network
from zoo.protocol import memory
from zoo.worker import distributed, precision, weights
from zoo.worker.errors import UserError
from zoo.worker.inference.tiles import to_pixels
from zoo.worker.input_queue import ArrayQueueReader
from zoo.worker.phases import timed
from zoo.worker.style import objective
from zoo.worker.style.feature_model import frozen
from zoo.worker.training.checkpoint_files import Checkpoints
from zoo.worker.training.schedules import learning_rate

TERMS = ("content", "style", "roughness")
# Weight of tones in the content loss. Without it dark woods turned white: features hardly depend on the tone.
TONE = 0.5
# A difference of half the color range between two neighbors, to the power that roughness uses.
_ROUGH = 127.5**2.5


def run(request, events, stop, phases):
    """Train for the requested steps, or until stopped; every report (``epoch`` event) writes the current weights.

    The request's ``train`` part has the settings, see :class:`zoo.protocol.request.StyleTrainPart`.
    """
    settings, began, group = request.train, time.monotonic(), distributed.current()
    distributed.require_divisible(settings.batch_size, group)
    compat.seed(settings.seed)
    size = settings.size
    model = network.build(compat, input_shape=(size, size, 3), **request.model.args)
    _start(model, request, settings)
    inbox = ArrayQueueReader(settings.inbox, stop, lambda: events.step(step=0, steps=settings.steps))
    path = inbox.next()
    if group.agree(path is None):
        return {"metrics": {}, "stopped": "interrupted"}
    sample = _read(path)
    group.agree(None)  # all have read it, so it may be removed
    terms = _terms(model, settings, sample)
    compat.compile_terms(terms, TERMS, settings.optimizer, settings.learning_rate)
    phases["build_s"] = time.monotonic() - began
    job = _Training(model, terms, request, events, phases, sample[:1])
    if request.resume:
        job.resume()
    job.run(path, inbox, stop)
    phases["wait_s"] = inbox.waited_s
    return {"metrics": job.last, "stopped": "interrupted" if stop.asked else None}


def _start(model, request, settings):
    """Fill the network with trained weights, or random weights whose first results have the painting's colors.

    With shift 0 and scale 1, many values are beyond white and black, where tanh has almost no gradient.
    """
    if request.weights:
        weights.load(model, request.weights)
        return
    weights.initialise(model, settings.seed)
    mean, spread = network.range_of(_read(settings.painting))
    model.get_layer("output_norm").set_weights([mean, spread])


class _Training:
    def __init__(self, model, terms, request, events, phases, sample):
        self._model, self._terms, self._events, self._phases, self._sample = model, terms, events, phases, sample
        self._settings, self._folder = request.train, request.run_dir
        self._files = Checkpoints(self._folder, keep=1, run_id=request.run_id)
        self._saved = time.monotonic()
        self._done, self._kept, self.last = 0, 0, {}
        self._group = distributed.current()
        self._group.unite(terms)

    def resume(self):
        """Continue from the newest checkpoint of a resumed run; completed batches are skipped."""
        checkpoint = self._files.load(self._warn)
        if checkpoint is None:
            self._warn("No complete checkpoint: the training starts from the beginning")
            return
        arrays, state = checkpoint
        try:
            if state["stack"] == compat.stack():
                training_state.restore(self._model, self._terms, arrays)
            else:
                training_state.restore_weights(self._model, arrays)
                self._warn("Resuming on another stack: the optimizer is reset")
            self._done = int(state["step"])
        except (ValueError, KeyError, TypeError) as error:
            raise UserError("the run cannot be resumed from its checkpoint: %s" % error) from error
        self._events.emit("resume", epoch=self._done // self._settings.report, step=self._done, done=self._done)

    def _keep(self, step):
        """Write a checkpoint; report a full disk and continue training."""
        self._saved = time.monotonic()
        if self._group.rank:
            return
        try:
            arrays = training_state.capture(self._model, self._terms)
            self._files.save(step, arrays, {"step": step, "stack": compat.stack()})
            self._kept = step
        except OSError as error:
            self._warn("Cannot write a checkpoint: %s" % (error.strerror or error))

    def _warn(self, words):
        self._events.emit("warning", message=words)

    def run(self, path, inbox, stop):
        """Train on one batch after the other, until the last one or until stopped."""
        settings, values, began, first = self._settings, [], time.monotonic(), 1
        if self._group.rank and self._done:  # the first process removes batches of earlier steps
            inbox.index, first = self._done - 1, self._done + 1
            path = inbox.next()
        for step in range(first, settings.steps + 1):
            is_new = step > self._done
            if is_new:
                rate = learning_rate(settings, step - 1, settings.steps)
                values.append(self._step(self._share(path), rate, step))
                self._show(step, values, began)
                is_late = time.monotonic() - self._saved >= 60 * settings.checkpoint_minutes
                is_due = self._group.after_step(is_late)
            if self._group.rank == 0:  # all have read it, because no process ends a step before all have started it
                os.remove(path)
            self._events.emit("artifact", kind="batch", path=path)
            is_last = step == settings.steps or stop.asked
            if is_new and (is_due or is_last):
                self._keep(step)
            if values and (is_last or step % settings.report == 0):
                self._report(step, values, rate, time.monotonic() - began)
                values, began = [], time.monotonic()
            path = None if is_last else inbox.next()
            if path is None:
                break
        if values:
            self._report(step, values, rate, time.monotonic() - began)
        if step > max(self._done, self._kept):  # stopped while waiting for a batch
            self._keep(step)

    def _share(self, path):
        batch = np.load(path, mmap_mode="r", allow_pickle=False)
        begin, end = self._group.bounds(len(batch))
        return distributed.ShareOfBatch([np.array(batch[begin:end], np.float32)], begin, len(batch))

    def _step(self, share, rate, step):
        (batch,) = share
        self._group.enter(share)
        compat.set_learning_rate(self._terms, rate)
        # The first step compiles.
        with timed(self._phases, "train_s" if "compile_s" in self._phases else "compile_s"):
            values = compat.train_terms(self._terms, TERMS, batch)
        if not all(math.isfinite(value) for value in values):
            words = "the loss became %s at step %d; a lower learning_rate than %g usually helps"
            raise FloatingPointError(words % (values[0], step, self._settings.learning_rate))
        return values

    def _show(self, step, values, began):
        losses = dict(zip(("loss", *TERMS), np.mean(values, axis=0)))
        speed = len(values) * self._settings.batch_size / max(1e-9, time.monotonic() - began)
        self._events.step(step=step, steps=self._settings.steps, items_per_s=speed, **losses)

    def _report(self, step, values, rate, took):
        """Write the weights and a sample, and report the mean losses since the last report."""
        means, steps = np.mean(values, axis=0), len(values)
        self.last = dict(zip(("loss", *TERMS), (float(value) for value in means)), step=step)
        if self._group.rank:
            return
        weights.save(self._model, os.path.join(self._folder, "weights.npz"))
        record = dict(self.last, learning_rate=rate, peak_memory_bytes=memory.peak_bytes())
        record.update(epoch=-(-step // self._settings.report), epoch_s=took, steps=steps)
        record["items_per_s"] = steps * self._settings.batch_size / max(1e-9, took)
        total = -(-self._settings.steps // self._settings.report)
        self._events.emit("epoch", epochs=total, best=True, **record)
        sample = os.path.join(self._folder, "sample_%06d.npy" % step)
        both = np.concatenate([self._sample, compat.outputs(self._model, self._sample)[0]], axis=2)
        np.save(sample, to_pixels(both[0]), allow_pickle=False)
        self._events.emit("artifact", kind="sample", path=sample, step=step)


def _read(path):
    return np.load(path, allow_pickle=False).astype(np.float32)


def _terms(model, settings, sample):
    """Return the model to train, from photos to the loss and its terms, (batch, 4); only the style network learns."""
    chosen, wanted, size = settings.features, settings.layers, settings.size
    chosen.precision = precision.settle(chosen.precision)
    layers = [*wanted.style, *(name for name in wanted.content if name not in wanted.style)]
    judge = frozen(chosen, layers, (size, size, 3))
    photo, restyled = model.inputs[0], model.outputs[0]
    seen = dict(zip(layers, compat.as_list(judge(restyled))))
    content = _content(judge, layers, wanted.content, (photo, restyled), seen, sample)
    grams = objective.grams(chosen, wanted.style, _read(settings.painting))
    style = _style(wanted.style, grams, seen)
    variation = style_losses.total_variation(compat, restyled)
    rough = style_losses.weighted_sum(compat, [variation], [1 / (3.0 * size * size * _ROUGH)], "roughness")
    weights = settings.strength
    terms, factors = [content, style, rough], [weights.content, weights.style, weights.total_variation]
    loss = style_losses.weighted_sum(compat, terms, factors, "loss")
    row = compat.keras.layers.Concatenate(name="terms")([loss, *terms])
    return compat.keras.models.Model(inputs=photo, outputs=row)


def _content(judge, layers, chosen, pictures, seen, sample):
    """Return the distance of the result's features and tones from the photo's: 0 if equal."""
    photo, restyled = pictures
    kept = compat.keras.models.Model(judge.inputs, [judge.outputs[layers.index(name)] for name in chosen])
    # NumPy sums bfloat16 in bfloat16, where sums stop growing after some hundred numbers.
    sizes = [float(np.square(each.astype(np.float32)).mean()) for each in compat.outputs(kept, sample)]
    wanted = compat.as_list(kept(photo))
    parts, factors = [], []
    for name, target, size in zip(chosen, wanted, sizes):
        parts.append(style_losses.squared_distance(compat, seen[name], target))
        factors.append(1.0 / (len(chosen) * max(size, 1e-12) * np.prod(compat.static_shape(target)[1:])))
    parts.append(style_losses.tone_distance(compat, restyled, photo))
    return style_losses.weighted_sum(compat, parts, [*factors, TONE], "content")


def _style(names, targets, seen):
    """Return the distance of the result's Gram matrices from the painting's: 0 if equal, 1 for a gray image.

    ``targets`` are the painting's, (channels, channels) for each of the layers ``names``.
    """
    grams = [style_losses.gram_matrix(compat, seen[name]) for name in names]
    rows = zip(grams, targets, grams, ["painting_" + name for name in names])
    factors = [objective.inverse(target) / len(names) for target in targets]
    return style_losses.weighted_sum(compat, [objective.distance(*row) for row in rows], factors, "style")

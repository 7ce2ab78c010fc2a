"""Train an image classifier from random weights, or from existing weights in stages."""

import os
import shutil
import tempfile

import numpy as np

from zoo.models import compat
from zoo.worker import endings, weights
from zoo.worker.errors import UserError
from zoo.worker.inference.features import unknown_layer
from zoo.worker.model import build
from zoo.worker.training import evaluation, feature_extraction, image_batches, linear_probe
from zoo.worker.training.augment import make_augmenter
from zoo.worker.training.checkpointing import Checkpointer
from zoo.worker.training.equal_batches import tell_if_raised
from zoo.worker.training.finish import evaluate_best, save
from zoo.worker.training.loop import fit
from zoo.worker.training.run import Run
from zoo.worker.training.setup import load_weights, settled_precision
from zoo.worker.training.state import ProgressiveFreezing, Stage


def run(request, events, stop, phases):
    """Train, keep the best weights, and evaluate them once on the held-out data.

    Uses the request's ``train``, ``fine_tune``, ``freeze``, ``weights`` and ``data`` parts. A stop ends the training
    after the current step and keeps the result.
    """
    training = Run(request, events, stop, phases)
    settings, plan = training.settings, request.fine_tune
    compat.seed(settings.seed)
    with training.timed("build_s"):
        model, preprocess = build_and_fill(training)
        frozen = _frozen(model, plan)
        leaving = _before(model, request.freeze.before, "freeze.before")
    parts, checkpointer = image_batches.parts(request.data), Checkpointer(model, training)
    tell_if_raised(training, len(parts["train"]))
    stages = _Stages(training, model, preprocess, parts, checkpointer)
    epochs = stages.train_head() if plan and plan.head_epochs else 0
    if settings.epochs and not stop.asked:
        epochs += stages.train_rest(frozen, leaving, epochs)

    def evaluate():
        name = "test" if len(parts["test"]) else "validation"
        if not len(parts[name]):
            return {}

        def judged(part):
            size, group = settings.batch_size, training.group
            return evaluation.evaluate(model, preprocess, part, size, group, training.target)

        return evaluation.keep(training, name, parts[name], parts["validation"], judged)

    results = evaluate_best(model, checkpointer, training, evaluate)
    results.update(epochs=epochs, precision=settings.precision)
    compat.freeze(model, set())
    return dict(save(model, training, results), linear_probe=checkpointer.probe)


def build_and_fill(training):
    """Build the model with random or given initial weights; return it and its preprocessing of pixels."""
    request, settings = training.request, training.settings
    try:
        settings.precision = settled_precision(training)
        compat.set_precision(settings.precision)
    except ValueError as error:
        raise UserError("trainer.precision: %s" % error) from error
    model, preprocess = build(request)
    # A user's own model has its own initial weights, and published ones are already loaded.
    if request.model.file is None and request.model.args.get("weights") != "imagenet":
        weights.initialise(model, settings.seed)
    load_weights(training, model)
    return model, preprocess


def _frozen(model, plan):
    """Return the layers that stay frozen after head training: layers before ``unfreeze_from``, and normalization."""
    frozen = _before(model, plan and plan.unfreeze_from, "fine_tune.unfreeze_from")
    if plan and plan.unfreeze_share is not None:
        names = [layer.name for layer in model.layers]
        frozen |= set(names[: round((1 - plan.unfreeze_share) * len(names))])
    return frozen | set(compat.batch_norm_names(model)) if plan and plan.freeze_normalization else frozen


def _before(model, wanted, key):
    """Return the names of the layers before the layer that a setting names; empty without a setting."""
    names = [layer.name for layer in model.layers]
    wanted = wanted or names[0]
    if wanted not in names:
        raise unknown_layer(wanted, key, names)
    return set(names[: names.index(wanted)])


class _Stages:
    """The stages of a training run: first only the last layer, if requested, and then the rest."""

    def __init__(self, training, model, preprocess, parts, checkpointer):
        self._training, self._model, self._preprocess = training, model, preprocess
        self._parts, self._checkpointer = parts, checkpointer
        self._plan, self._data = training.request.fine_tune, training.request.data
        self._last = training.settings.epochs + (self._plan.head_epochs if self._plan else 0)

    def train_head(self):
        """Train the last layer on the features of the unaugmented images; return the number of epochs."""
        done = self._checkpointer.finished(1)
        if done is not None:  # before the interruption
            return done
        trunk, head, name = feature_extraction.split_at_head(self._model)
        rate = self._plan.head_learning_rate
        settings = self._training.settings.replace(epochs=self._plan.head_epochs, learning_rate=rate)
        group = self._training.group
        scratch = tempfile.mkdtemp(prefix=".features-", dir=self._training.folder) if group.rank == 0 else None
        scratch = group.agree(scratch)
        try:
            with self._training.timed("features_s"):
                parts = {part: self._features(trunk, part, scratch) for part in ("train", "validation")}
            if self._training.stop.asked:
                return 0
            compile_model(head, settings, self._training.target)
            batches = self._batches(parts, lambda rows: rows)
            few = 0 < len(parts["train"]) <= self._plan.probe and len(parts["validation"])
            if few and not self._training.target and not self._checkpointer.goes_on():
                with self._training.timed("linear_probe_s"):
                    self._offer_probe(head, self._model.get_layer(name), batches, **parts)
            stage = Stage(settings, last=self._last, number=self._number(1))
            return self._fit(head, batches, stage, "only the last layer learns")
        finally:
            if group.rank == 0:
                shutil.rmtree(scratch)

    def _features(self, trunk, name, folder):
        path, size = os.path.join(folder, name + ".npy"), self._training.settings.batch_size
        part, stop = self._parts[name], self._training.stop
        return feature_extraction.features(trunk, self._preprocess, part, size, path, stop, self._training.group)

    def _offer_probe(self, head, layer, batches, train, validation):
        """Fit the last layer by :mod:`linear_probe`, and offer it as the result of epoch 0.

        Its figures are of a fit without the validation images. With a test part, the kept fit also uses these.
        """
        labels, classes = np.concatenate([train.labels, validation.labels]), self._data.classes
        features = np.concatenate([train.rows[:], validation.rows[:]]).reshape(len(labels), -1)
        before = layer.get_weights()
        if [array.size for array in before] != [features.shape[1] * classes, classes]:
            return  # not a dense layer with a bias
        weights = image_batches.class_weights(labels, classes) if self._data.balance else np.ones(classes)
        probe = linear_probe.Probe(features, labels, classes, weights[labels])
        strength, known = probe.choose(), np.arange(len(labels)) < len(train)
        layer.set_weights(_shaped(probe.fit(strength, known), before))
        record = dict(batches.evaluate(head), epoch=0)
        if len(self._parts["test"]):
            layer.set_weights(_shaped(probe.fit(strength, np.ones_like(known)), before))
        self._checkpointer.consider(record)
        layer.set_weights(before)

    def train_rest(self, frozen, leaving, before):
        """Train all but the frozen layers, after ``before`` epochs; return the number of epochs.

        The layers in ``leaving`` are frozen after a share of the steps.
        """
        settings = self._training.settings

        def prepare(left):
            model = compat.freeze(self._model, frozen | leaving if left else frozen)
            compile_model(model, settings, self._training.target)
            return model

        share = self._training.request.freeze.after
        freezing = ProgressiveFreezing(share, prepare) if leaving - frozen else None
        augment = self._data.augment
        batches = self._batches(self._parts, self._preprocess, make_augmenter(augment), augment.mixup)
        places = {"first": before + 1, "last": self._last, "number": self._number(2)}
        stage = Stage(settings, freezing=freezing, whole=self._model, **places)
        learning = next(layer.name for layer in self._model.layers if layer.weights and layer.name not in frozen)
        return self._fit(prepare(False), batches, stage, "the layers from %s on learn" % learning)

    def _number(self, number):
        return number if self._plan and self._plan.head_epochs and self._training.settings.epochs else None

    def _fit(self, model, batches, stage, what):
        if stage.number:
            known = {"stage": stage.number, "epoch": stage.first, "epochs": stage.last}
            self._training.events.emit("stage", what=what, learning_rate=stage.settings.learning_rate, **known)
        return fit(model, batches, stage, self._checkpointer, self._training)

    def _batches(self, parts, preprocess, augment=None, mixup=0.0):
        run, data = self._training, self._data
        more = augment, data.balance, mixup, run.group, run.target
        return image_batches.ImageBatches(parts, preprocess, run.settings, data.classes, *more).place(run)


def _shaped(arrays, like):
    return [array.reshape(other.shape) for array, other in zip(arrays, like)]


def compile_model(model, settings, target=None):
    """Compile a network with the configured optimizer; raise ValueError if the stack does not have it."""
    more = {"loss": endings.loss(target), "beta_2": settings.beta_2}
    compat.compile_classifier(model, settings.optimizer, settings.learning_rate, settings.jit, **more)

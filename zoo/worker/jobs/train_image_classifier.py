"""Training a classifier of pictures: from random weights, or from others' in stages."""

import difflib
import os
import shutil
import tempfile
import time

import numpy as np

from zoo.models import compat
from zoo.worker import precision, weights
from zoo.worker.errors import RefusalError
from zoo.worker.model import build
from zoo.worker.training import evaluation, feature_extraction, image_batches
from zoo.worker.training.augment import altering
from zoo.worker.training.loop import Keeper, Narrowing, fit
from zoo.worker.training.setup import save_all


def run(request, events, stop, phases):
    """Train, keep the best weights, evaluate once on what was set aside.

    Args:
        request: the request; its ``train``, ``fine_tune``, ``freeze``, ``weights`` and ``data`` parts are used here.
        events: where to report.
        stop: when asked to, training ends after the step in hand and what was learnt is kept.
        phases: seconds by phase, filled in.

    Returns:
        The fields of the ``done`` event: ``metrics`` and ``stopped``.

    Raises:
        FloatingPointError: the loss is no longer a number.
        RefusalError: the model cannot be built, trained or filled as asked.
    """
    settings, folder = request["train"], request["run_dir"]
    compat.seed(settings["seed"])
    began = time.monotonic()
    model, preprocess = _model(request, events)
    frozen = _frozen(model, request["fine_tune"])
    leaving = _before(model, request["freeze"]["before"], "freeze.before")
    phases["build_s"] = time.monotonic() - began
    parts, keeper = image_batches.parts(request["data"]), Keeper(model, folder)
    keeper.begin(settings, events, phases)
    training = _Training(request, model, preprocess, parts, keeper, events, stop, phases)
    epochs = training.head() if request["fine_tune"] and request["fine_tune"]["head_epochs"] else 0
    if settings["epochs"] and not stop.asked:
        epochs += training.all_but(frozen, leaving, epochs)
    keeper.restore_best()
    metrics = dict(
        keeper.best or {}, epochs=epochs, parameters=int(model.count_params()), precision=settings["precision"]
    )
    if not stop.asked or stop.reason == "max_minutes":
        began = time.monotonic()
        metrics.update(_judge(model, preprocess, parts, settings["batch_size"], folder, events))
        phases["evaluate_s"] = phases.get("evaluate_s", 0.0) + time.monotonic() - began
    compat.freeze(model, set())
    save_all(model, folder, events)
    return {"metrics": metrics, "stopped": stop.reason if stop.asked else None}


def _model(request, events):
    """Build the model and fill it: with random numbers, then with the weights to start from."""
    settings = request["train"]
    try:
        settings["precision"] = precision.policy(settings["precision"], request["device"]["promise"])
        compat.set_precision(settings["precision"])
    except ValueError as error:
        raise RefusalError("trainer.precision: %s" % error) from error
    model, preprocess = build(request)
    weights.initialise(model, settings["seed"])
    if request["weights"]:
        last = feature_extraction.name_of(model)
        if weights.load_but_head(model, request["weights"], last, request.get("weights_hint", "")):
            message = "The last layer, %s, is new: it tells %d classes apart, and the weights are for others"
            events.emit("warning", message=message % (last, request["data"]["classes"]))
    return model, preprocess


def _frozen(model, plan):
    """Names of the layers that do not learn after the head did: those before ``unfreeze_from``, and normalisation."""
    frozen = _before(model, plan and plan["unfreeze_from"], "fine_tune.unfreeze_from")
    return frozen | set(compat.batch_norm_names(model)) if plan and plan["freeze_normalization"] else frozen


def _before(model, wanted, key):
    """Names of the layers before the one that a setting names; none where it names none."""
    names = [layer.name for layer in model.layers]
    wanted = wanted or names[0]
    if wanted not in names:
        near = difflib.get_close_matches(wanted, names, 1, 0.5)
        raise RefusalError(
            "the model has no layer %r (%s)%s; its layers are %s"
            % (wanted, key, "; did you mean %r?" % near[0] if near else "", ", ".join(names))
        )
    return set(names[: names.index(wanted)])


class _Training:
    """What the stages of a training have in common."""

    def __init__(self, request, model, preprocess, parts, keeper, events, stop, phases):
        self._settings, self._plan, self._data = request["train"], request["fine_tune"], request["data"]
        self._leave_after = request["freeze"]["after"]
        self._model, self._preprocess, self._parts = model, preprocess, parts
        self._loop = {"keeper": keeper, "events": events, "stop": stop, "phases": phases}
        self._last = self._settings["epochs"] + (self._plan["head_epochs"] if self._plan else 0)
        self._scratch = request["run_dir"]

    def head(self):
        """Train the last layer on the features of the pictures as they are; return the number of epochs."""
        done = self._loop["keeper"].finished(1)
        if done is not None:  # by the process that was cut off
            return done
        trunk, last, _ = feature_extraction.cut(self._model)
        settings = dict(self._settings, epochs=self._plan["head_epochs"])
        settings["learning_rate"] = self._plan["head_learning_rate"]
        scratch = tempfile.mkdtemp(prefix=".features-", dir=self._scratch)
        stop, phases, began = self._loop["stop"], self._loop["phases"], time.monotonic()
        try:
            seen = {
                name: feature_extraction.features(
                    trunk, self._preprocess, self._parts[name], settings["batch_size"],
                    os.path.join(scratch, name + ".npy"), stop,
                )
                for name in ("train", "validation")
            }  # fmt: skip
            phases["features_s"] = time.monotonic() - began
            if stop.asked:
                return 0
            _compile(last, settings)
            feed = self._feed(seen["train"], seen["validation"], _as_they_are, None)
            return fit(last, feed, settings, last=self._last, **self._loop)
        finally:
            shutil.rmtree(scratch)

    def all_but(self, frozen, leaving, before):
        """Train all layers but the frozen ones, after so many epochs; return the number of epochs.

        Those that leave do so after a share of the steps.
        """
        settings, parts = self._settings, self._parts

        def prepare(left):
            model = compat.freeze(self._model, frozen | leaving if left else frozen)
            _compile(model, settings)
            return model

        narrowing = Narrowing(self._leave_after, prepare) if leaving - frozen else None
        feed = self._feed(parts["train"], parts["validation"], self._preprocess, altering(self._data["augment"]))
        return fit(
            prepare(False), feed, settings, first=before + 1, last=self._last, narrowing=narrowing, **self._loop
        )

    def _feed(self, train, validation, preprocess, alter):
        data = self._data
        return image_batches.Feed(
            train, validation, preprocess, self._settings, data["classes"], alter, data["balance"]
        )


def _compile(model, settings):
    chosen = [settings[name] for name in ("optimizer", "learning_rate", "jit")]
    compat.compile_classifier(model, *chosen, beta_2=settings["beta_2"])


def _as_they_are(rows):
    return rows


def _judge(model, preprocess, parts, batch_size, folder, events):
    """Figures of the test part; what is needed to show the mistakes of it, or where there is none of validation."""
    name = "test" if len(parts["test"]) else "validation"
    if not len(parts[name]):
        return {}
    found = evaluation.judge(model, preprocess, parts[name], batch_size)
    path = os.path.join(folder, "judged_%s.npz" % name)
    np.savez(path, **found)
    events.emit("artifact", kind="judged", path=path)
    return evaluation.figures(found, "test_" if name == "test" else "val_")

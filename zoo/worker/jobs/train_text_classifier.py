"""Train a text classifier."""

import numpy as np

from zoo.worker import metrics
from zoo.worker.training import evaluation
from zoo.worker.training.checkpointing import Checkpointer
from zoo.worker.training.equal_batches import tell_if_raised
from zoo.worker.training.finish import evaluate_best, save
from zoo.worker.training.labelled_texts import TextBatches, predict_shared
from zoo.worker.training.loop import fit
from zoo.worker.training.run import Run
from zoo.worker.training.setup import build_and_compile
from zoo.worker.training.state import Stage
from zoo.worker.training.text_batches import open_texts


def run(request, events, stop, phases):
    """Train, keep the best weights, and evaluate them once on the test texts.

    Uses the request's ``train`` and ``data`` parts. A stop ends training after the current step and keeps the result.
    """
    training, data, arguments = Run(request, events, stop, phases), request.data, request.model.args
    model = build_and_compile(training)
    texts = open_texts(data, arguments["length"], arguments["fixed"])
    labels = np.load(data.labels, allow_pickle=False)
    with np.load(data.split, allow_pickle=False) as stored:
        split = {name: stored[name] for name in stored.files}
    checkpointer = Checkpointer(model, training)
    tell_if_raised(training, len(split["train"]))
    target = training.target
    batches = TextBatches(texts, labels, split, arguments["classes"], training.settings, training.group, target)
    if data.linear and not checkpointer.goes_on():
        _offer_linear(model, data.linear, batches, checkpointer)
    fit(model, batches, Stage(training.settings), checkpointer, training)

    def evaluate():
        size, group = training.settings.batch_size, training.group

        def judged(chosen):
            return metrics.judged(target, predict_shared(model, texts, chosen, size, group), labels[chosen])

        return evaluation.keep(training, "test", split["test"], split["validation"], judged)

    results = evaluate_best(model, checkpointer, training, evaluate)
    results["precision"] = training.settings.precision
    return dict(save(model, training, results), linear_probe=checkpointer.probe)


def _offer_linear(model, path, batches, checkpointer):
    """Start the linear classifier as the host has fitted it, and offer it as the result of epoch 0.

    Its figures are of a fit without the validation texts. With a test part, the kept fit also uses these. A fit with
    gains is not offered: training improves it.
    """
    pairs, last = model.get_layer("pairs"), model.get_layer("predictions")
    vocabulary, buckets, classes = (pairs.settings[name] for name in ("vocabulary", "buckets", "classes"))
    with np.load(path, allow_pickle=False) as stored:
        fitted = {name: stored[name] for name in stored.files}
    ratios = np.zeros((vocabulary + buckets, classes), np.float32)

    def start(kind):
        ratios[fitted["features"]] = fitted[kind + "weights"]
        pairs.start(
            ratios, fitted.get("gains", np.ones(len(ratios))), fitted["stems"] if len(fitted["stems"]) else None
        )
        # Random outputs of the encoder would hide what the linear classifier has learned.
        last.set_weights([np.zeros_like(values) for values in last.get_weights()[:-1]] + [fitted[kind + "bias"]])

    start("")
    record = {} if "gains" in fitted else dict(batches.evaluate(model), epoch=0)
    if "val_loss" in record:
        if "final_weights" in fitted:
            start("final_")
        checkpointer.consider(record)
        start("")

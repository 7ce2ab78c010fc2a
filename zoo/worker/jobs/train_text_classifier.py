"""Train a text classifier."""

import numpy as np

from zoo.models import logistic_regression
from zoo.protocol import text_features, word_parts
from zoo.protocol.targets import CLASSES, LABELS, NUMBER
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

# Weight of parts of words relative to other features.
PART_WEIGHT = 0.7
# Texts with the mean of all numbers that are added to those with a feature, so that rare features count little.
UNKNOWN_TEXTS = 20.0


def run(request, events, stop, phases):
    """Train, keep the best weights, and evaluate them once on the test texts.

    Uses the request's ``train`` and ``data`` parts, and ``pieces``, the text of each token. A stop ends training
    after the current step and keeps the result.
    """
    training, data, arguments = Run(request, events, stop, phases), request.data, request.model.args
    model = build_and_compile(training)
    texts = open_texts(data, arguments["length"], arguments["fixed"])
    labels = np.load(data.labels, allow_pickle=False)
    with np.load(data.split, allow_pickle=False) as stored:
        split = {name: stored[name] for name in stored.files}
    checkpointer = Checkpointer(model, training)
    begins = arguments.get("pair_buckets") and not (request.weights or checkpointer.goes_on() or request.calibration)
    if begins and not data.linear:
        with training.timed("fit_linear_s"):
            _fit_linear(model, texts, labels, split["train"], request.pieces, training.target)
    tell_if_raised(training, len(split["train"]))
    target = training.target
    batches = TextBatches(texts, labels, split, arguments["classes"], training.settings, training.group, target)
    if begins and data.linear:
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


def _start_outputs(model, ratios, gains, stems, bias):
    """Set the linear classifier of a model, and the last layer of the encoder to a bias, (classes,).

    Its kernel starts at zero: random outputs would hide what the linear classifier has learned.
    """
    last = model.get_layer("predictions")
    model.get_layer("pairs").start(ratios, gains, stems)
    last.set_weights([np.zeros_like(values) for values in last.get_weights()[:-1]] + [bias])


def _fit_linear(model, texts, labels, chosen, pieces, target):
    """Fit the linear classifier of a model, on tokens and their combinations, to some texts."""
    layer = model.get_layer("pairs")
    vocabulary, buckets, classes = (layer.settings[name] for name in ("vocabulary", "buckets", "classes"))
    stems = parts = None
    if layer.settings["spelling"]:
        words = word_parts.words_of(pieces)
        stems, parts = word_parts.stems(words), word_parts.Parts(words)

    kinds = text_features.KINDS if stems is None else text_features.KINDS_WITH_STEMS
    features = kinds * int(texts.sizes[chosen].sum()) * max(1, classes - 1)
    share, fitted = -(-features // logistic_regression.MOST_FEATURES), []

    def batches():
        # Texts of similar length need little padding; the sample in ``fitted`` has texts of all lengths.
        order = chosen[np.argsort(texts.sizes[chosen], kind="stable")]
        for begin in range(0, len(order), text_features.TOGETHER):
            part = order[begin : begin + text_features.TOGETHER]
            rows = text_features.features(texts.batch(part), stems, vocabulary, buckets)
            fitted.append((logistic_regression.compact(rows[::share]), labels[part[::share]]))
            yield rows, labels[part]

    start, kind = _start(target, labels[chosen])
    if target:  # the last column counts all texts
        labels = np.concatenate([metrics.encoded(target, labels), np.ones((len(labels), 1), np.float32)], axis=1)
    counts = text_features.counts(batches(), vocabulary + buckets, classes + bool(target))
    ratios = _ratios(counts, kind)
    if parts:
        of_parts = np.stack([parts.sum_by_part(column) for column in counts[:vocabulary].T], axis=1)
        ratios = np.concatenate([ratios, PART_WEIGHT * _ratios(of_parts, kind)])
    del counts  # with many classes it takes gigabytes
    compacted, known = zip(*fitted)
    known = np.concatenate(known)
    gains = logistic_regression.gains(compacted, ratios, known[:, :-1] if target else known, parts, kind, start)
    if parts:
        ratios, gains = _folded(ratios, gains, parts, vocabulary + buckets)
    _start_outputs(model, ratios, gains, stems, start + np.zeros(classes))


def _offer_linear(model, path, batches, checkpointer):
    """Start the linear classifier as the host has fitted it, and offer it as the result of epoch 0.

    Its figures are of a fit without the validation texts. With a test part, the kept fit also uses these.
    """
    layer = model.get_layer("pairs")
    vocabulary, buckets, classes = (layer.settings[name] for name in ("vocabulary", "buckets", "classes"))
    with np.load(path, allow_pickle=False) as stored:
        fitted = {name: stored[name] for name in stored.files}
    ratios = np.zeros((vocabulary + buckets, classes), np.float32)

    def start(kind):
        ratios[fitted["features"]] = fitted[kind + "weights"]
        stems = fitted["stems"] if layer.settings["spelling"] else None
        _start_outputs(model, ratios, np.ones(len(ratios)), stems, fitted[kind + "bias"])

    start("")
    record = dict(batches.evaluate(model), epoch=0)
    if "val_loss" in record:
        if "final_weights" in fitted:
            start("final_")
        checkpointer.consider(record)
        start("")


def _start(target, labels):
    """Return the outputs for a text without features, and the kind of target."""
    if target is None or target.kind == NUMBER:
        return 0.0, target.kind if target else CLASSES
    shares = (labels.sum(axis=0) + 0.5) / (len(labels) + 1.0)
    return np.log(shares / (1 - shares)), target.kind


def _ratios(counts, kind):
    """Return the fixed factor of each feature and output: log-count ratios, or the mean of a number, shrunk to 0."""
    if kind == NUMBER:
        return (counts[:, :-1] / (counts[:, -1:] + UNKNOWN_TEXTS)).astype(np.float32)
    if kind == LABELS:
        return text_features.log_count_ratios(counts[:, :-1], counts[:, -1:])
    return text_features.log_count_ratios(counts)


def _folded(ratios, gains, parts, features):
    """Add the ratios of word parts to the tokens that contain them; return ratios and gains without parts."""
    of_parts = ratios[features:] * gains[features:, np.newaxis]
    ratios, gains = ratios[:features].copy(), gains[:features].copy()
    ratios[: parts.words] *= gains[: parts.words, np.newaxis]
    ratios[: parts.words] += np.stack([parts.sum_by_word(column) for column in of_parts.T], axis=1)
    gains[: parts.words] = 1
    return ratios, gains

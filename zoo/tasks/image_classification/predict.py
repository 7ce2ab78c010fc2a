"""Run a trained classifier on a user's own images, or on the test set of its data."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig, InferConfig
from zoo.config.schemas.common import TestData
from zoo.config.schemas.image_classification import DataSettings, TrainConfig
from zoo.config.tasks import Command
from zoo.core import csv_files
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError
from zoo.data import training_set
from zoo.data.images import unknown_kinds
from zoo.data.training_set import TrainingSet
from zoo.environments.machine import Machine
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.events import DoneEvent
from zoo.protocol.request import FeaturesPart, InferPart, ItemData
from zoo.protocol.targets import CLASSES, USUAL
from zoo.runs import records, tables
from zoo.runs.context import RunContext, create_context
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import target_analysis, trained_run
from zoo.tasks.image_classification import photo_stream, predict_photos, source, summary
from zoo.tasks.image_classification.predict_photos import Classifier
from zoo.tasks.image_classification.prediction_writer import FeatureNames
from zoo.tasks.image_classification.source.run import TrainedRun

# Copy of the predicted images, next to the predictions.
INPUTS = "inputs.npy"
OF_PHOTOS = ("resize", "sheets", "top", "probabilities")
OF_TEST = ("data.root", "data.test_limit")


NEEDED_FOR_ARRAYS = {"config.model.name": str, "config.data.name": str, "data.name": str, "data.sha256": str,
           "data.input_shape": list}  # fmt: skip


def infer(overrides: Overrides) -> Run:
    refuse_video(overrides.get("input"))
    origin = source.find(INFER, overrides)
    if not isinstance(origin, TrainedRun) or _sees_photos(origin, overrides.get("input")):
        context = create_context(INFER, overrides)
        context.refuse_needless(f"with input={context.settings.input}", *OF_TEST)
        return predict_photos.predict(context, origin.classifier(context))
    run = origin.run
    records.require(run.folder, run.record, NEEDED_FOR_ARRAYS)
    context = create_context(INFER, overrides)
    refuse_for_arrays(context)
    if context.settings.input != "test":
        context.refuse_needless(f"with input={context.settings.input}", *OF_TEST)
    inputs, classifier = _inputs(context.settings, origin), origin.classifier()
    with predict_photos.recorded(context, classifier):
        context.record.data, labels = inputs.record, None
        csv_files.write_skipped(context.folder / "skipped.csv", inputs.record.get("skipped", []))
        if inputs.labels is not None:
            labels = str(context.folder / "labels.npy")
            np.save(labels, inputs.labels, allow_pickle=False)
        done, outputs = predict_all(context, classifier, inputs, labels, predict_photos.features_of(context))
        if done and done.features:
            context.record.features = done.features
            with FeatureNames(context.folder) as rows:
                for each in inputs.names[: done.metrics["items"]]:
                    rows.add(each)
        if classifier.kind != CLASSES and inputs.labels is not None and len(outputs):
            context.record.metrics |= judged(classifier, outputs, inputs.labels).metrics("test_")
    return context.result


def opened(overrides: Overrides) -> tuple[RunContext[InferConfig], predict_photos.Classifier, str | None]:
    """Open the classifier of ``run=`` or ``model=`` for images that arrive one by one; ignore ``input=``.

    Return the context, the network, and the style for :func:`zoo.data.images.grayscale.load`, None for color images.
    """
    overrides = overrides.with_("command", {"input": "-"})
    origin = source.find(INFER, overrides)
    context = create_context(INFER, overrides)
    style = origin.style if isinstance(origin, TrainedRun) and origin.shape[2] == 1 else None
    classifier = origin.classifier(context)
    classifier.refuse_needless(context)
    return context, classifier, style


def refuse_video(source: str | None) -> None:
    moving = unknown_kinds.moving(source) if source else None
    if moving:
        raise ZooError(f"{moving[0]}: videos and cameras are not supported", moving[1])


def add_defaults(overrides: Overrides, here: Machine) -> Overrides:
    """Add the fastest backend for photos, or backend, stack and resizing of the run that ``run=`` names."""
    return source.add_defaults(INFER, overrides, here, lambda run: _sees_photos(run, overrides.get("input")))


@dataclass
class Inputs:
    """Small images predicted as one array: names, a function that writes them, labels or None, and the record."""

    names: list[str]
    save: Callable[[Path], None]
    labels: Any
    record: Json


def _sees_photos(run: TrainedRun, given: str | None) -> bool:
    """Return whether the images of ``input=`` are decoded in color, one at a time."""
    return run.is_of_photos and bool(given) and given != "test" and not str(given).endswith(".npy")


def _inputs(settings: InferConfig, origin: TrainedRun) -> Inputs:
    trained = origin.run.record["data"]
    if settings.input == "test":
        return test_set(origin.run, settings.data)
    from zoo.data.images import grayscale

    loaded = grayscale.load(str(settings.input), tuple(trained["input_shape"]), origin.style)
    skipped = [list(row) for row in loaded.skipped]
    record = {"name": str(settings.input), "items": len(loaded.names), "skipped": skipped}
    names = [photo_stream.shown(name) for name in loaded.names]
    return Inputs(names, loaded.save, None, record | {"class_names": trained["class_names"]})


def trained_on(run: Run, asked: TestData) -> TrainingSet:
    """Return the data of a run, with the requested number of test images."""
    trained = run.record["config"]
    given = {key: value for key, value in dataclasses.asdict(asked).items() if value is not None}
    data = DataSettings(**trained["data"] | given)
    material = training_set.prepare(TrainConfig(model=trained["model"], data=data, seed=trained["seed"]))
    trained_run.refuse_other_data(run, data.name, material.record["sha256"])
    return material


def test_set(run: Run, limits: TestData) -> Inputs:
    """Return the test part of a run's data, or the requested number of its images."""
    material = trained_on(run, limits)
    data = material.record
    rows = material.splits["test"]
    if not len(rows):
        raise ZooError(f"{run.folder} was trained without a test part", "Give an image or a folder: input=PATH")
    pixels, labels = training_set.part(material, "test")
    names = [material.names[row] if material.names else f"test[{row}]" for row in rows]
    record = {"name": data["name"], "items": len(rows), "sha256": data["sha256"]}
    record |= {"class_names": material.class_names}
    return Inputs(names, lambda path: np.save(path, pixels, allow_pickle=False), labels, record)


def refuse_for_arrays(context: RunContext[ClassifierConfig]) -> None:
    """Reject settings that have no effect on images predicted as one array, in float32."""
    settings = context.settings
    context.refuse_needless("on arrays, the test part of a run, and grayscale images", *OF_PHOTOS)
    if settings.precision != "float32":
        raise ZooError(
            f"precision={settings.precision} is supported only for color images in files",
            "Arrays, the test part of a run, and grayscale images are predicted in float32: remove precision=.",
        )


def predict_all(
    context: RunContext[ClassifierConfig], classifier: Classifier, inputs: Inputs, labels: str | None = None,
    features: FeaturesPart | None = None,
) -> "tuple[DoneEvent | None, NDArray[Any]]":  # fmt: skip
    """Let the worker predict small images in one array, and write ``predictions.csv``; return the outputs so far.

    ``labels`` is a file with the labels of all images; ``features`` requests features instead of predictions.
    """
    pixels = context.folder / INPUTS
    inputs.save(pixels)
    request = request_of(context, classifier.model, "predict", classifier.weights)
    request.data, request.features = ItemData(x=str(pixels), labels=labels), features
    request.infer = InferPart(batch_size=context.settings.batch_size or 128)
    outcome = execute(context, request)
    raise_if_failed(context, outcome)
    path = context.folder / "probabilities.npy"
    if not path.is_file():
        return outcome.done, np.empty((0, 0))
    outputs, how = np.load(path, allow_pickle=False), (classifier.kind, classifier.thresholds or ())
    names, table = inputs.names[: len(outputs)], context.folder / "predictions.csv"
    tables.write_predictions(table, names, classifier.classes, outputs, None, *how)
    return outcome.done, outputs


def judged(classifier: Classifier, outputs: "NDArray[Any]", truth: "NDArray[Any]") -> target_analysis.Judged:
    target = {"kind": classifier.kind, "mean": (classifier.model.get("target") or {}).get("mean")}
    limits = classifier.thresholds or [USUAL] * len(classifier.classes)
    return target_analysis.of_outputs(target, classifier.classes, limits, outputs, truth)


INFER = Command(
    "infer", "classify", "infer", InferConfig, infer,
    add_defaults=add_defaults, summary=summary.lines, tables=summary.tables,
)  # fmt: skip

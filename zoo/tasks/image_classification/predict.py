"""Run a trained classifier on a user's own images, or on the test set of its data."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig, InferConfig
from zoo.config.schemas.common import Settings, TestData
from zoo.config.schemas.image_classification import DataSettings, TrainConfig
from zoo.config.tasks import Command
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError
from zoo.data import training_set
from zoo.data.images import unknown_kinds
from zoo.data.training_set import TrainingSet
from zoo.environments.machine import Machine
from zoo.execution import worker_process
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.request import InferPart, ItemData, Request
from zoo.protocol.targets import CLASSES, USUAL
from zoo.runs import records, tables
from zoo.runs.context import RunContext, create_context
from zoo.runs.lifecycle import record_outcome, start_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import target_analysis, trained_run
from zoo.tasks.image_classification import feature_writer, predict_photos, source, summary
from zoo.tasks.image_classification.predict_photos import Classifier
from zoo.tasks.image_classification.source.run import TrainedRun

USUAL_BATCH = 128
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
    inputs = _inputs(context.settings, origin)
    name = origin.model["name"]
    start_run(context, ["infer", name, context.choice.backend.name])
    with record_outcome(context):
        context.record.model, context.record.trained_run = name, str(run.folder)
        context.record.data = inputs.record
        outcome = execute(context, _infer_request(context, run, inputs, origin.model))
        _keep_predictions(context, outcome, inputs, origin.classifier())
    return context.result


def opened(overrides: Overrides) -> tuple[RunContext[InferConfig], predict_photos.Classifier, str | None]:
    """Open the classifier of ``run=`` or ``model=`` for images that arrive one by one; ignore ``input=``.

    Return the context, the network, and the style for :func:`zoo.data.images.grayscale.load`, None for color images.
    """
    overrides = overrides.with_("command", {"input": "-"})
    origin = source.find(INFER, overrides)
    context = create_context(INFER, overrides)
    is_gray = isinstance(origin, TrainedRun) and origin.shape[2] == 1
    style = origin.style if isinstance(origin, TrainedRun) and is_gray else None
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
    return Inputs(loaded.names, loaded.save, None, record | {"class_names": trained["class_names"]})


def trained_on(run: Run, asked: TestData) -> TrainingSet:
    """Return the data of a run, with the requested number of test images."""
    trained = run.record["config"]
    data, model = DataSettings(**trained["data"]), trained["model"]
    given = {key: value for key, value in dataclasses.asdict(asked).items() if value is not None}
    data = dataclasses.replace(data, **given)
    material = training_set.prepare(TrainConfig(model=model, data=data, seed=trained["seed"]))
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

    def save(path: Path) -> None:
        np.save(path, pixels, allow_pickle=False)

    return Inputs(names, save, labels, record | {"class_names": material.class_names})


def refuse_for_arrays(context: RunContext[ClassifierConfig]) -> None:
    """Reject settings that have no effect on images predicted as one array, in float32."""
    settings = context.settings
    context.refuse_needless("on arrays, the test part of a run, and grayscale images", *OF_PHOTOS)
    if settings.precision != "float32":
        raise ZooError(
            f"precision={settings.precision} is supported only for color images in files",
            "Arrays, the test part of a run, and grayscale images are predicted in float32: remove precision=.",
        )


def _infer_request(context: RunContext[InferConfig], run: Run, inputs: Inputs, trained: Json) -> Request:
    # Copy the inputs to the run folder, next to the predictions.
    pixels, labels = context.folder / "inputs.npy", context.folder / "labels.npy"
    inputs.save(pixels)
    if inputs.labels is not None:
        np.save(labels, inputs.labels, allow_pickle=False)
    wanted = context.settings.wants_features
    request = request_of(context, trained, "predict", run.folder / "weights.npz")
    request.features = feature_writer.part(context.folder, context.settings.output.layer) if wanted else None
    request.data = ItemData(x=str(pixels), labels=None if inputs.labels is None else str(labels))
    request.infer = InferPart(batch_size=context.settings.batch_size or USUAL_BATCH)
    return request


def _keep_predictions(
    context: RunContext[Settings], outcome: worker_process.Outcome, inputs: Inputs, classifier: Classifier
) -> None:
    raise_if_failed(context, outcome)
    if outcome.done and outcome.done.features:
        context.record.update({"features": outcome.done.features})
        with feature_writer.FeatureNames(context.folder) as rows:
            for name in inputs.names[: outcome.done.metrics["items"]]:
                rows.add(name)
    path = context.folder / "probabilities.npy"
    if path.is_file():
        probabilities = np.load(path, allow_pickle=False)
        names = inputs.names[: len(probabilities)]
        write(context.folder, names, classifier, probabilities)
        if classifier.kind != CLASSES and inputs.labels is not None and len(names):
            context.record.metrics |= judged(classifier, probabilities, inputs.labels).metrics("test_")


def write(folder: Path, names: list[str], classifier: Classifier, outputs: "NDArray[Any]") -> None:
    """Write ``predictions.csv`` for items predicted as one array, (n, outputs)."""
    how = classifier.kind, classifier.thresholds or ()
    tables.write_predictions(folder / "predictions.csv", names, classifier.classes, outputs, None, *how)


def judged(classifier: Classifier, outputs: "NDArray[Any]", truth: "NDArray[Any]") -> target_analysis.Judged:
    target = {"kind": classifier.kind, "mean": (classifier.model.get("target") or {}).get("mean")}
    limits = classifier.thresholds or [USUAL] * len(classifier.classes)
    return target_analysis.of_outputs(target, classifier.classes, limits, outputs, truth)


INFER = Command(
    "infer",
    "classify",
    "infer",
    InferConfig,
    infer,
    add_defaults=add_defaults,
    summary=summary.lines,
    tables=summary.tables,
)

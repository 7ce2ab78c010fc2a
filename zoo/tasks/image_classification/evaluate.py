"""Evaluate a classifier on labeled images: top-1, top-5, metrics by class, confusion matrix, worst mistakes."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import EvaluateConfig, EvaluationData
from zoo.config.schemas.common import TestData
from zoo.config.tasks import Command
from zoo.core import console
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError, listed
from zoo.data.images import decode, labelled_folder, reading
from zoo.data.images.labelled_folder import LabelledFolder
from zoo.environments.machine import Machine
from zoo.protocol.targets import CLASSES, NUMBER
from zoo.runs.context import RunContext, create_context
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks.image_classification import (
    evaluation_data,
    evaluation_summary,
    photo_stream,
    predict,
    predict_photos,
    source,
)
from zoo.tasks.image_classification.error_analysis import Thumb
from zoo.tasks.image_classification.judging import Errors, Judging
from zoo.tasks.image_classification.photo_stream import Listed, Picture, Skipped
from zoo.tasks.image_classification.predict_photos import Classifier
from zoo.tasks.image_classification.source.run import TrainedRun
from zoo.weights import class_names

THUMB = 224


def evaluate(overrides: Overrides) -> Run:
    """Evaluate a trained run, or published weights, on labeled images."""
    predict.refuse_video(overrides.get("data.root"))
    origin = source.find(EVALUATE, overrides)
    context = create_context(EVALUATE, overrides)
    settings = context.settings
    if isinstance(origin, TrainedRun) and settings.uses_own_data:
        if given := [each.text for each in overrides if each.key.startswith("data") and each.key != "data.test_limit"]:
            raise ZooError(f"{given[0]} has no effect without data.root=", "Add data.root=DIR, or remove it.")
        inputs = predict.test_set(origin.run, TestData(test_limit=settings.data.test_limit))
        return _of_arrays(context, origin.classifier(), inputs)
    if settings.data.name not in ("folder", "image_table"):
        return _of_arrays(context, *evaluation_data.data_set(context, origin))
    if settings.data.name == "image_table":
        folder = labelled_folder.of_table(_reading(origin, settings.data))
    else:
        folder = labelled_folder.find(str(settings.data.root))
    if isinstance(origin, TrainedRun):
        evaluation_data.warn_of_own_images(origin.run, folder)
        if origin.shape[2] == 1:
            return _of_arrays(context, *evaluation_data.gray_folder(settings, origin, folder))
    return _of_folder(context, origin.classifier(context), folder)


def _reading(origin: source.Source, data: EvaluationData) -> EvaluationData:
    """Return how a table is read for a run: for what it predicts, and by default from the columns of its training."""
    if not isinstance(origin, TrainedRun):
        return data
    kind = origin.classifier().kind
    if data.target not in (None, kind):
        raise ZooError(f"{origin.run.folder} predicts {kind}, not {data.target}", "Remove data.target=.")
    if kind == CLASSES:
        return data
    usual = origin.run.record["config"]["data"].get("label_column")
    return dataclasses.replace(data, target=kind, label_column=data.label_column or usual)


def add_defaults(overrides: Overrides, here: Machine) -> Overrides:
    """Add the fastest backend for photos, or backend and stack of the run that ``run=`` names."""
    named = overrides.get("data.root") and overrides.get("data") in (None, "folder", "image_table")
    return source.add_defaults(EVALUATE, overrides, here, lambda run: bool(named) and run.is_of_photos)


def _of_folder(context: RunContext[EvaluateConfig], classifier: Classifier, folder: LabelledFolder) -> Run:
    shown = list(map(photo_stream.shown, folder.folders))
    if classifier.kind != CLASSES:
        labels = _truth(classifier, folder, shown)
    else:
        numbers = evaluation_data.class_numbers(folder, classifier)
        names = class_names.named_after(classifier.classes, folder.folders, numbers)
        classifier, labels = dataclasses.replace(classifier, classes=names), dict(zip(shown, numbers, strict=True))
    judging = _judging(classifier)
    limit = context.settings.data.test_limit
    count = min(sum(folder.counts), limit or sum(folder.counts))
    with predict_photos.recorded(context, classifier) as name:
        title = f"{name} on {context.choice.stack.name}: {folder.root.name}"
        images = ((photo_stream.shown(name), path) for name, path in folder.names(limit))
        closed = [Skipped(photo_stream.shown(name), reason) for name, reason in folder.unreadable]
        about = {"name": context.settings.data.name, "source": str(folder.source), "class_names": folder.folders}
        with predict_photos.writer_of(context.folder, classifier, title) as writer:

            def take(picture: Picture, outputs: "NDArray[np.float32]") -> None:
                writer.take(picture, outputs)
                key = picture.name if folder.targets else photo_stream.shown(folder.class_of(picture.name))
                judging.take(picture.name, labels[key], outputs)

            predict_photos.predict_all(context, classifier, Listed(images, count, closed), writer, take, about)
        _conclude(context, judging, title, _thumbs(folder.root, judging))
    return context.result


def _truth(classifier: Classifier, folder: LabelledFolder, shown: list[str]) -> dict[str, Any]:
    """Return what is true by the name of an image or, for folders whose names are numbers, by the folder."""
    known = folder.targets
    if known is None and classifier.kind != NUMBER:
        raise ZooError(
            f"{classifier.model['name']} predicts labels, and {folder.source} gives one class for each image",
            "Give a table of the images: data=image_table data.root=FILE data.images=DIR data.target=labels",
        )
    if known is None:
        return {name: [value] for name, value in zip(shown, _values(classifier, folder), strict=True)}
    if known.kind != classifier.kind:
        raise ZooError(
            f"{folder.source} gives {known.kind}, and the network predicts {classifier.kind}", "Give its data."
        )
    if known.kind == NUMBER:
        values = known.values
    else:
        if unknown := sorted(set(known.names) - set(classifier.classes)):
            raise ZooError(f"{folder.source} has labels that the network does not know: {listed(unknown)}",
                           f"It knows {listed(classifier.classes)}.")  # fmt: skip
        values = np.zeros((len(known.values), len(classifier.classes)))
        values[:, [classifier.classes.index(name) for name in known.names]] = known.values
    return dict(zip(map(photo_stream.shown, folder.rows), values.tolist(), strict=True))


def _values(classifier: Classifier, folder: LabelledFolder) -> list[float]:
    """Return the true number for the images of each folder, from the folder's name."""
    if len(classifier.classes) > 1:
        raise ZooError(f"{classifier.model['name']} predicts {len(classifier.classes)} numbers", "Use `infer`.")
    try:
        return [float(name) for name in folder.folders]
    except ValueError as error:
        raise ZooError(
            f"{classifier.model['name']} predicts numbers, but a folder name is not a number: {error}",
            "Rename each folder of images to its number, such as 35.",
        ) from error


def _judging(classifier: Classifier) -> Judging | Errors:
    if classifier.kind == CLASSES:
        return Judging(classifier.classes)
    return Errors(functools.partial(predict.judged, classifier))


def _thumbs(root: Path, judging: Judging | Errors) -> Thumb:
    def thumb(item: int) -> "NDArray[np.uint8] | None":
        try:
            return decode.read_with_thumb(root / judging.names[item], reading.photo((8, 8)), THUMB)[1]
        except decode.UnreadableError:  # its name was escaped, or it was removed
            return None

    return thumb


def _of_arrays(context: RunContext[EvaluateConfig], classifier: Classifier, inputs: predict.Inputs) -> Run:
    predict.refuse_for_arrays(context)
    judging = _judging(classifier)
    with predict_photos.recorded(context, classifier) as name:
        context.record.data = inputs.record
        _, outputs = predict.predict_all(context, classifier, inputs)
        for row in zip(inputs.names, inputs.labels, outputs, strict=False):
            judging.take(*row)
        title = f"{name} on {context.choice.stack.name}: {inputs.record['name']}"
        pixels = np.load(context.folder / predict.INPUTS, mmap_mode="r")
        _conclude(context, judging, title, lambda item: pixels[item].squeeze())
    return context.result


def _conclude(context: RunContext[EvaluateConfig], judging: Judging | Errors, title: str, thumb: Thumb) -> None:
    """Write metrics, tables and images; an interrupted run covers only the images processed so far."""
    if not judging.names:
        return
    record = context.record
    about: Json = {"model": record.model, "data": record.data["name"], "items": len(judging.names)}
    record.judgement = judging.keep(context.folder, title, about, thumb)
    macro = {name: value for name, value in record.judgement.items() if name.startswith("macro_")}
    record.metrics = judging.metrics() | macro | record.metrics
    if record.exit == "interrupted":
        console.warn(f"Interrupted: the metrics are for only the first {len(judging.names):,} images")


EVALUATE: Command[Any] = Command(
    "evaluate", "classify", "evaluate", EvaluateConfig, evaluate,
    add_defaults=add_defaults, summary=evaluation_summary.lines, tables=evaluation_summary.tables,
)  # fmt: skip

"""Evaluate a classifier on labeled images: top-1, top-5, metrics by class, confusion matrix, worst mistakes."""

import dataclasses
import functools
from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import EvaluateConfig, EvaluationData
from zoo.config.schemas.common import TestData
from zoo.config.schemas.image_classification import DataSettings
from zoo.config.tasks import Command
from zoo.core import console
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError, listed
from zoo.data import array_datasets, training_set
from zoo.data.array_datasets import ArrayDataset
from zoo.data.images import decode, labelled_folder, reading, set_parts
from zoo.data.images.labelled_folder import LabelledFolder
from zoo.environments.machine import Machine
from zoo.protocol.targets import CLASSES, NUMBER
from zoo.runs.context import RunContext, create_context
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks.image_classification import photo_stream, predict, predict_photos, source, summary
from zoo.tasks.image_classification.error_analysis import Errors, Judging, Thumb
from zoo.tasks.image_classification.photo_stream import Listed, Picture
from zoo.tasks.image_classification.predict import Inputs
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
        return _of_arrays(context, *_data_set(context, origin))
    if settings.data.name == "image_table":
        folder = labelled_folder.of_table(_reading(origin, settings.data))
    else:
        folder = labelled_folder.find(str(settings.data.root))
    if isinstance(origin, TrainedRun):
        _warn_of_own_images(origin.run, folder)
        if origin.shape[2] == 1:
            return _of_arrays(context, *_gray_folder(settings, origin, folder))
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
        numbers = _class_numbers(folder, classifier)
        names = class_names.named_after(classifier.classes, folder.folders, numbers)
        classifier, labels = dataclasses.replace(classifier, classes=names), dict(zip(shown, numbers, strict=True))
    judging = _judging(classifier)
    limit = context.settings.data.test_limit
    count = min(sum(folder.counts), limit or sum(folder.counts))
    with predict_photos.recorded(context, classifier) as name:
        title = f"{name} on {context.choice.stack.name}: {folder.root.name}"
        images = ((photo_stream.shown(name), path) for name, path in folder.names(limit))
        closed = [(photo_stream.shown(name), reason) for name, reason in folder.unreadable]
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


def _of_arrays(context: RunContext[EvaluateConfig], classifier: Classifier, inputs: Inputs) -> Run:
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


def _data_set(context: RunContext[EvaluateConfig], origin: source.Source) -> tuple[Classifier, Inputs]:
    """Return a network and the test part of a data set of small gray images."""
    asked = context.settings.data
    name, why = array_datasets.resolve(asked.name, asked.root)
    if why:
        console.say(f"data={asked.name} is {name}: {why}")
    dataset = training_set.prepared(DataSettings(name=name, root=asked.root))
    classifier = origin.classifier(context, dataset)
    shape = tuple(classifier.model["args"].get("input_shape") or (*classifier.size, dataset.input_shape[2]))
    if shape != dataset.input_shape:
        takes, are = (" x ".join(map(str, each)) for each in (shape, dataset.input_shape))
        raise ZooError(
            f"{classifier.model['name']} takes images of {takes}, those of data={name} are {are}",
            "Give a folder of images with data.root=DIR, or another network.",
        )
    words = f"The classes of data={dataset.name}"
    numbers = class_names.labels_of(dataset.class_names, classifier.classes, words)
    names = class_names.named_after(classifier.classes, dataset.class_names, numbers)
    inputs = _test_part(dataset, numbers, 3 if "saved" in classifier.model else 1, asked.test_limit)
    return dataclasses.replace(classifier, classes=names), inputs


def _test_part(dataset: ArrayDataset, numbers: list[int], channels: int, limit: int | None) -> Inputs:
    """Return the test part, with the labels of the network and the gray images repeated as ``channels``."""
    labels = np.array(numbers, np.int64)[np.load(dataset.files["y_test"])[:limit]]

    def save(path: Path) -> None:
        gray = np.load(dataset.files["x_test"], mmap_mode="r")[:limit]
        np.save(path, np.repeat(gray, channels, axis=3), allow_pickle=False)

    record = {"name": dataset.name, "items": len(labels), "sha256": dataset.sha256}
    names = [f"test[{row}]" for row in range(len(labels))]
    return Inputs(names, save, labels, record | {"class_names": dataset.class_names})


def _gray_folder(settings: EvaluateConfig, origin: TrainedRun, folder: LabelledFolder) -> tuple[Classifier, Inputs]:
    """Return the network of a run on small gray images, and the images of a folder, converted for it."""
    from zoo.data.images import grayscale

    classifier = origin.classifier()
    numbers = _class_numbers(folder, classifier)
    label_of = dict(zip(folder.folders, numbers, strict=True))
    chosen = [name for name, _ in folder.names(settings.data.test_limit)]
    loaded = grayscale.load(str(folder.root), origin.shape, origin.style, chosen)
    record: Json = {"name": settings.data.name, "source": str(folder.source), "items": len(loaded.names)}
    record |= {"skipped": [list(row) for row in folder.unreadable + loaded.skipped], "class_names": folder.folders}
    labels = [label_of[folder.class_of(name)] for name in loaded.names]
    return classifier, Inputs(loaded.names, loaded.save, labels, record)


def _class_numbers(folder: LabelledFolder, classifier: Classifier) -> list[int]:
    """Return the number of the network's class for each class of a folder."""
    try:
        return class_names.labels_of(folder.folders, classifier.classes, f"The classes of {folder.source}", True)
    except ZooError as error:
        names = set_parts.names_note(folder.root) if folder.table is None and len(folder.folders) == 1 else ""
        raise ZooError(error.message, f"{names}{error.remedy}") from error


def _warn_of_own_images(run: Run, folder: LabelledFolder) -> None:
    """Warn if a run is evaluated on its training images."""
    trained, root, part = run.record["data"].get("source"), folder.source, folder.part
    if not part and trained == str(root.parent):  # a part of that folder
        part = set_parts.role_of(root.name)
    if trained and Path(str(trained)) in (root, root.parent) and part in ("", "train"):
        console.warn(
            f"{run.folder} was trained with images of this folder, so these figures are too good. "
            f"`evaluate run={run.folder}` uses only the part set aside for testing"
        )


EVALUATE: Command[Any] = Command(
    "evaluate", "classify", "evaluate", EvaluateConfig, evaluate,
    add_defaults=add_defaults, summary=summary.evaluation, tables=summary.evaluation_tables,
)  # fmt: skip

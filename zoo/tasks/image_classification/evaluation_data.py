"""Load labeled images for an evaluation, and a network for them."""

import dataclasses
from pathlib import Path

from zoo.config.schemas.classifiers import EvaluateConfig
from zoo.config.schemas.image_classification import DataSettings
from zoo.core import console
from zoo.core.arrays import np
from zoo.core.errors import ZooError
from zoo.data import array_datasets, training_set
from zoo.data.array_datasets import ArrayDataset
from zoo.data.images import set_parts
from zoo.data.images.labelled_folder import LabelledFolder
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks.image_classification.predict import Inputs
from zoo.tasks.image_classification.predict_photos import Classifier
from zoo.tasks.image_classification.source import Source
from zoo.tasks.image_classification.source.run import TrainedRun
from zoo.weights import class_names


def data_set(context: RunContext[EvaluateConfig], origin: Source) -> tuple[Classifier, Inputs]:
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
    labels = np.array(numbers, np.int64)[np.load(dataset.y_test)[:limit]]

    def save(path: Path) -> None:
        np.save(path, np.repeat(np.load(dataset.x_test, mmap_mode="r")[:limit], channels, axis=3), allow_pickle=False)

    record = {"name": dataset.name, "items": len(labels), "sha256": dataset.sha256}
    names = [f"test[{row}]" for row in range(len(labels))]
    return Inputs(names, save, labels, record | {"class_names": dataset.class_names})


def gray_folder(settings: EvaluateConfig, origin: TrainedRun, folder: LabelledFolder) -> tuple[Classifier, Inputs]:
    """Return the network of a run on small gray images, and the images of a folder, converted for it."""
    from zoo.data.images import grayscale

    classifier = origin.classifier()
    numbers = class_numbers(folder, classifier)
    label_of = dict(zip(folder.folders, numbers, strict=True))
    chosen = [name for name, _ in folder.names(settings.data.test_limit)]
    loaded = grayscale.load(str(folder.root), origin.shape, origin.style, chosen)
    record: Json = {"name": settings.data.name, "source": str(folder.source), "items": len(loaded.names)}
    record |= {"skipped": [list(row) for row in folder.unreadable + loaded.skipped], "class_names": folder.folders}
    labels = [label_of[folder.class_of(name)] for name in loaded.names]
    return classifier, Inputs(loaded.names, loaded.save, labels, record)


def class_numbers(folder: LabelledFolder, classifier: Classifier) -> list[int]:
    """Return the number of the network's class for each class of a folder."""
    try:
        return class_names.labels_of(folder.folders, classifier.classes, f"The classes of {folder.source}", True)
    except ZooError as error:
        names = set_parts.names_note(folder.root) if folder.table is None and len(folder.folders) == 1 else ""
        raise ZooError(error.message, f"{names}{error.remedy}") from error


def warn_of_own_images(source: Run, folder: LabelledFolder) -> None:
    """Warn if a run is evaluated on its training images."""
    trained, root, part = source.record["data"].get("source"), folder.source, folder.part
    if not part and trained == str(root.parent):  # a part of that folder
        part = (set_parts.part_of(root.name) or ("", ""))[0]
    if trained and Path(str(trained)) in (root, root.parent) and part in ("", "train"):
        console.warn(
            f"{source.folder} was trained with images of this folder, so these figures are too good. "
            f"`evaluate run={source.folder}` uses only the part set aside for testing"
        )

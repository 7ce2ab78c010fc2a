"""Prepare the data of a classifier: arrays on disk, and their rows for training, validation and test."""

import dataclasses
from pathlib import Path
from typing import Any

from zoo.config.schemas.image_classification import DataSettings, TrainConfig
from zoo.core import console, csv_files
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError, counted, listed
from zoo.core.files import storage_errors
from zoo.data import array_datasets, datasets
from zoo.data.images import cache, duplicates, folder_dataset, folder_scan, image_table, set_parts
from zoo.data.targets import STRATUM, Targets

# The data sets of the user's own images.
OWN = ("folder", "image_table")
# Edge of your own images in pixels, for models of any size.
SIZE = 64


@dataclasses.dataclass(frozen=True)
class TrainingSet:
    """A data set, split, ready for the worker.

    Attributes:
        files: .npy files ``x_train`` and ``x_test``, uint8 (n, height, width, channels); also ``y_train`` and
            ``y_test``, int64 (n,), unless they are written for each run.
        labels: labels (n,) of all rows if each run writes its own files of them; else None.
        splits: ``train`` and ``validation``: rows of the training arrays; ``test``: rows of the test arrays.
        class_names: by label.
        input_shape: (height, width, channels).
        normalization: (mean, scale) by channel: pixels become (pixel - mean) / scale; None means as the model
            expects.
        names: file of every row, relative to the user's folder; None if rows have no names.
        skipped: (name, reason) of unusable files.
        record: for ``run.json``.
        known: for each test row, whether the image is also used for training or validation; None if unknown.
        given: parts besides training that the folder has: ``validation``, ``test``.
        targets: what is known of every row if that is not a class; ``labels`` are then its values, (n, outputs), and
            ``class_names`` its names.
    """

    files: dict[str, Path]
    labels: "NDArray[Any] | None"
    splits: "dict[str, NDArray[np.int64]]"
    class_names: list[str]
    input_shape: tuple[int, ...]
    normalization: tuple[list[float], list[float]] | None
    names: list[str] | None
    skipped: list[tuple[str, str]]
    record: dict[str, Any]
    known: "NDArray[np.bool_] | None" = None
    given: tuple[str, ...] = ()
    targets: Targets | None = None


def prepare(settings: TrainConfig) -> TrainingSet:
    training_set = _of_folder(settings) if settings.data.name in OWN else _of_row(settings)
    sizes = {f"{part}_items": len(rows) for part, rows in training_set.splits.items()}
    details = {
        "class_names": training_set.class_names,
        "input_shape": list(training_set.input_shape),
        "split_seed": settings.seed,
    }
    return dataclasses.replace(training_set, record=training_set.record | details | sizes)


def prepared(settings: DataSettings) -> array_datasets.ArrayDataset:
    """Prepare the arrays of a data set that has a row."""
    row = datasets.load_row(settings.name)
    given = {key: value for key, value in dataclasses.asdict(settings).items() if hasattr(row, key)}
    return array_datasets.prepare(dataclasses.replace(row, **given))


def _of_row(settings: TrainConfig) -> TrainingSet:
    dataset = prepared(settings.data)
    train, validation = array_datasets.split(
        dataset.counts["train"], settings.data.validation, settings.seed, settings.data.train_limit
    )
    test = np.arange(dataset.counts["test"])[: settings.data.test_limit]
    return TrainingSet(
        files=dataset.files,
        labels=None,
        splits={"train": train, "validation": validation, "test": test},
        class_names=dataset.class_names,
        input_shape=dataset.input_shape,
        normalization=_normalization(settings, dataset.input_shape[-1], dataset.files["x_train"], train),
        names=None,
        skipped=[],
        record={name: getattr(dataset, name) for name in ("name", "sha256", "published", "source", "licence")},
    )


def _of_folder(settings: TrainConfig) -> TrainingSet:
    data = settings.data
    listing = image_table.scan(data) if data.name == "image_table" else folder_scan.scan(data.root, data.layout)
    edge = data.size or settings.model.get("input_size")
    if not edge:
        console.say(f"Images are resized to {SIZE} x {SIZE} pixels. For another size: data.size=PIXELS")
    size = int(edge or SIZE)
    if not data.group:
        listing.notes.extend(set_parts.groups_notes(listing.names, listing.labels, listing.parts))
    elif not listing.groups:
        listing = dataclasses.replace(listing, groups=set_parts.groups_of(listing.names, data.group))
    folder = folder_dataset.prepare(listing, size, data.resize, data.strict)
    parts = folder_dataset.split(folder, data.validation, data.test, settings.seed, data.train_limit, data.test_limit)
    if not len(parts["train"]):
        raise ZooError(f"No images of {data.root} are left for training", "Lower data.validation and data.test.")
    known = folder.listing.targets
    if known:
        known.check_training(parts["train"])
    twice = duplicates.find(folder, parts)
    _warn_of_duplicates(twice, bool(known))
    return TrainingSet(
        files={"x_train": folder.pictures, "x_test": folder.pictures},
        labels=known.values if known else np.array(folder.listing.labels, np.int64),
        splits=parts,
        class_names=known.names if known else folder.listing.class_names,
        input_shape=(size, size, 3),
        normalization=_normalization(settings, 3, folder.pictures, parts["train"]),
        names=folder.listing.names,
        skipped=folder.skipped,
        record={
            "name": data.name, "sha256": folder.sha256, "published": False,
            "source": str((listing.table or listing.root).absolute()), "licence": "unknown",
            "skipped_items": len(folder.skipped), "split": _split_words(folder, data, parts),
            "duplicates": int(twice.known.sum()), "duplicates_in": twice.part,
            "identical_duplicates": twice.identical, "duplicates_in_two_classes": len(twice.contradictions),
            "similar_in_two_classes": len(twice.similar), **({"target": known.kind} if known else {}),
        },
        targets=known,
        known=twice.known,
        given=tuple(sorted(set(folder.listing.parts) - {"train"})),
    )  # fmt: skip


def _warn_of_duplicates(twice: duplicates.Duplicates, different: bool) -> None:
    count = int(twice.known.sum())
    if count:
        test, train = twice.examples[0]
        good, much = ("results", "good") if different else ("accuracy", "high")
        console.warn(
            f"{count:,} of {len(twice.known):,} test images ({count / len(twice.known):.1%}) "
            f"{'equal or resemble' if twice.identical else 'resemble'} {twice.part} images "
            f"({twice.identical:,} identical files), such as {test} and {train}. "
            f"The test {good} {'will' if twice.identical and twice.part != 'validation' else 'may'} be too {much}"
        )
    for pairs, what in ((twice.contradictions, "identical file"), (twice.similar, "nearly identical image")):
        if pairs:
            shown = listed((f"{one} and {other}" for one, other in pairs), most=3)
            where = "with different targets" if different else "in two classes"
            console.warn(f"{counted(len(pairs), what)} {where}: {shown}")


def _split_words(folder: folder_dataset.FolderDataset, data: DataSettings, parts: dict[str, Any]) -> str:
    given = sorted(set(folder.listing.parts))
    drawn = [] if given else [f"test: {data.test:g} of every class"]
    if "validation" not in given:
        drawn.append(f"validation: {data.validation:g} of the rest of every class")
    if folder.listing.targets:
        stratum = STRATUM[folder.listing.targets.kind]
        drawn = [words.replace("every class", f"every {stratum}") for words in drawn]
    if data.group:
        names = [words.partition(":")[0] for words in drawn]
        empty = {name for name in names if getattr(data, name) and not len(parts[name])}
        drawn = [f"{words}, by {data.group}" for name, words in zip(names, drawn, strict=True) if name not in empty]
        drawn += [f"{name}: none, because {data.group} has too few groups" for name in sorted(empty)]
    place = "table" if folder.listing.table else "folder"
    return "; ".join([f"as in the {place}: {', '.join(given)}"] * bool(given) + drawn)


def _normalization(
    settings: TrainConfig, channels: int, pictures: Path, rows: "NDArray[np.int64]"
) -> tuple[list[float], list[float]] | None:
    fixed = {"unit": (0.0, 255.0), "symmetric": (127.5, 127.5), "raw": (0.0, 1.0)}.get(settings.data.normalize)
    if fixed:
        return [fixed[0]] * channels, [fixed[1]] * channels
    if settings.data.normalize != "standard":
        return None
    mean, deviation = folder_dataset.channel_statistics(pictures, rows)
    return mean, [max(value, 1.0) for value in deviation]  # a constant channel has deviation 0, which must not divide


def part(material: TrainingSet, name: str) -> "tuple[NDArray[np.uint8], NDArray[Any]]":
    rows, kept = material.splits[name], "test" if name == "test" else "train"
    labels = np.load(material.files[f"y_{kept}"]) if material.labels is None else material.labels
    return cache.rows(material.files[f"x_{kept}"], rows), labels[rows]


def save(material: TrainingSet, folder: Path) -> dict[str, str]:
    """Write the split, the labels and the list of skipped files to a run folder; return their part of the request."""
    split = array_datasets.save_split(folder / "split.npz", **material.splits)
    files = dict(material.files)
    with storage_errors("write", folder):
        if material.labels is not None:
            np.save(folder / "labels.npy", material.labels, allow_pickle=False)
            files |= {"y_train": folder / "labels.npy", "y_test": folder / "labels.npy"}
        csv_files.write_skipped(folder / "skipped.csv", material.skipped)
    return {name: str(path) for name, path in (files | {"split": split}).items()}

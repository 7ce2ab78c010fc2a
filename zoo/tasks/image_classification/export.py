"""Export an image classifier from a run, published weights or a saved model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.export import ExportConfig
from zoo.core import console
from zoo.core.arrays import Image, NDArray, np
from zoo.core.errors import ZooError
from zoo.data import training_set
from zoo.data.images import decode, grayscale, reading
from zoo.data.images.reading import Reading
from zoo.data.sources import bundled_photos
from zoo.protocol.request import ItemData
from zoo.protocol.targets import CLASSES
from zoo.runs.context import create_context
from zoo.runs.result import Run
from zoo.tasks import export_examples, exporting
from zoo.tasks.exporting import Subject
from zoo.tasks.image_classification import photo_stream, predict, source
from zoo.tasks.image_classification.predict_photos import Classifier
from zoo.tasks.image_classification.source import saved
from zoo.tasks.image_classification.source.run import TrainedRun

Write = Callable[[Path, int], ItemData]


def export(overrides: Overrides) -> Run:
    origin = source.find(EXPORT, overrides, source.NEEDED | predict.NEEDED_FOR_ARRAYS)
    if isinstance(origin, TrainedRun):
        overrides = origin.with_resize(overrides)
    context = create_context(EXPORT, overrides)
    if isinstance(origin, TrainedRun):
        return exporting.export(context, _of_run(context.settings, origin))
    return exporting.export(context, _of_network(origin.classifier(context), context.settings))


def _of_network(network: Classifier, settings: ExportConfig) -> Subject:
    how, calibrate = reading.photo(network.size, settings.resize), settings.calibrate
    calibration = None if calibrate == "train" else _photos(calibrate, how)
    own = saved.KERAS_2 if network.record["weights"].get("keras", "").startswith("2.") else None
    items, more = _photos(settings.input, how), {"record": network.record, "own_stack": own}
    return _subject(network, how, settings, items, calibration=calibration, **more)


def _of_run(settings: ExportConfig, origin: TrainedRun) -> Subject:
    network = origin.classifier()
    photos = origin.shape[2] == 3
    how = reading.photo(network.size, settings.resize) if photos else reading.gray(network.size, origin.style)
    items = _items(origin, settings, settings.input, "test", how)
    calibration = _items(origin, settings, settings.calibrate, "train", how)
    return _subject(network, how, settings, items, calibration=calibration, source=origin.run)


def _subject(network: Classifier, how: Reading, settings: ExportConfig, items: Write, **more: Any) -> Subject:
    inside = settings.preprocessing == "inside"
    return Subject(
        kind="images",
        model=network.model,
        weights=network.weights,
        classes=network.classes,
        target=None if network.kind == CLASSES else network.kind,
        thresholds=network.thresholds,
        items=(lambda folder, most: _as_images(items(folder, most), how)) if inside else items,
        examples=lambda folder: _examples(how, folder),
        reading=how._asdict() | {"inside": inside},
        code=_code(how, inside),
        **more,
    )


def _as_images(items: ItemData, how: Reading) -> ItemData:
    """Return items twice: unchanged, for a file that reads images, and as the zoo reads images of their pixels."""
    from zoo.data.images import pixels

    path = Path(str(items.x))
    read = np.stack([pixels.prepared(Image.fromarray(each), how) for each in np.load(path)])
    np.save(path.with_name("items_read.npy"), read, allow_pickle=False)
    return items.replace(x=str(path.with_name("items_read.npy")), pictures=[str(path)])


def _items(origin: TrainedRun, settings: ExportConfig, given: str | None, part: str, how: Reading) -> Write:
    """Return a function that writes items of a part of the run's data, or of the user's own images."""
    if given in (None, part):
        return lambda folder, most: _part(origin.run, settings, part, folder, most)
    if origin.shape[2] == 3:
        return _photos(given, how)
    return lambda folder, most: _written(
        folder, np.concatenate(list(grayscale.load(str(given), origin.shape, origin.style).parts))[:most]
    )


def _part(run: Run, settings: ExportConfig, part: str, folder: Path, most: int) -> ItemData:
    """Write items, evenly spaced over a part of the data, with their labels."""
    material = predict.trained_on(run, settings.data)
    part = part if len(material.splits[part]) else "train"
    rows = material.splits[part]
    material.splits[part] = rows[np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)]
    pixels, labels = training_set.part(material, part)
    return _written(folder, pixels, labels)


def _written(folder: Path, pixels: "NDArray[np.uint8]", labels: "NDArray[np.int64] | None" = None) -> ItemData:
    np.save(folder / "items.npy", pixels, allow_pickle=False)
    if labels is None or labels.ndim > 1:  # several labels or numbers have no accuracy
        return ItemData(x=str(folder / "items.npy"))
    np.save(folder / "item_labels.npy", labels, allow_pickle=False)
    return ItemData(x=str(folder / "items.npy"), labels=str(folder / "item_labels.npy"))


def _code(how: Reading, inside: bool) -> tuple[Callable[..., Any], ...]:
    from zoo.data.images import pixels

    if inside:
        return pixels.loaded, pixels.upright, pixels.opaque, pixels.eight_bits
    color = (pixels.read, pixels.loaded, pixels.upright, pixels.prepared, pixels.opaque, pixels.eight_bits)
    ink = (pixels.drawn, pixels.contrast, pixels.scaled_ink) if how.resize == "ink" else ()
    return (*color, pixels.fit, pixels.middle, *ink)


def _examples(how: Reading, folder: Path) -> tuple[list[str], ItemData]:
    paths = export_examples.images(np.load(folder / "items.npy", mmap_mode="r"), folder / "examples")
    np.save(folder / "examples.npy", np.stack([decode.read(path, how) for path in paths]), allow_pickle=False)
    return [str(path) for path in paths], ItemData(x=str(folder / "examples.npy"))


def _photos(given: str | None, how: Reading) -> Write:
    """Return a function that writes photos from a file or folder, by default scikit-learn's two photos."""

    def write(folder: Path, most: int) -> ItemData:
        if given is None:
            console.warn("No photos are given: comparing two photos of scikit-learn. input=FOLDER is better.")
        pixels: list[NDArray[np.uint8]] = []
        bundled = ((path.name, path) for path in bundled_photos())
        for name, path in photo_stream.listed(given).names if given else bundled:
            if len(pixels) == most:
                break
            try:
                pixels.append(decode.read(path, how))
            except decode.UnreadableError as reason:
                console.warn(f"Skipped {name}: {reason}")
        if not pixels:
            raise ZooError(f"No usable images in {given}", photo_stream.KINDS)
        return _written(folder, np.stack(pixels))

    return write


EXPORT = exporting.command("classify", export)

"""Export a feed-forward style network, which accepts images of any size."""

from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.core import console
from zoo.core.arrays import np
from zoo.core.errors import ZooError
from zoo.core.paths import user_path
from zoo.data.sources import bundled_photos
from zoo.protocol.request import ItemData
from zoo.runs.context import create_context
from zoo.runs.result import Run
from zoo.tasks import export_examples, exporting
from zoo.tasks.image_classification import photo_stream
from zoo.tasks.style_transfer import apply_network, images

# Longer sides in pixels, in turn, of the images to compare exports on, which need different sizes.
SIZES = (256, 192)
GRAIN = 4
# Minimum side of an image in pixels, because the networks pad by reflection.
LEAST_EDGE = 16
MOST = 10
# Longer side in pixels of the image in the example files for the README, most of which enlarge it.
EXAMPLE_EDGE = 40

# How a file is read as an input; the worker adds the requirements of the network.
READING = {"color": "sRGB, by the profile", "orientation": "exif", "background": "white", "padding": "edge"}
# Functions of zoo.data.images.pixels that an export copies.
CODE = ("read_srgb", "srgb", "upright", "opaque", "eight_bits")


def export(overrides: Overrides) -> Run:
    from zoo.data.images import pixels

    source = apply_network.source_of(EXPORT, overrides)
    context = create_context(EXPORT, overrides)
    settings = context.settings
    weights, size = apply_network.network_of(source.folder / "weights.npz" if source else user_path(settings.weights))
    photos = source.record.get("config", {}).get("photos") if source else None
    given = None if settings.input in (None, "test") else settings.input
    calibrate = settings.calibrate if settings.calibrate != "train" else photos
    trained = source is not None or settings.calibrate != "train"
    subject = exporting.Subject(
        kind="pictures",
        model={"name": apply_network.MODEL, "args": size},
        weights=lambda folder: apply_network.stored(folder, weights),
        classes=[],
        items=lambda folder, most: _pictures(given, folder, most),
        examples=_examples,
        reading=READING,
        code=tuple(getattr(pixels, name) for name in CODE),
        calibration=(lambda folder, most: _pictures(calibrate, folder, most)) if trained else None,
        source=source,
        record={} if source else {"weights": {"source": settings.weights}},
    )
    return exporting.export(context, subject)


def _examples(folder: Path) -> tuple[list[str], ItemData]:
    small = images.fitted(np.load(folder / "item0.npy"), EXAMPLE_EDGE)
    paths = export_examples.images([small], folder / "examples")
    pixels = [images.opened(path, "input").pixels for path in paths]
    read = [images.store(folder / f"example{number}.npy", each) for number, each in enumerate(pixels)]
    return [str(path) for path in paths], ItemData(pictures=read)


def _pictures(given: str | None, folder: Path, most: int) -> ItemData:
    """Write images whose sides are multiples of 4."""
    paths = [path for _, path in photo_stream.listed(given).names] if given else bundled_photos()
    if given is None:
        console.warn("No input= is given: using two photos of scikit-learn. input=FOLDER gives better results.")
    written: list[str] = []
    for path in paths:
        if len(written) == min(most, MOST):
            break
        try:
            pixels = images.fitted(images.opened(path, "input").pixels, SIZES[len(written) % len(SIZES)])
        except ZooError as error:
            console.warn(f"Skipped: {error.message}")
            continue
        if min(pixels.shape[:2]) < LEAST_EDGE:
            console.warn(f"Skipped: {path} is a strip, of {min(pixels.shape[:2])} pixels once it is reduced")
            continue
        rows, columns = (side - side % GRAIN for side in pixels.shape[:2])
        written.append(images.store(folder / f"item{len(written)}.npy", pixels[:rows, :columns]))
    if not written:
        raise ZooError(f"No usable images in {given}", photo_stream.KINDS)
    return ItemData(pictures=written)


EXPORT = exporting.command("restyle", export)

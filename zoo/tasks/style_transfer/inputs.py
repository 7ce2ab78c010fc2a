"""The images of a style transfer and the path of its result."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from zoo.config.schemas.style_transfer import Features, StyleConfig
from zoo.core import console, paths
from zoo.core.arrays import Bytes, Image, np
from zoo.core.errors import ZooError
from zoo.core.files import check_writable, file_sha256, free_path, storage_errors
from zoo.core.paths import user_path
from zoo.data.images import decode, files
from zoo.data.sources import bundled_photos
from zoo.protocol.request import FeatureNetworkPart
from zoo.runs import records
from zoo.runs.records import Json
from zoo.tasks.style_transfer import images
from zoo.weights import feature_weights
from zoo.weights.feature_networks import FeatureNetwork

# The painting without style=.
PAINTING = paths.ROOT / "assets" / "style_waves.jpg"


@dataclass
class StyleInputs:
    content: images.Picture
    styles: list[images.Picture]
    masks: "list[Bytes | None]"
    shares: list[float]
    long_side: int
    save: Path | None
    start: images.Picture | None = None


def open_all(settings: StyleConfig, own: Path | None) -> StyleInputs:
    """Open all images, to report errors early, and select the path of the result, which may replace ``own``."""
    content = images.opened(user_path(settings.content) if settings.content else bundled_photos()[0], "content")
    names = settings.styles or ([settings.style] if settings.style else [])
    named = [user_path(name) for name in names]
    if not named:
        named = [PAINTING]
        console.say(f"Style: {named[0]}; style=FILE selects another painting")
    styles = [images.opened(path, "style") for path in named]
    masks = [_mask(name, content) for name in settings.masks or [""] * len(styles)]
    weights = settings.style_weights or [1.0] * len(styles)
    start = None if settings.start in ("content", "noise") else images.opened(user_path(settings.start), "start")
    used = [picture.path for picture in (content, *styles, *([start] if start else []))]
    save = own or target(settings, [*used, *(user_path(name) for name in settings.masks or [] if name)])
    long_side = settings.size or max(content.pixels.shape[:2])
    return StyleInputs(content, styles, masks, [weight / sum(weights) for weight in weights], long_side, save, start)


def _mask(name: str, content: images.Picture) -> "Bytes | None":
    if not name:
        return None
    picture = images.opened(user_path(name), "mask")
    grey = np.asarray(Image.fromarray(picture.pixels).convert("L"))
    if picture.metadata.transparent:  # images get a white background, but transparent areas of masks are black
        clear = decode.open_upright(picture.path).convert("RGBA")
        grey = np.asarray(Image.alpha_composite(Image.new("RGBA", clear.size, "black"), clear).convert("L"))
    if not grey.any():
        raise ZooError(f"The mask {picture.path} is black everywhere", "Paint it white where the style should apply.")
    return images.sized(grey, *content.pixels.shape[:2])


def target(settings: StyleConfig, used: list[Path]) -> Path | None:
    """Return the path of the result, with a different name if that file exists and must not be replaced."""
    if not settings.save:
        return None
    path = user_path(settings.save)
    files.output_format(path)
    elsewhere = "Choose a place you can write: save=FILE"
    with storage_errors("write", path, elsewhere):  # no permission for a parent folder
        if not path.parent.is_dir():
            raise ZooError(f"No folder {path.parent.absolute()} to save {path.name} in", "Create it first.")
        if path.is_dir():
            raise ZooError(f"{path} is a folder", "Name a file to save the image in: save=out.png")
    check_writable(path, elsewhere)
    for picture in used:
        if path.exists() and path.samefile(picture):
            raise ZooError(f"{path} is an input and would be overwritten", "Save under another name.")
    if not path.exists():
        return path
    if settings.overwrite:
        console.warn(f"{path} will be replaced when the image is done")
        return path
    free = free_path(path)
    console.warn(f"{path} exists; the image will be saved as {free.name} (overwrite=true replaces it)")
    return free


def feature_network(chosen: FeatureNetwork, settings: Features, seed: int, folder: Path) -> FeatureNetworkPart:
    """Return the part of a request for a feature network, whose weights are written to a folder."""
    part = FeatureNetworkPart(network=chosen.network, weights=None, seed=seed, precision=settings.precision)
    if chosen.arrays is not None:
        part.weights = str(folder / "features.npz")
        feature_weights.write(Path(part.weights), chosen.arrays)
    return part


def own_result(folder: Path | None, settings: StyleConfig) -> Path | None:
    """Return the path of a resumed run's result, which the run may replace, or None if the file was changed."""
    if folder is None or not settings.save:
        return None
    target = user_path(settings.save)
    record = records.read(folder)
    # A record may come from a third party: use only its file name, in the folder of the setting.
    path = target.with_name(Path(str(record.get("saved", ""))).name or target.name)
    return path if path.is_file() and file_sha256(path) == record.get("saved_sha256") else None


def described(job: StyleInputs) -> Json:
    """Return the paths and a checksum of the images, which must be the same for a resumed run."""
    used = [job.content, *job.styles, *([job.start] if job.start else [])]
    named = {"content": str(job.content.path), "styles": [str(style.path) for style in job.styles]}
    return {**named, "sha256": checksum([picture.path for picture in used])}


def checksum(files: list[Path]) -> str:
    return hashlib.sha256("".join(file_sha256(path) for path in files).encode()).hexdigest()

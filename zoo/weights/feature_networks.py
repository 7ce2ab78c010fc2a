"""Select the feature network that compares images, and get its weights: the user's file, or published ones.

Published files are downloaded once and verified on every use.
"""

from dataclasses import dataclass
from pathlib import Path

from zoo.core import console, paths, schema
from zoo.core.download import fetch, noted
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write, file_sha256
from zoo.core.paths import user_path
from zoo.weights import feature_weights
from zoo.weights.formats import Arrays

TABLE = paths.CONFIGS / "weights" / "features.yaml"
# Features that the zoo trained itself.
BUNDLED = paths.ROOT / "assets" / "features" / "distilled.npz"
# A weight that identifies each network.
FIRST = {"squeezenet": "fire2_squeeze1x1/kernel", "distilled": "level1_conv1/kernel", "vgg": "block1_conv1/kernel"}


@dataclass(frozen=True)
class PublishedFile:
    """A row of ``configs/weights/features.yaml``: a published file, and its checksum.

    Attributes:
        address: URL of its folder.
        checksum: ``sha256``, or ``md5`` if no other algorithm is published, and the checksum.
    """

    address: str
    file: str
    bytes: int
    checksum: dict[str, str]
    source: str = ""
    licence: str = ""


@dataclass(frozen=True)
class FeatureNetwork:
    """A network and its weights with their origin, ``source``; ``arrays`` is None if it needs no weights."""

    network: str
    source: str
    arrays: "Arrays | None" = None


def choose(wanted: str, weights: str | None, may_download: str = "no") -> FeatureNetwork:
    """Select a network and its weights.

    Args:
        wanted: its name, or ``auto``: a network with available weights, SqueezeNet if it can be downloaded, or the
            bundled one, ``distilled``.
        weights: path of its weights; None means an earlier download, or a download if ``wanted`` is a name.
        may_download: whether to download SqueezeNet for ``auto``: ``yes``, ``no``, or ``ask`` in a terminal.
    """
    if wanted == "random":
        if weights:
            raise ZooError("features=random does not use weights", "Remove feature_weights, or name a network.")
        return FeatureNetwork("random", "drawn by the seed")
    if weights:
        return _read(wanted, user_path(weights))
    if wanted == "distilled":
        return _read(wanted, BUNDLED)
    for network in published() if wanted == "auto" else (wanted,):
        path = available(network)
        if path is not None:
            return _read(network, path)
    if wanted != "auto":
        return _read(wanted, download(wanted))
    if console.allows("No trained feature network is available. Download SqueezeNet (3 MB, MIT)", may_download):
        try:
            return _read(wanted, download("squeezenet"))
        except ZooError as error:
            console.warn(error.message)
    larger = "Larger ones: features=vgg19 (80 MB), or download=yes for SqueezeNet (3 MB)"
    console.say(f"Using features=distilled, which are bundled. {larger}")
    return _read("distilled", BUNDLED)


def _read(wanted: str, path: Path) -> FeatureNetwork:
    if not path.exists():
        raise ZooError(f"There are no weights at {path}", "Give a file or folder: feature_weights=PATH.")
    arrays = feature_weights.read(path)
    network = _network(arrays)
    if network is None:
        raise ZooError(
            f"The weights in {path} are not of VGG or SqueezeNet; the first are {', '.join(list(arrays)[:3])}",
            "Give weights of vgg19, vgg16 or squeezenet.",
        )
    if wanted not in ("auto", network):
        raise ZooError(f"The weights in {path} are of {network}, not of {wanted}", f"Set features={network}.")
    return FeatureNetwork(network, str(path), arrays)


def _network(arrays: "Arrays") -> str | None:
    """Return the network of these weights. VGG16 and VGG19 differ in the last convolution of block 3."""
    for network in ("squeezenet", "distilled"):
        if FIRST[network] in arrays:
            return network
    if FIRST["vgg"] not in arrays:
        return None
    return "vgg19" if "block3_conv4/kernel" in arrays or "block3_conv1/kernel" not in arrays else "vgg16"


# -- published files


def published() -> dict[str, PublishedFile]:
    return {network: PublishedFile(**row) for network, row in schema.read_yaml(TABLE).items()}


def available(network: str) -> Path | None:
    name = published()[network].file
    if (_folder() / name).is_file():
        return download(network)
    keras = Path.home() / ".keras" / "models" / name
    return keras if keras.is_file() else None


def download(network: str) -> Path:
    row = published()[network]
    checksum = row.checksum.get("sha256") or row.checksum["md5"]
    try:
        path = fetch(row.file, [row.address + row.file], checksum, _folder(), row.bytes)
    except ZooError as error:
        error.remedy += f"\nOr download {row.address}{row.file} yourself and give feature_weights=FILE; "
        error.remedy += "or use features=distilled, which is bundled."
        raise
    # An MD5 can be forged: if only that is published, the SHA-256 of the first download is stored next to the file.
    note, sha256 = path.with_name(path.name + ".sha256"), file_sha256(path)
    expected = row.checksum.get("sha256") or noted(note)
    if expected is None:
        atomic_write(note, sha256 + "\n")
        console.say(f"{path.name} has the md5 that Keras publishes. Its sha256, {sha256}, is checked from now on")
    elif expected != sha256:
        raise ZooError(
            f"{path} is no longer the file that was downloaded: its sha256 was {expected} and is {sha256}",
            f"Remove it and {note.name} to download it again.",
        )
    return path


def _folder() -> Path:
    return paths.cache_dir() / "downloads" / "features"

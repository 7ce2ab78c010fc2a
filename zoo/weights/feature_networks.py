"""Which feature network judges pictures, and where its weights come from."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.core import console
from zoo.core.errors import ZooError
from zoo.weights import feature_downloads, feature_weights

if TYPE_CHECKING:
    from zoo.weights.formats import Arrays

# A weight of each network that tells it from others.
FIRST = {"squeezenet": "fire2_squeeze1x1/kernel", "vgg": "block1_conv1/kernel"}


@dataclass(frozen=True)
class FeatureNetwork:
    """A network and its weights; ``arrays`` is None where it needs none. ``source`` says where they come from."""

    network: str
    source: str
    arrays: "Arrays | None" = None


def choose(wanted: str, weights: str | None) -> FeatureNetwork:
    """Settle on a network.

    Args:
        wanted: its name, or ``auto``: that of the weights at hand, else ``random``, said loudly.
        weights: path of its weights, or None: what was once downloaded; if nothing was, a network that is named is
            downloaded, and for ``auto`` nothing is.

    Raises:
        ZooError: the weights cannot be read, are another network's, or cannot be had.
    """
    if wanted == "random":
        if weights:
            raise ZooError("features=random has no use for weights", "Leave feature_weights out, or name a network.")
        return FeatureNetwork("random", "drawn by the seed")
    if weights:
        return _read(wanted, Path(weights).expanduser())
    for network in feature_downloads.table() if wanted == "auto" else (wanted,):
        kept = feature_downloads.kept(network)
        if kept is not None:
            return _read(network, kept)
    if wanted != "auto":
        return _read(wanted, feature_downloads.fetched(wanted))
    console.warn(
        "No weights of VGG or SqueezeNet are at hand: features=random judges the style, by untrained filters. "
        "Trained ones see more: features=vgg19 downloads them (80 MB), features=squeezenet others (3 MB), "
        "feature_weights=FILE names your own."
    )
    return FeatureNetwork("random", "drawn by the seed")


def _read(wanted: str, path: Path) -> FeatureNetwork:
    if not path.exists():
        raise ZooError(f"There are no weights at {path}", "Give a file or folder: feature_weights=PATH.")
    arrays = feature_weights.read(path)
    found = _network(arrays)
    if found is None:
        raise ZooError(
            f"The weights in {path} are not of VGG or SqueezeNet; they begin with {', '.join(list(arrays)[:3])}",
            "Give weights of vgg19, vgg16 or squeezenet.",
        )
    if wanted not in ("auto", found):
        raise ZooError(f"The weights in {path} are of {found}, not of {wanted}", f"Say features={found}.")
    return FeatureNetwork(found, str(path), arrays)


def _network(arrays: "Arrays") -> str | None:
    """Whose weights these are. VGG16 and VGG19 are told apart by the last convolution of block 3."""
    if FIRST["squeezenet"] in arrays:
        return "squeezenet"
    if FIRST["vgg"] not in arrays:
        return None
    return "vgg19" if "block3_conv4/kernel" in arrays or "block3_conv1/kernel" not in arrays else "vgg16"


def write(path: Path, choice: FeatureNetwork) -> None:
    """Write the weights for the worker."""
    assert choice.arrays is not None  # noqa: S101  (asked before)
    feature_weights.write(path, choice.arrays)

"""Read the weights in ``weights=``: published weights, a user's file, or none.

The worker gets the properties of the network and a cached ``.npz`` of float32 by ``layer/weight``, whose name is the
checksum of its source.
"""

import dataclasses
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Arguments
from zoo.core import console, file_kinds, paths
from zoo.core.errors import ZooError, listed, nearest
from zoo.core.files import atomic_write, file_sha256, locked
from zoo.core.paths import siblings, user_path
from zoo.weights import imagenet, zoo_networks

if TYPE_CHECKING:
    from zoo.weights.recognition import Network

WORDS = ("imagenet", "zoo", "none")
# Not mentioned, because every published network has it.
ONE_OUTPUT = ("depth_multiplier", 1)
# Part of the name of cached files: increase it when the result from the same source changes.
CACHE_VERSION = 2


@dataclass(frozen=True)
class PretrainedWeights:
    """Weights that a run starts from.

    Attributes:
        npz: float32 by ``layer/weight``, for the worker.
        record: ``source``, ``file``, ``sha256`` and ``parameters``, for ``run.json``.
        network: properties of the network; None for models that are not recognized in files.
        arguments: arguments of the model in the file that the user did not give.
    """

    path: Path
    npz: Path
    record: dict[str, Any]
    network: "Network | None" = None
    arguments: Arguments = dataclasses.field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        return {f"model.{key}": value for key, value in self.arguments.items()}


def choose(
    source: str | None, model: Mapping[str, Any], given: Collection[str] = (), checksum: str | None = None
) -> PretrainedWeights | None:
    """Return the weights in ``weights=``, or None.

    Args:
        source: ``imagenet``, ``zoo``, ``zoo/NAME``, the path of a file, ``none`` or None.
        model: settings ``name``, and arguments such as ``alpha`` and ``input_size``.
        given: names of the arguments that the user set; the file sets the remaining ones.
        checksum: expected SHA-256 of the file, or None.
    """
    if source is None or source == "none":
        return None
    if zoo_networks.is_named(source):
        return _of_the_zoo(source, model, given)
    from zoo.weights import formats, io

    path = imagenet.published(model, checksum) if source == "imagenet" else _own(source)
    if path.stat().st_size > formats.MOST_BYTES:
        io.read(path)  # rejects most large files before their checksum is computed
    sha256 = file_sha256(path)
    if checksum not in (None, sha256):
        remedy = "Get the right file, or correct the checksum."
        raise ZooError(f"The sha256 of {path} is {sha256}, not {checksum}", remedy)
    try:
        chosen = _of_file(path, sha256, source, model, given)
        if source == "imagenet":
            imagenet.accept(path, model, io.read(chosen.npz).arrays, checksum)
    except ZooError:
        imagenet.reject(path)
        raise
    if chosen.network and source != "imagenet":
        remarks = [*chosen.network.notes]
        if "input_size" not in {*chosen.network.arguments, *given} and model.get("input_size"):
            remarks.append(f"it does not store the image size: model.input_size={model['input_size']} is assumed")
        if chosen.arguments or remarks:
            taken = f"; taken from it: {' '.join(Overrides.of(chosen.settings).words)}" if chosen.arguments else ""
            notes = "".join(f"; {note}" for note in remarks)
            console.say(f"{path.name} contains {describe(chosen.network)}{taken}{notes}")
    return chosen


def _of_file(
    path: Path, sha256: str, source: str, model: Mapping[str, Any], given: Collection[str]
) -> PretrainedWeights:
    cached, network = _cached(path, sha256, source)
    if model["name"] not in imagenet.table():
        return cached
    network = _of_model(network, path, cached.npz, str(model["name"]))
    fixed = {*given, "alpha"} if source == "imagenet" else {*given}  # by the user, except the image size
    wrong = [key for key in network.arguments if key in fixed - {"input_size"}]
    wrong = [key for key in wrong if network.arguments[key] != model.get(key)]
    if wrong:
        asked = ", ".join(f"model.{key}={model.get(key)}" for key in wrong)
        remedy = f"Remove model.{' and model.'.join(wrong)}: the file sets it."
        raise ZooError(f"{path} contains {describe(network)}, not {asked}", remedy)
    free = {key: value for key, value in network.arguments.items() if key not in given}
    arguments = {key: value for key, value in free.items() if value != model.get(key)}
    return dataclasses.replace(cached, network=network, arguments=arguments)


def _of_the_zoo(source: str, model: Mapping[str, Any], given: Collection[str]) -> PretrainedWeights:
    chosen = {key: value for key, value in model.items() if key in given}
    network, arguments = zoo_networks.start_from(str(model["name"]), source, chosen)
    cached, _ = _cached(network.weights, file_sha256(network.weights), network.source)
    other = {key: value for key, value in arguments.items() if key in model and model[key] != value}
    return dataclasses.replace(cached, arguments=other)


def _of_model(network: "Network | None", path: Path, npz: Path, name: str) -> "Network":
    from zoo.weights import io

    if network is None:
        layers = list(io.read(npz).by_layer())
        raise ZooError(
            f"{path} is not a supported network ({', '.join(imagenet.table())}): "
            f"its {len(layers)} layers with weights are {listed(layers)}",
            "Give a file of a supported network. `python -m zoo weights show FILE` lists the weights of a file.",
        )
    if network.channels != 3:
        raise ZooError(
            f"{path} contains {describe(network)} for images whose number of channels is {network.channels}, not 3",
            "Give weights that were trained on color images.",
        )
    if network.name != name:
        raise ZooError(f"{path} contains {describe(network)}, not {name}", f"Give model={network.name}.")
    return network


def describe(network: "Network") -> str:
    """Describe a network: ``mobilenet (alpha=0.25 input_size=96) with 2 classes``."""
    arguments = " ".join(f"{key}={value}" for key, value in network.arguments.items() if (key, value) != ONE_OUTPUT)
    top = f" with {network.classes:,} classes" if network.classes else ""
    return f"{network.name} ({arguments}){top}"


def _own(source: str) -> Path:
    path = user_path(source).absolute()
    if path.is_dir():
        raise file_kinds.of(path).refusal("weights")
    if path.is_file():
        return path
    if path.is_symlink():
        raise ZooError(
            f"{source} is a link to {os.readlink(path)}, which does not exist",
            "Correct the link, or give the path of the file.",
        )
    guess = nearest(source, list(WORDS)) or nearest(path.name, siblings(path))
    raise ZooError(
        f"There is no file of weights {source}{guess}",
        "weights= takes imagenet, zoo, none, or the path of a .h5, .weights.h5, .keras, .npz or .safetensors file.",
    )


def _cached(path: Path, sha256: str, source: str) -> tuple[PretrainedWeights, "Network | None"]:
    """Return the weights of a file, read from the cached ``.npz`` if there is one, and its network."""
    folder = paths.cache_dir() / "weights"
    npz = folder / f"{sha256[:32]}-{CACHE_VERSION}.npz"
    with locked(folder / f".{npz.name}.lock", f"reads {path.name}"):
        parameters, network = _kept(npz) or _read(path, npz)
    record = {"source": source, "file": str(path), "sha256": sha256, "parameters": parameters}
    return PretrainedWeights(path, npz, record), network


def _kept(npz: Path) -> tuple[int, "Network | None"] | None:
    from zoo.weights import io
    from zoo.weights.recognition import Network

    if not npz.is_file():
        return None
    try:
        count = io.read(npz).parameters
        facts = json.loads(npz.with_suffix(".json").read_text(encoding="utf-8"))
        return count, Network(**facts) if facts else None
    except (ZooError, OSError, ValueError, TypeError):
        console.warn(f"{npz} was damaged; creating it again")
        return None


def _read(path: Path, npz: Path) -> tuple[int, "Network | None"]:
    from zoo.weights import io, recognition

    weights = io.read(path)
    network = recognition.recognize(weights)
    io.write(npz, dataclasses.replace(weights, arrays=network.arrays) if network else weights)
    facts = {name: value for name, value in vars(network).items() if name != "arrays"} if network else None
    atomic_write(npz.with_suffix(".json"), json.dumps(facts))
    return weights.parameters, network

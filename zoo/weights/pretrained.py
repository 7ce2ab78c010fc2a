"""Read what ``weights=`` names: published weights, a file of the user's own, or none.

Whatever the file, the worker gets ``layer/weight`` -> float32 in an ``.npz`` of the zoo's own, kept in the cache by
the checksum of its source.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.core import console, paths, schema
from zoo.core.download import fetch
from zoo.core.errors import ZooError, nearest
from zoo.core.files import file_sha256, locked
from zoo.core.paths import siblings, user_path

if TYPE_CHECKING:
    from zoo.weights.formats import Weights

WORDS = ("imagenet", "none")
TABLE = paths.CONFIGS / "weights" / "imagenet.yaml"
CLASS_INDEX = paths.CONFIGS / "weights" / "imagenet_class_index.json"
# Part of the name of every kept file: raise it when what is made of the same source changes.
CACHE_VERSION = 1


@dataclass(frozen=True)
class PretrainedWeights:
    """Weights that a run starts from.

    Attributes:
        npz: for the worker, ``layer/weight`` -> float32.
        record: for ``run.json``: ``source``, ``file``, ``sha256``, ``parameters``.
        classes: outputs of the top, where the file has one that is known.
        hint: what to do if they do not fit the model, or "".
    """

    npz: Path
    record: dict[str, Any]
    classes: int | None
    hint: str


@dataclass(frozen=True)
class _Architecture:
    """One row of ``configs/weights/imagenet.yaml``, which explains the keys."""

    address: str
    file: str
    alphas: dict[float, str]
    sizes: list[int]
    width: dict[str, Any]
    top: str
    checksums: dict[str, dict[str, str]]
    licence: str = ""


def choose(source: str | None, model: Mapping[str, Any]) -> PretrainedWeights | None:
    """Get the weights that ``weights=`` names; None where it names none.

    Args:
        source: ``imagenet``, the path of a file, ``none`` or None.
        model: the model's settings: ``name``, and its arguments such as ``alpha`` and ``input_size``.

    Raises:
        ZooError: they were not published for this model, cannot be downloaded or checked, or cannot be read.
    """
    if source is None or source == "none":
        return None
    path = _published(model) if source == "imagenet" else _own(source)
    sha256 = file_sha256(path)
    npz, weights = _cached(path, sha256)
    parameters = sum(array.size for array in weights.arrays.values())
    record = {"source": source, "file": str(path), "sha256": sha256, "parameters": parameters}
    row = _table().get(str(model["name"]))
    return PretrainedWeights(npz, record, _classes(row, weights), _hint(row, weights, model))


def class_names(count: int) -> list[str]:
    """Name the classes of a network of which nothing more is known: ImageNet's where there are 1,000."""
    if count != 1000:
        return [f"class {number}" for number in range(count)]
    index = json.loads(CLASS_INDEX.read_text(encoding="utf-8"))
    return [index[str(number)][1] for number in range(count)]


def _table() -> dict[str, _Architecture]:
    return {name: _Architecture(**row) for name, row in schema.read_yaml(TABLE).items()}


def _published(model: Mapping[str, Any]) -> Path:
    """Return the published file for a model, from the cache or downloaded into it."""
    table, name = _table(), str(model["name"])
    if name not in table:
        raise ZooError(
            f"No weights were published for {name}", f"There are some for {', '.join(table)}; or give weights=PATH."
        )
    row = table[name]
    alpha, size = model.get("alpha"), model.get("input_size")
    _check_published("alpha", alpha, list(row.alphas))
    _check_published("input_size", size, row.sizes)
    file = row.file.format(alpha=row.alphas[float(str(alpha))], size=size)
    checksums = row.checksums.get(file)
    if checksums is None:
        return _downloaded_by_keras(row, file)
    checksum = checksums.get("sha256") or checksums["md5"]
    try:
        return fetch(file, [row.address + file], checksum, paths.cache_dir() / "downloads" / "imagenet")
    except ZooError as error:
        raise ZooError(error.message, f"{error.remedy}\nOr give a file that you have: weights=PATH") from error


def _check_published(setting: str, value: object, valid: "list[float] | list[int]") -> None:
    if value not in valid:
        listed = ", ".join(str(each) for each in valid)
        raise ZooError(
            f"No weights were published for model.{setting}={value}",
            f"Choose one of {listed}, or give weights=PATH.",
        )


def _downloaded_by_keras(row: _Architecture, file: str) -> Path:
    """Return a file of no known checksum, where Keras has downloaded it for the user."""
    path = Path.home() / ".keras" / "models" / file
    if path.is_file():
        console.say(f"Weights that Keras downloaded: {path}; no checksum of them is known")
        return path
    raise ZooError(
        f"No checksum of {file} is known, so it is not downloaded: nothing could tell it from another file",
        f"Download it yourself and give its path:\n  {row.address}{file}\n  weights=FOLDER/{file}\n"
        f"Or let Keras download it; what it keeps in {path.parent} is used.\n"
        f"Files with a known checksum: {', '.join(row.checksums)}",
    )


def _own(source: str) -> Path:
    path = user_path(source).absolute()
    if path.is_file():
        return path
    if path.is_dir():
        raise ZooError(
            f"weights={source} is a folder", "Name the file of weights; for a run of the zoo give run=FOLDER."
        )
    guess = nearest(source, list(WORDS)) or nearest(path.name, siblings(path))
    raise ZooError(
        f"There is no file of weights {source}{guess}",
        "weights= takes imagenet, none, or the path of a .h5, .weights.h5, .keras, .npz or .safetensors file.",
    )


def _cached(path: Path, sha256: str) -> tuple[Path, "Weights"]:
    """Return the zoo's own form of a file of weights, written once."""
    from zoo.weights import io

    folder = paths.cache_dir() / "weights"
    npz = folder / f"{sha256[:32]}-{CACHE_VERSION}.npz"
    with locked(folder / f".{npz.name}.lock", f"reads {path.name}"):
        if npz.is_file():
            try:
                return npz, io.read(npz)
            except ZooError:
                console.warn(f"{npz} was damaged; it is made anew")
        weights = io.read(path)
        io.write(npz, weights)
    return npz, weights


def _classes(row: _Architecture | None, weights: "Weights") -> int | None:
    top = weights.arrays.get(row.top) if row else None
    return int(top.shape[-1]) if top is not None and top.ndim else None


def _hint(row: _Architecture | None, weights: "Weights", model: Mapping[str, Any]) -> str:
    """Say what the file's own shapes tell that the settings contradict."""
    if row is None:
        return ""
    array = weights.arrays.get(row.width["weight"])
    if array is None or not array.ndim:
        others = [name for name, other in _table().items() if other.width["weight"] in weights.arrays]
        return f"these are the weights of {others[0]}: model={others[0]}" if others else ""
    alpha = round(array.shape[-1] / row.width["full"], 2)
    if abs(alpha - float(model.get("alpha", 1.0))) < 0.01:
        return ""
    return f"these are the weights of alpha {alpha:g}: model.alpha={alpha:g}"

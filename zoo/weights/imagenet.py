"""Get the ImageNet weights published by Keras: downloaded over TLS, and trusted on first use.

Keras does not publish checksums for most of them. A file without a checksum is verified at its first download. It
must be the requested network, complete and finite, and classify a test image correctly. Its SHA-256 is then stored
where ``zoo cache remove`` does not remove it, and every later download must match it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.core import console, download, paths, schema
from zoo.core.arrays import Image, NDArray, np
from zoo.core.download import fetch
from zoo.core.errors import ZooError, listed
from zoo.core.files import atomic_write, file_sha256, remove
from zoo.weights import class_names, plain_networks
from zoo.weights.formats import Arrays

TABLE = paths.CONFIGS / "weights" / "imagenet.yaml"
# scikit-learn, which the host requires, includes the image and its license.
PICTURE = "china.jpg"
# Smallest total probability of the plausible classes. Wrong weights give every class about 0.001, or one class 1.
PLAUSIBLE = 0.3
NEAR = 0.03


@dataclass(frozen=True)
class Architecture:
    """A row of ``configs/weights/imagenet.yaml``, which explains the keys."""

    address: str
    file: str
    alphas: dict[float, str]
    sizes: list[int]
    checksums: dict[str, dict[str, str]]
    licence: str = ""
    plausible: list[int] = field(default_factory=list)
    answers: dict[str, dict[int, float]] = field(default_factory=dict)

    def file_of(self, model: Mapping[str, Any]) -> str:
        for setting, valid in (("alpha", list(self.alphas)), ("input_size", self.sizes)):
            if model.get(setting) not in valid:
                raise ZooError(
                    f"No weights were published for model.{setting}={model.get(setting)}",
                    f"Choose one of {listed(map(str, valid))}, or give weights=PATH.",
                )
        return self.file.format(alpha=self.alphas[float(str(model["alpha"]))], size=model["input_size"])


def table() -> dict[str, Architecture]:
    return {name: Architecture(**row) for name, row in schema.read_yaml(TABLE).items()}


def _row(model: Mapping[str, Any]) -> Architecture:
    rows, name = table(), str(model["name"])
    if name not in rows:
        remedy = f"Choose one of {', '.join(rows)}, or give weights=PATH."
        raise ZooError(f"No weights were published for {name}", remedy)
    return rows[name]


def published(model: Mapping[str, Any], checksum: str | None) -> Path:
    """Return the published file for a model from Keras's cache or the zoo's, or download it.

    Args:
        checksum: the SHA-256 that the user requires, or None.
    """
    row = _row(model)
    file = row.file_of(model)
    known = row.checksums.get(file, {})
    expected = checksum or known.get("sha256") or noted(file)
    keras = Path.home() / ".keras" / "models" / file
    if keras.is_file() and (expected is None or file_sha256(keras) == expected):
        console.say(f"Weights that Keras downloaded: {keras}")
        return keras
    try:
        return fetch(file, [row.address + file], expected or known.get("md5"), _downloads())
    except ZooError as error:
        if expected == noted(file) != checksum:
            error.message += f"\n{_note(file)} stores the sha256 of the first download."
        error.remedy += "\nOr give a file that you have: weights=PATH"
        raise


def _downloads() -> Path:
    return paths.cache_dir() / "downloads" / "imagenet"


def _note(file: str) -> Path:
    return paths.cache_dir() / ".checksums" / f"{file}.sha256"


def noted(file: str) -> str | None:
    return download.noted(_note(file))


def reject(path: Path) -> None:
    """Remove a download without a known checksum, so that it is not used as the published file."""
    if path.parent == _downloads() and noted(path.name) is None:
        remove(path)


def accept(path: Path, model: Mapping[str, Any], arrays: "Arrays", checksum: str | None) -> None:
    """Check the predictions of a file at its first download, and store its SHA-256.

    Args:
        arrays: its weights; the caller has checked their names and shapes.
        checksum: the SHA-256 that the user requires; with it, the file is not checked.
    """
    row, sha256 = _row(model), file_sha256(path)
    if checksum or row.checksums.get(path.name, {}).get("sha256") or noted(path.name) == sha256:
        return
    said = _judged(path, row, plain_networks.probabilities(str(model["name"]), arrays, _picture(model["input_size"])))
    atomic_write(_note(path.name), sha256 + "\n", parents=True)
    console.say(
        f"{path.name} is trusted on first use, because Keras publishes no sha256 for it. Its weights have the names "
        f"and shapes of {model['name']}, are finite, and classify the image of a tower as {said}. Later downloads "
        f"must have the same sha256, stored in {_note(path.name)}. On other machines: weights.checksum={sha256}"
    )


def _judged(path: Path, row: Architecture, chances: "NDArray[Any]") -> str:
    names = class_names.of_imagenet()
    best = int(chances.argmax())
    said = f"{names[best]} ({chances[best]:.2f})"
    known = row.answers.get(path.name, {})
    wrong = [number for number, chance in known.items() if abs(float(chances[number]) - chance) > NEAR]
    if wrong or best not in row.plausible or float(chances[row.plausible].sum()) < PLAUSIBLE:
        wanted = ", ".join(f"{names[number]} ({chance:.2f})" for number, chance in known.items())
        raise ZooError(
            f"{path} is not the published network: it classifies the image of a tower as {said}"
            + (f", but the published network as {wanted}" if known else ""),
            f"Try again later. If you trust the file: weights.checksum={file_sha256(path)}",
        )
    return said


def _picture(edge: int) -> "NDArray[Any]":
    with Image.open(paths.package_folder("sklearn") / "datasets" / "images" / PICTURE) as image:
        return np.asarray(image.convert("RGB").resize((edge, edge)))

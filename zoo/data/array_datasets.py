"""Prepare data sets as arrays that the worker maps into memory."""

import dataclasses
import hashlib
from pathlib import Path

from zoo.core import paths
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError, unknown
from zoo.core.files import atomic_file, fill_once, is_sealed
from zoo.data import npy_images, sources
from zoo.data.datasets import DataRow, load_row, names
from zoo.data.sources import INPUT_SHAPE

ARRAYS = ("x_train", "y_train", "x_test", "y_test")
# Part of the name of every prepared folder: increase it when the arrays from the same sources change.
CACHE_VERSION = 3


@dataclasses.dataclass(frozen=True)
class ArrayDataset:
    """A data set ready for the worker: .npy files of uint8 images (n, 28, 28, 1) and int64 labels (n,), by array.

    ``counts`` are those of the complete parts ``train`` and ``test``; limits are applied by index. ``sha256`` covers
    all source files; ``published`` is False if they are not the published ones.
    """

    name: str
    files: dict[str, Path]
    counts: dict[str, int]
    class_names: list[str]
    input_shape: tuple[int, int, int]
    sha256: str
    source: str
    licence: str
    published: bool


def resolve(name: str, root: str | None = None) -> tuple[str, str]:
    """Return the data set that ``auto`` selects, and the reason to show; other names are returned without a reason.

    ``auto`` selects mnist if its files are in ``root``, are cached, or can be downloaded, else digits. If
    ``root`` is given, it must contain mnist.
    """
    if name not in names():
        raise unknown("data set", name, names())
    if name != "auto":
        return name, ""
    mnist = dataclasses.replace(load_row("mnist"), root=root)
    if root is not None:
        sources.in_root(mnist)
        return mnist.name, f"MNIST, from {root}"
    if is_sealed(_folder(mnist, sources.source_of(mnist).sha256)):
        return mnist.name, "MNIST, which is prepared already"
    try:
        sources.downloaded(mnist)
    except ZooError as error:
        last = error.message.splitlines()[-1].strip()
        return "digits", f"MNIST is not available and cannot be downloaded ({last})"
    return mnist.name, "MNIST, from the cache or downloaded"


def prepare(row: DataRow) -> ArrayDataset:
    """Write the arrays of a data set to the cache, once, and return their paths."""
    if row.kind == "auto":
        raise ZooError("data=auto stands for no data set yet", "Name one: data=mnist or data=digits.")
    source = sources.source_of(row)
    folder = _folder(row, source.sha256)
    fill_once(folder, f"prepares {row.name}", "arrays", lambda part: npy_images.save_arrays(part, source.read()))
    files = {name: folder / f"{name}.npy" for name in ARRAYS}
    counts = {part: len(np.load(files[f"x_{part}"], mmap_mode="r")) for part in ("train", "test")}
    return ArrayDataset(
        name=row.name, files=files, counts=counts,
        class_names=list(row.class_names), input_shape=INPUT_SHAPE, sha256=source.sha256, source=source.text,
        licence=row.licence or "unknown", published=source.published,
    )  # fmt: skip


def split(
    n_train: int, validation_fraction: float, seed: int, limit: int | None = None
) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
    """Return disjoint row indices for training and validation, which depend only on the arguments.

    A random order of all ``n_train`` images is limited to the first ``limit``. Validation gets the first part of
    these: at least one image unless the fraction is 0.
    """
    if not 0.0 <= validation_fraction < 1.0 or (limit is not None and limit < 1) or seed < 0:
        raise ZooError(
            f"Cannot split with validation {validation_fraction}, seed {seed} and limit {limit}",
            "Validation is a share, 0 <= share < 1; the seed is at least 0; a limit is at least 1 or null.",
        )
    chosen = np.random.Generator(np.random.PCG64(seed)).permutation(n_train)[:limit].astype(np.int64)
    validating = max(1, round(len(chosen) * validation_fraction)) if validation_fraction else 0
    if validating >= len(chosen):
        raise ZooError(
            f"Of {len(chosen)} images, {validating} would be for validation and none for training",
            "Raise data.train_limit or lower data.validation.",
        )
    return chosen[validating:], chosen[:validating]


def save_split(path: Path, **parts: "NDArray[np.int64]") -> Path:
    """Write the indices of each part to an .npz file without pickle; return its path."""
    with atomic_file(path) as part, part.open("wb") as stream:
        np.savez(stream, **parts)  # type: ignore[arg-type]
    return path


def _folder(row: DataRow, sha256: str) -> Path:
    key = hashlib.sha256(f"{CACHE_VERSION} {len(row.class_names)} {sha256}".encode()).hexdigest()
    return paths.cache_dir() / "data" / f"{row.name}-{key[:16]}"

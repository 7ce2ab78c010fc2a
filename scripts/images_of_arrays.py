"""Write arrays of images (.npy, .npz, .h5, .mat, .csv) as PNG files in one folder a class, which data=folder reads.

    python scripts/images_of_arrays.py set.npz FOLDER          arrays such as train_images and train_labels
    python scripts/images_of_arrays.py DIR FOLDER              X.npy and y.npy, or one file for each class
    python scripts/images_of_arrays.py pixels.csv FOLDER       a row for each image: its label, and its pixels

Parts stay apart: FOLDER/train, FOLDER/validation, FOLDER/test. Images have the shape (N, height, width), with one to
four channels first or last, or (N, values) for squares; their values are 0 to 255, 0 to 1, or true and false.
Labels are whole numbers or words, (N,), (N, 1) or (N, 1, 1, 1), or one column of 0 and 1 for each class. Next to
labels, arrays with names that end in mask are not used.
"""

import argparse
import csv
import itertools
import math
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import h5py  # type: ignore[import-untyped]
import numpy as np
import scipy.io
from PIL import Image

from scripts import conversions
from zoo.core import console
from zoo.core.errors import ZooError, listed
from zoo.core.paths import user_path
from zoo.data.images import set_parts
from zoo.protocol import memory

Arrays = dict[str, Any]
HDF5 = (".h5", ".hdf5")
LABELS = {"y", "label", "labels", "target", "targets", "class", "classes"}
# Titles of the other columns of tables of pixels, as in FER2013.
LABELS_OF_TABLES = LABELS | {"emotion", "digit", "letter", "character"}
HELP = "Save images as (N, height, width) or (N, height, width, channels), and labels as (N,): np.savez(FILE, x=, y=)"


def main(arguments: list[str] | None = None) -> int:
    """Write the images and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    about = "an .npz, .h5, .mat or .csv file, or a folder of such or .npy files"
    parser.add_argument("source", metavar="FILE|DIR", help=about)
    parser.add_argument("target", metavar="FOLDER", help="a new folder for the images")
    given = parser.parse_args(arguments)
    return conversions.run(lambda: convert(given.source, user_path(given.target)), [given.source])


def convert(source: str, target: Path) -> None:
    """Write the images of a file or folder into a new folder."""
    conversions.refuse_existing(target)
    sets = list(pairs(source, read(conversions.existing(source))))
    for label in sorted({label for _, _, labels in sets for label in labels}):
        conversions.refuse_name(label, f"{source}: the class")
    with conversions.new(target, parents=True) as folder:
        for part, images, labels in sets:
            write(folder / part, images, labels)
    for part, images, labels in sets:
        console.say(f"{target / part}: {len(images):,} images of {len(set(labels)):,} classes")
    console.say(f"To train: python -m zoo train model=mobilenet data=folder data.root={target}")


def read(source: Path) -> Arrays:
    """Return all arrays below a path by name: of its file, its key, or both."""
    kinds = (".npy", ".npz", ".mat", ".csv", *HDF5)
    files = [source] if source.is_file() else conversions.below(source, *kinds)
    arrays: Arrays = {}
    for file in files:
        with conversions.reading(file, "Is it complete? Arrays of objects are not read."):
            # MATLAB writes HDF5 since version 7.3.
            of = {".mat": of_matlab, ".csv": of_table}.get(file.suffix, of_numpy)
            of = of_hdf5 if h5py.is_hdf5(file) else of
            if of in (of_hdf5, of_matlab):
                conversions.require_harmless(of, file)
            keyed = of(file)
        for key, array in keyed.items():
            arrays[key if len(files) == 1 and key else f"{file.stem} {'' if len(keyed) == 1 else key}".strip()] = array
    if not arrays:
        raise ZooError(
            f"{source} has no array in .npy, .npz, .h5, .mat or .csv", "Name such a file, or a folder with some."
        )
    return arrays


def of_numpy(file: Path) -> Arrays:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as packed:
            size, most = sum(member.file_size for member in packed.infolist()), memory.available_bytes() or math.inf
        if 2 * size > most:
            raise ZooError(f"{file} unpacks to {size:,} bytes, and this machine has {most:,}", "Split the arrays.")
    content = np.load(file, allow_pickle=False)
    return {"": content} if isinstance(content, np.ndarray) else {key: content[key] for key in content.files}


def of_matlab(file: Path) -> Arrays:
    content = scipy.io.loadmat(file)
    return {key: array for key, array in content.items() if isinstance(array, np.ndarray)}


def of_hdf5(file: Path) -> Arrays:
    """Return the arrays of numbers or words of an HDF5 file, such as one of PCam or of a course, by their paths."""
    arrays: Arrays = {}

    def keep(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.ndim:
            words = h5py.check_string_dtype(item.dtype) is not None
            arrays[name] = np.array(item.asstr()[...], str) if words else item[...]

    with h5py.File(file, "r") as content:
        content.visititems(keep)
    return arrays


def of_table(file: Path) -> Arrays:
    """Return pixels, labels and parts of a table with a row for each image; nothing for a table without labels."""
    pixels: dict[str, list[Any]] = {}
    labels: dict[str, list[str]] = {}
    with file.open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(conversions.lines_of(stream))
        first = next(rows, [])
        titles = [] if all(map(_is_number, first)) else [title.strip().lower() for title in first]
        kept = [] if titles else [first]
        place = next((at for at, title in enumerate(titles) if title in LABELS_OF_TABLES), None)
        usage = next((at for at, title in enumerate(titles) if title in ("usage", "split", "set")), None)
        for number, row in enumerate(itertools.chain(kept, rows), 1 + bool(titles)):
            if len(row) != len(first):
                raise ValueError(f"row {number:,} has {len(row):,} cells, and the first one {len(first):,}")
            if place is None:
                place = _place_of_label(row)
                if place is None:
                    console.warn(f"Not used: {file}, which has no column of labels, such as label")
                    return {}
            part = _part_of(row[usage]) if usage is not None else ""
            cells = [cell for at, cell in enumerate(row) if at not in (place, usage)]
            values = np.array(cells[0].split() if len(cells) == 1 else cells, np.float64)
            whole = bool((values == np.round(values)).all() and values.min() >= 0 and values.max() <= 255)
            pixels.setdefault(part, []).append(values.astype(np.uint8 if whole else np.float32))
            labels.setdefault(part, []).append(row[place].strip())
    arrays: Arrays = {}
    for part, images in pixels.items():
        arrays |= {f"{part} images".strip(): np.stack(images), f"{part} labels".strip(): _numbered(labels[part])}
    return arrays


def _part_of(cell: str) -> str:
    """Return the part that a cell names; in FER2013, PublicTest was for validation."""
    return "validation" if cell.strip().lower() == "publictest" else set_parts.role_of(cell)


def _numbered(labels: list[str]) -> Any:
    return np.array([int(label) for label in labels] if all(map(str.isdecimal, labels)) else labels)


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"\s*-?\d+(\.\d*)?(e-?\d+)?\s*", cell, re.IGNORECASE) is not None


def _place_of_label(row: list[str]) -> int | None:
    """Return the first or last column of a row without titles, if the remaining ones are the pixels of a square."""
    if side(len(row) - 1) is None or side(len(row)):
        return None
    return 0 if _is_number(row[-1]) else -1 % len(row)


def side(values: int) -> int | None:
    """Return the edge of a square image of so many gray or RGB values, or None."""
    return next((edge for count in (1, 3) if (edge := math.isqrt(values // count)) ** 2 * count == values), None)


def pairs(source: str, arrays: Arrays) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield part, images (uint8) and labels of each set of images."""
    sets: dict[str, list[str]] = {}
    labels: dict[str, list[str]] = {}
    for name, array in arrays.items():
        if array.ndim > 2 and array[:1].size == 1:  # PatchCamelyon: labels of the shape (N, 1, 1, 1)
            array = arrays[name] = array.reshape(-1, 1)
        words = words_of(name)
        part = next((set_parts.WORDS[word] for word in words if word in set_parts.WORDS), "")
        if is_labels(array, words):
            labels.setdefault(part, []).append(name)
        elif array.ndim > 1:
            sets.setdefault(part, []).append(name)
    if not labels and all(part == "" for part in sets) and len(sets.get("", [])) > 1:
        names = sets[""]
        start = len(_common(names))
        pixels = [as_images(name, arrays[name]) for name in names]
        if len({images.shape[1:] for images in pixels}) == 1:
            classes = [name[start:] for name in names for _ in range(len(arrays[name]))]
            yield "", np.concatenate(pixels), classes
            return
    chosen: dict[str, list[str]] = {}
    for part, names in sets.items():
        masks = [name for name in names if labels and words_of(name)[-1] in ("mask", "masks")]
        if 0 < len(masks) < len(names):
            console.warn(f"Not used: {listed(masks)}, which are masks by their names")
            sets[part] = names = [name for name in names if name not in masks]
        if len(names) == 1 and (sizes := {len(arrays[name]) for name in labels.get(part, ())}):
            arrays[names[0]] = first_axis(arrays[names[0]], sizes)
        fitting = [name for name in labels.get(part, ()) if len(arrays[name]) == len(arrays[names[0]])]
        plain = [name for name in fitting if arrays[name].dtype.kind in "biufSU"]
        few = [name for name in plain if 2 * len(np.unique(arrays[name])) <= len(arrays[name])]
        named = [name for name in fitting if LABELS & {*words_of(name)}]
        chosen[part] = named or [name for name in few if arrays[name].dtype.kind in "iuSU"] or fitting
    if not sets or any(len(sets[part]) != 1 or len(chosen[part]) != 1 for part in sets):
        shapes = listed(f"{name} {array.shape} {array.dtype}" for name, array in arrays.items())
        raise ZooError(f"{source} has no array of labels for each array of images: {shapes}", HELP)
    for part, (name,) in sets.items():
        yield part, as_images(name, arrays[name]), as_labels(arrays[chosen[part][0]])


def first_axis(array: Any, sizes: set[int]) -> Any:
    """Return images with their number as the first axis; it is the last one in SVHN, as MATLAB writes it."""
    last = array.ndim > 2 and array.shape[0] not in sizes and array.shape[-1] in sizes
    return np.moveaxis(array, -1, 0) if last else array


def words_of(name: str) -> list[str]:
    return re.split(r"[^a-z0-9]+", name.lower())


def _common(names: list[str]) -> str:
    """Return the words that all names begin with."""
    first, last = min(names), max(names)
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return re.sub(r"[A-Za-z0-9]*$", "", first[:same])


def is_labels(array: Any, words: list[str]) -> bool:
    """Return whether an array holds labels, by its name, or by its shape and values."""
    flat = array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)
    one_hot = (
        array.ndim == 2 and array.dtype.kind in "biuf" and np.isin(array, (0, 1)).all() and (array.sum(1) == 1).all()
    )
    return flat or (bool(LABELS & {*words}) and array.ndim == 2) or bool(one_hot)


def as_labels(array: Any) -> list[str]:
    """Return the class of each item as a word."""
    if array.dtype.kind not in "biufSU":
        raise ZooError(f"The labels are {array.dtype}, and not whole numbers or words", HELP)
    if array.ndim == 2 and array.shape[1] > 1:
        if not (np.isin(array, (0, 1)).all() and (array.sum(1) == 1).all()):
            raise ZooError(f"The labels of shape {array.shape} have several classes a row, or none", HELP)
        array = array.argmax(1)
    flat = array.reshape(-1)
    if flat.dtype.kind == "f" and (flat == np.round(flat)).all():
        flat = flat.astype(np.int64)
    if flat.dtype.kind not in "biuSU":
        raise ZooError(f"The labels are {flat.dtype}, and not whole numbers or words", HELP)
    width = len(str(flat.max())) if flat.dtype.kind in "iu" else 0
    return [each.decode() if isinstance(each, bytes) else str(each).zfill(width) for each in flat.tolist()]


def as_images(name: str, array: Any) -> Any:
    """Return images as uint8 of shape (N, height, width) or (N, height, width, channels)."""
    if array.ndim == 2:
        edge = side(array.shape[1])
        if edge is None:
            raise ZooError(f"{name}: rows of {array.shape[1]} values are not square images", HELP)
        array = array.reshape(-1, edge, edge) if edge * edge == array.shape[1] else _in_color(array, edge)
    if array.ndim == 4 and array.shape[1] in (1, 3, 4) and array.shape[3] > 4:
        array = array.transpose(0, 2, 3, 1)
    if array.ndim == 4 and array.shape[3] == 1:
        array = array[..., 0]
    if array.ndim not in (3, 4) or (array.ndim == 4 and array.shape[3] not in (3, 4)) or array.dtype.kind not in "biuf":
        raise ZooError(f"{name} has the shape {array.shape} and type {array.dtype}, not that of images", HELP)
    if array.size and array.dtype == np.uint8:
        return array
    if not array.size or not np.isfinite(array).all() or array.min() < 0 or array.max() > 255:
        raise ZooError(f"{name} has no values, or values outside of 0 to 255", "Scale them to 0 to 255, as uint8.")
    scale = 255 if array.dtype.kind in "bf" and array.max() <= 1 else 1
    return np.round(array.astype(np.float64) * scale).astype(np.uint8)


def _in_color(array: Any, edge: int) -> Any:
    """Return rows of RGB values as images: pixel by pixel or channel by channel, whichever is smoother."""
    readings = array.reshape(-1, edge, edge, 3), array.reshape(-1, 3, edge, edge).transpose(0, 2, 3, 1)
    return min(readings, key=lambda images: float(np.abs(np.diff(images[:1000].astype(np.float32), axis=2)).mean()))


def write(folder: Path, images: Any, labels: list[str]) -> None:
    """Write each image into the folder of its class."""
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / label / f"{number:06}.png")


if __name__ == "__main__":
    sys.exit(main())

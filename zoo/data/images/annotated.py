"""Recognize data sets for detection and segmentation, so that their masks and label files do not become classes."""

import itertools
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from zoo.core.arrays import np
from zoo.core.errors import ZooError
from zoo.core.files import files_below
from zoo.data import datasets
from zoo.data.images import decode, set_parts, unknown_kinds

_MASKS = set(
    "mask masks label labels annotation annotations gt ground truth segmentation segmentations trimap".split()  # noqa: SIM905
)
_IMAGES = set("image images img imgs original originals input inputs source data jpegimages".split())  # noqa: SIM905
_LABEL_FILES = (".txt", ".xml", ".json", ".csv")
_END_OF_MASK = re.compile(r"[ _.-]+(masks?|seg|segmentation|labels?|gt|manual1|groundtruth|L)\d*$", re.IGNORECASE)
_SAMPLES = 20
# Boxes in the files of Pascal VOC, COCO and YOLO, and in tables.
# Possessive: the digits of a long line of other numbers can be divided in very many ways.
_BOXES = re.compile(
    rb'<bndbox>|"bbox"\s*:\s*\[|\A(\d+( [01]?\.\d++){4}\s*)+\Z|\A[^\n]*\b(x_?min|bbox|roi\.x1)\b', re.IGNORECASE
)
_LISTED = 20_000
# With more folders than these, only names are compared: reading images of each would take too long.
_FEW = 6
_CLASSIFY = "A classifier needs a folder for each class, without masks and label files"


def check(path: Path) -> list[str]:
    """Raise an error if a folder, or one up to two levels below, holds masks or label files of its images.

    Return a note on a file of boxes next to folders that may be classes.
    """
    notes: list[str] = []
    levels = list(_levels(path, 2))
    for folder in [path.parent] * set_parts.says_nothing(path.name, path.parent.name) + levels:
        _refuse_tags(path, folder)
    for folder in levels:
        if file := _file_of_boxes(folder):
            full = [name for level in levels for name in set_parts.folders_of_images(level)]
            full += [folder.name] * (folder != path)
            if all(set_parts.says_nothing(name, folder.parent.name) for name in full):
                raise ZooError(
                    f"{file} contains boxes around objects: a data set for detection, which the zoo does not train",
                    "A classifier needs a folder for each class: DIR/cat/1.jpg, DIR/dog/2.jpg, ...",
                )
            notes = [f"Not used: the boxes around objects in {file}. Whole images are learned"]
        names = set_parts.subfolders(folder)
        full = [name for name in names if next(decode.iter_images(folder / name), None)]
        for annotations, images, what in _pairs(folder, names, full):
            inner = set_parts.wrapped(folder / images) or folder / images
            classes = set_parts.folders_of_images(inner)
            further = not set_parts.part_of(images) and any(
                not set_parts.part_of(name) or set_parts.folders_of_images(inner / name) for name in classes
            )
            if further and folder != path and set_parts.part_of(folder.name):
                notes.append(f"Not used: {what} in {folder / annotations}")
                continue
            raise ZooError(
                f"{folder / annotations} contains {what} of the images in {images}: a data set for detection or "
                "segmentation",
                f"The class folders are further down: {set_parts.as_root(inner)}"
                if further
                else f"{_CLASSIFY}: DIR/cat/1.jpg, ... "
                + (_way(path, folder / annotations, images) or set_parts.names_note(folder / images)),
            )
        for name in full[:_FEW]:
            if mask := _mask_next_to_image(folder / name):
                stem = Path(mask).stem
                end = stem[len(_END_OF_MASK.sub("", stem)) :].rstrip("0123456789")
                find = f"cd {shlex.quote(str(folder))} && find . -name {shlex.quote(f'*{end}*')}"
                move = 'mkdir -p "../masks/${f%/*}"; mv "$f" "../masks/$f"; done'
                raise ZooError(
                    f"{folder / name} contains masks next to its images, such as {mask}",
                    f"{_CLASSIFY}. If they belong to the class, add data.layout=classes.\n"
                    f"To move them to a folder of masks: {find} | while read -r f; do {move}",
                )
    return notes


def _refuse_tags(path: Path, folder: Path) -> None:
    """Raise an error for a file with the classes of images, as CVAT writes it."""
    for file in sorted(folder.glob("*.xml")):
        content = file.open("rb").read(1 << 20) if file.is_file() else b""
        if b"<annotations>" in content[:200] and re.search(rb"<image [^>]*>\s*<tag [^>]*label=", content):
            raise ZooError(
                f"{file} contains the classes of the images, as CVAT writes them",
                f"Write them as a table: {datasets.table_command('cvat', file, 'labels.csv', images=path)}. "
                "If the folders are the classes, move the file elsewhere.",
            )


def _way(path: Path, labels: Path, images: str) -> str:
    """Return what may help: folders that can be classes, or a table of label files of YOLO."""
    if len([name for name in set_parts.folders_of_images(path) if not set_parts.part_of(name)]) > 1:
        if labels.parent == path:
            return " If every folder is a class, add data.layout=classes."
        apart = [name for name in set_parts.folders_of_images(path) if not labels.is_relative_to(path / name)]
        if labels.parent.parent != path and (inner := [set_parts.wrapped(path / name) or path for name in apart]):
            return f". Another folder: {set_parts.as_root(inner[0])}"
        name = labels.name.replace(labels.parent.name, "${d%/}")
        move = f'mv "${{d}}{name}" "../masks of ${{d%/}}"; done'
        return f"\nTo move them out of each class: cd {shlex.quote(str(path))} && for d in */; do {move}"
    texts = [file for file in itertools.islice(labels.rglob("*.txt"), _SAMPLES) if file.is_file()]
    if not any(_BOXES.search(file.open("rb").read(unknown_kinds.END_BYTES)) for file in texts):
        return ""
    then = " data.label_column=label\nOr, for all boxes of each: data.label_column=labels data.target=labels"
    table = datasets.table_command("yolo", path, None, "--folders", images, labels.name, images=path, then=then)
    return f"\nTo classify by the first box of each image: {table}"


def _levels(path: Path, depth: int) -> Iterator[Path]:
    yield path
    if depth:
        full = set_parts.folders_of_images(path)
        for name in [name for name in full if os.access(path / name, os.R_OK | os.X_OK)][:3]:
            yield from _levels(path / name, depth - 1)


def _pairs(folder: Path, names: list[str], full: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield pairs of folders with annotations and their images, and the kind of the annotations."""
    for name in names if full else ():
        if name not in full:
            every = files_below(folder / name, lambda *_: None)
            files = [file for file in every if file.lower().endswith(_LABEL_FILES)][:_SAMPLES]
            if all(_is_prose(folder / name / file) for file in files):
                continue
            stems = [Path(file).stem for file in files]
            stems = [Path(stem).stem if Path(stem).suffix.lower() in decode.SUFFIXES else stem for stem in stems]
            labeled = [images for images in full if _same(stems, folder / images)]
            yield from ((name, images, "label files") for images in labeled if len(labeled) == 1)
            continue
        named, words = _words(name) <= _MASKS, _words(name) & _MASKS
        for images in full if named or len(full) <= _FEW else ():
            stems = [_END_OF_MASK.sub("", Path(file).stem) for file in _first(folder / name)]
            by_name = (named and _words(images) <= _IMAGES) or (words and _words(images) == _words(name) - words)
            # Images of several classes may be numbered alike.
            alike = (by_name or named or len(full) < 3) and _same(stems, folder / images)
            paired = images != name and ((named and by_name) or alike)
            if paired and (by_name or _are_masks(folder, name, images, named)):
                yield name, images, "masks"


def _is_prose(path: Path) -> bool:
    """Return whether a file of text, such as a report or caption, has far more letters than digits."""
    start = unknown_kinds.head_of(path)[:200]
    letters, digits = (len(re.findall(kind, start)) for kind in (rb"[A-Za-z]", rb"\d"))
    return path.suffix.lower() == ".txt" and letters > 2 * digits


def _file_of_boxes(folder: Path) -> Path | None:
    """Return a file in a folder, or in its folder of annotations, with boxes of objects, or None."""
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith(_LABEL_FILES))
    files = [*(folder / name for name in names), *sorted(folder.glob("annotations/*.json"))]
    for file in itertools.islice(filter(Path.is_file, files), _SAMPLES):
        if _BOXES.search(unknown_kinds.ends_of(file)):  # the boxes follow the images
            return file
    return None


def _words(name: str) -> set[str]:
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())) or {name}


def _first(folder: Path, count: int = _SAMPLES) -> list[str]:
    return list(itertools.islice(decode.iter_images(folder), count))


def _same(stems: list[str], images: Path) -> bool:
    every = {Path(name).stem for name in _first(images, _LISTED)}
    return bool(stems) and sum(stem in every for stem in stems) >= 0.9 * len(stems)


def _mask_next_to_image(folder: Path) -> str:
    names = _first(folder)
    stems = {Path(name).with_suffix("").as_posix() for name in names}
    masks = [name for name in names if (end := _END_OF_MASK.search(Path(name).stem)) and
             Path(name).with_suffix("").as_posix().removesuffix(end[0]) in stems]  # fmt: skip
    return masks[0] if len(masks) * 4 >= len(names) else ""


def _are_masks(folder: Path, masks: str, images: str, named: bool) -> bool:
    """Return whether ``masks`` are flat, and the images of the same names and sizes are not.

    Without a name such as masks, each image needs one: a sample, or drawings of the same classes, are fewer.
    """
    if not named:
        counts = sorted(len(_first(folder / name, _LISTED)) for name in (masks, images))
        if counts[0] < 0.9 * counts[1]:
            return False
    mask = _first(folder / masks, 1)[0]
    stem = _END_OF_MASK.sub("", Path(mask).stem)
    image = next((name for name in _first(folder / images, _LISTED) if Path(name).stem == stem), None)
    try:
        return (
            image is not None
            and decode.open_upright(folder / masks / mask).size == decode.open_upright(folder / images / image).size
            and _are_flat(folder / masks)
            and not _are_flat(folder / images)
        )
    except decode.UnreadableError:  # reported when it is decoded
        return False


def _are_flat(folder: Path) -> bool:
    """Return whether most images are as flat as masks: 90% of the pixels fall into 4 of 32 gray levels."""
    shares = []
    for name in _first(folder, 5):
        grays = np.asarray(decode.to_rgb(decode.open_upright(folder / name)).convert("L")) >> 3
        shares.append(np.sort(np.bincount(grays.ravel(), minlength=32))[-4:].sum() / grays.size)
    return bool(np.median(shares) >= 0.9)

"""Recognize data sets for detection and segmentation, so that their masks and label files do not become classes."""

import itertools
import os
import re
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path

from zoo.core.arrays import np
from zoo.core.errors import ZooError, listed
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
    for folder in [path.parent] * (set_parts.role_of(path.name) == "train") + levels:
        _refuse_defects(folder)
    for folder in levels:
        if file := _file_of_boxes(folder):
            full = [name for level in levels for name in set_parts.folders_of_images(level)]
            full += [folder.name] * (folder != path)
            if all(set_parts.says_nothing(name, folder.parent.name) for name in full):
                raise ZooError(
                    f"{file} contains boxes around objects: a data set for detection, which the zoo does not train",
                    re.sub("[.;] [Oo]r: $", "", set_parts.labels_note(path, "Labels", ""))
                    or "A classifier needs a folder for each class: DIR/cat/1.jpg, DIR/dog/2.jpg, ...",
                )
            notes = [f"Not used: the boxes around objects in {file}. Whole images are learned"]
        names, full = set_parts.subfolders(folder), set_parts.folders_of_images(folder)
        for annotations, images, what in _pairs(folder, names, full):
            roots = [] if set_parts.part_of(images) else [*_class_roots(folder / images)]
            if roots and folder != path and set_parts.part_of(folder.name):
                notes.append(f"Not used: {what} in {folder / annotations}")
                continue
            roots = [*dict.fromkeys([*roots, *_class_roots(path)])] * bool(roots)
            raise ZooError(
                f"{folder / annotations} contains {what} of the images in {images}: a data set for detection or "
                "segmentation",
                f"The class folders are further down: {listed(map(set_parts.as_root, roots), ' or ', most=5)}"
                if roots
                else f"{_CLASSIFY}: DIR/cat/1.jpg, ... {_way(path, folder / annotations, images)}",
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


def _refuse_defects(folder: Path) -> None:
    """Raise an error for parts of which only the test part has several classes, such as intact and defect objects."""
    parts = {set_parts.role_of(name): name for name in set_parts.folders_of_images(folder)}
    trained, tested = (set_parts.folders_of_images(folder / parts.get(part, "-")) for part in ("train", "test"))
    if len(trained) == 1 and len(tested) > 1 and trained[0] in tested:
        test = folder / parts["test"]
        raise ZooError(
            f"{folder / parts['train']} contains only the class {trained[0]!r}, and {test} contains {listed(tested)}: "
            "a data set for anomaly detection, which the zoo does not train",
            "A classifier needs training images of each class. To divide the test images into parts and learn their "
            f"classes: {set_parts.as_root(test)}",
        )


def masks_in(folder: Path, files: list[str]) -> set[str]:
    """Return the folders in a class folder that contain masks of its other images, given the names of all images."""
    inner = sorted({file.partition("/")[0] for file in files if "/" in file})
    direct = {Path(file).stem for file in files if "/" not in file}
    masks = {name for name, *_ in _pairs(folder, inner, inner)} if 1 < len(inner) <= _FEW else set[str]()
    return masks | {name for name in inner if _words(name) <= _MASKS and _masks_of(_first(folder / name)) <= direct}


def _class_roots(path: Path, depth: int = 4) -> Iterator[Path]:
    """Yield the folders below that contain class folders, without folders of masks."""
    full = set_parts.folders_of_images(path)
    masks = {name for name, *_ in _pairs(path, full, full)}
    leaves = [name for name in full if not set_parts.folders_of_images(path / name)]
    if set_parts.are_parts(full) if len(leaves) < len(full) else len(full) > 1 and not set_parts.are_parts(full):
        yield path
    elif depth:
        yield from (root for name in full if name not in masks for root in _class_roots(path / name, depth - 1))


def _way(path: Path, labels: Path, images: str) -> str:
    """Return what may help: folders that can be classes, a table of labels, or one of label files of YOLO."""
    classes = [name for name in set_parts.folders_of_images(path) if not set_parts.part_of(name)]
    if len(classes) > 1 and not (labels.parent == path and _words(images) <= _IMAGES):
        if labels.parent == path:
            return f" Move {labels.name} elsewhere. If every folder is a class, add data.layout=classes."
        apart = [name for name in classes if not labels.is_relative_to(path / name)]
        if labels.parent.parent != path and apart:
            return f". Another folder: {set_parts.as_root(set_parts.wrapped(path / apart[0]) or path)}"
        return f"\nIf {listed(classes, most=5)} are the classes: add data.layout=classes, which leaves out such folders"
    texts = [file for file in itertools.islice(labels.rglob("*.txt"), _SAMPLES) if file.is_file()]
    voc = any(labels.rglob("*.xml"))
    if not voc and not any(_BOXES.search(file.open("rb").read(unknown_kinds.END_BYTES)) for file in texts):
        return (
            f"\n{set_parts.labels_note(path, 'Labels', '. ')}{set_parts.names_note(labels.with_name(images))}".rstrip()
        )
    then = " data.label_column=label\nOr, for all boxes of each: data.label_column=labels data.target=labels"
    words = ("voc", path, None) if voc else ("yolo", path, None, "--folders", images, labels.name)
    table = datasets.table_command(*words, images=path, then=then)
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
            belong = _masks_of(_first(folder / name))
            by_name = (named and _words(images) <= _IMAGES) or (words and _words(images) == _words(name) - words)
            # Images of several classes may be numbered alike.
            alike = (by_name or named or len(full) < 3) and _same(belong, folder / images)
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


def _masks_of(files: list[str]) -> set[str]:
    """Return the names, without suffixes, of the images that masks belong to."""
    return {_END_OF_MASK.sub("", Path(file).stem) for file in files}


def _same(stems: Collection[str], images: Path) -> bool:
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

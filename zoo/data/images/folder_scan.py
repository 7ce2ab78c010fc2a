"""List the images in a folder of classes, with class and part of each."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from zoo.core.errors import ZooError, counted, listed, nearest
from zoo.core.paths import refuse_unspellable, siblings, user_path
from zoo.data.images import annotated, decode, set_parts

LAYOUT = (
    "Put the images of each class in a separate folder: DIR/cat/1.jpg, DIR/dog/2.jpg, ..., or such folders below "
    "DIR/train and DIR/val."
)
# Suffixes of files that may hold the labels of images, most likely first, and names of those that do not.
_TABLES = (".csv", ".tsv", ".jsonl", ".parquet", ".mat", ".xlsx", ".xls", ".json", ".xml", ".txt")
_PROSE = re.compile(r"read.?me|licen[sc]e|requirements|copying|changelog", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class FolderListing:
    """The images in a folder of classes.

    Attributes:
        class_names: names of the class folders, sorted.
        names: of all files with the suffix of an image, relative to ``root``.
        labels: for each name, the index of its class.
        parts: for each name, ``train``, ``validation`` or ``test``; empty if there is only one level.
        unreadable: (name, reason) of what could not be listed.
        empty_classes: names of class folders without images.
        notes: how the folder was read and what is not used, one sentence each.
    """

    root: Path
    class_names: list[str]
    names: list[str]
    labels: list[int]
    parts: list[str]
    unreadable: list[tuple[str, str]]
    empty_classes: list[str]
    notes: list[str]


def scan(root: str | None, layout: str = "auto") -> FolderListing:
    """List a folder with one folder per class, or with such folders below the parts of a data set.

    Args:
        layout: ``auto``, or ``classes`` to take every folder as a class.
    """
    if not root:
        raise ZooError("data=folder needs a folder", f"Add data.root=DIR. {LAYOUT}")
    path = user_path(root)
    folders = subfolders(path)
    if layout != "classes":
        annotated.refuse(path)
    parts = {} if layout == "classes" else part_folders(path, folders)
    return _in_parts(path, parts) if parts else _listing(path, [("", "", name) for name in folders])


def part_folders(path: Path, folders: list[str], refuse: bool = True) -> dict[str, str]:
    """Return the parts of a data set in a folder: part -> name of its folder; empty if the folders are classes.

    With ``refuse``, raise an error for ambiguous folders.
    """
    inside = {name: set_parts.folders_of_images(path / name) for name in folders}
    parts = set_parts.find(path, folders, inside)
    if refuse and not parts:
        set_parts.refuse_ambiguous(path, folders, inside)
    return parts


def subfolders(path: Path) -> list[str]:
    """List the folders in a folder, including links, without hidden and system folders."""
    try:
        if not path.is_dir():
            what = "is a file" if path.exists() else f"does not exist{nearest(path.name, siblings(path))}"
            raise ZooError(f"data.root={path} {what}", f"Give a folder. {LAYOUT}")
        return set_parts.subfolders(path)
    except OSError as error:
        raise ZooError(
            f"The folder {path} cannot be listed: {error.strerror or error}", "Check that you may read it."
        ) from error


def _in_parts(path: Path, parts: dict[str, str]) -> FolderListing:
    if "train" not in parts:
        raise ZooError(f"{path} contains {listed(parts.values())}, but no folder for training such as train/", LAYOUT)
    classes = subfolders(path / parts["train"])
    chosen, notes = [], [f"Parts: {', '.join(f'{name}/ is the {part} part' for part, name in parts.items())}"]
    for part, folder in parts.items():
        own = subfolders(path / folder)
        flat = [] if own or part == "train" else list(decode.iter_images(path / folder))
        if flat:
            notes.append(
                f"{folder}/ contains {counted(len(flat), 'image')} without class folders, which are not used, and no "
                f"other {part} part is drawn. Classify them with: python -m zoo infer run=last input={path / folder}"
            )
        unknown = sorted(set(own) - set(classes))
        if unknown:
            raise ZooError(
                f"{path / folder} has classes that {parts['train']}/ does not have: {listed(map(repr, unknown))}"
                f"{nearest(unknown[0], classes)}",
                "Each class needs images for training: add its folder there, or remove it here.",
            )
        chosen += [(part, folder + "/", name) for name in own]
    return _listing(path, chosen, notes)


def _listing(path: Path, chosen: list[tuple[str, str, str]], notes: Sequence[str] = ()) -> FolderListing:
    unreadable: list[tuple[str, str]] = []
    files_by_class = {
        (part, prefix, name): [
            f"{prefix}{name}/{file}" for file in decode.iter_images(path / prefix / name, unreadable)
        ]
        for part, prefix, name in chosen
    }
    trained = {name for (part, _, name), files in files_by_class.items() if files and part in ("", "train")}
    classes = sorted(trained)
    refuse_unspellable(classes, path)
    if len(classes) < 2:
        inner, table = set_parts.wrapped(path), _table(path)
        remedy = f"Labels are not read from files such as {table}. {LAYOUT}" if table else LAYOUT
        if inner not in (None, path):
            remedy, table = f"The class folders are further down: data.root={inner}", ""
        raise ZooError(f"{path} {_what_is_there(path, chosen, classes, unreadable, table)}", remedy)
    number = {name: index for index, name in enumerate(classes)}
    rows = [
        (file, number[name], part)
        for (part, _, name), files in files_by_class.items()
        if name in trained
        for file in files
    ]
    return FolderListing(
        root=path,
        class_names=classes,
        names=[file for file, _, _ in rows],
        labels=[label for _, label, _ in rows],
        parts=[part for _, _, part in rows if part],
        unreadable=unreadable,
        empty_classes=sorted({name for _, _, name in chosen} - trained),
        notes=[*notes, _counts(classes, files_by_class)],
    )


def _counts(classes: list[str], files_by_class: dict[tuple[str, str, str], list[str]]) -> str:
    sizes: dict[str, list[str]] = {name: [] for name in classes}
    for (part, _, name), files in files_by_class.items():
        if name in sizes:
            sizes[name].append(f"{len(files):,} {part}".rstrip())
    shown = listed(f"{name} ({', '.join(counts)})" for name, counts in sizes.items())
    return f"{len(classes):,} classes: {shown}"


def _table(path: Path) -> str:
    """Return the name of a file in a folder, or one level below, that may hold labels; empty without one."""
    files = [file for file in (*sorted(path.glob("*")), *sorted(path.glob("*/*"))) if file.suffix.lower() in _TABLES]
    likely = [file for file in files if not _PROSE.match(file.name)]
    likely.sort(key=lambda file: _TABLES.index(file.suffix.lower()))
    return likely[0].relative_to(path).as_posix() if likely else ""


def _what_is_there(
    path: Path, chosen: list[tuple[str, str, str]], classes: list[str], unreadable: list[tuple[str, str]], table: str
) -> str:
    """Explain why a folder has fewer than two classes, to follow its name."""
    reasons = "".join(f"\n  {name}: {reason}" for name, reason in unreadable[:10])
    if classes and not table:
        return f"contains only one class, {classes[0]!r}; a classifier needs at least two{reasons}"
    if chosen and not classes:
        return f"has folders ({listed(name for _, _, name in chosen)}) without images{reasons}"
    loose = next(decode.iter_images(path), None)
    return f"has images such as {loose!r}, but no class folders{reasons}" if loose else "is empty"

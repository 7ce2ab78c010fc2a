"""List the pictures in a folder of classes, with the class and the part that each belongs to."""

import dataclasses
from pathlib import Path

from zoo.core.errors import ZooError, listed, nearest
from zoo.core.paths import refuse_unspellable, siblings, user_path
from zoo.data.images import decode

LAYOUT = (
    "Put the pictures of each class in a folder of its own: DIR/cat/1.jpg, DIR/dog/2.jpg, ..., or such folders below "
    "DIR/train and DIR/val."
)
# What people call the parts of a data set -> what the zoo calls them.
PARTS = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "test": "test",
}
# Folders that systems lay beside those of the user.
OF_SYSTEMS = ("__MACOSX", "@eaDir")


@dataclasses.dataclass(frozen=True)
class FolderListing:
    """The pictures in a folder of classes.

    Attributes:
        root: the folder.
        class_names: names of the class folders, sorted.
        names: of all files called like pictures, relative to ``root``.
        labels: for each of them, the index of its class.
        parts: for each of them ``train``, ``validation`` or ``test``; empty where there is only one level.
        unreadable: (name, reason) of what could not be listed.
        empty_classes: names of class folders without a single picture.
    """

    root: Path
    class_names: list[str]
    names: list[str]
    labels: list[int]
    parts: list[str]
    unreadable: list[tuple[str, str]]
    empty_classes: list[str]


def scan(root: str | None) -> FolderListing:
    """Look through a folder with one folder a class, or with such folders below ``train``, ``val`` and ``test``."""
    if not root:
        raise ZooError("data=folder needs to know which", f"Give data.root=DIR. {LAYOUT}")
    path = user_path(root)
    folders = subfolders(path)
    parts = part_folders(path, folders)
    return _in_parts(path, parts) if parts else _listing(path, [("", "", name) for name in folders])


def part_folders(path: Path, folders: list[str]) -> list[str]:
    """Return those of the folders in a folder that are the parts of a data set; none where they are classes."""
    named = [name for name in folders if name.lower() in PARTS]
    others = [name for name in folders if name not in named]
    if others and len({PARTS[name.lower()] for name in named}) < 2:  # a class may be called train
        return []
    full = [name for name in others if next(decode.iter_images(path / name), None)]
    if full:
        raise ZooError(
            f"{path} holds {listed(named)}, which are parts of a data set, and {listed(full)} with pictures too",
            f"Move elsewhere what is no part of it. {LAYOUT}",
        )
    return named


def subfolders(path: Path) -> list[str]:
    """List the folders in a folder, links to folders included; hidden ones and those of systems are skipped."""
    try:
        if not path.is_dir():
            what = "is a file" if path.exists() else f"does not exist{nearest(path.name, siblings(path))}"
            raise ZooError(f"data.root={path} {what}", f"Give a folder. {LAYOUT}")
        names = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
        return [name for name in names if not name.startswith(".") and name not in OF_SYSTEMS]
    except OSError as error:
        raise ZooError(
            f"The folder {path} cannot be listed: {error.strerror or error}", "Check that you may read it."
        ) from error


def _in_parts(path: Path, folders: list[str]) -> FolderListing:
    """List a folder whose first level are the parts of the data set."""
    named = {PARTS[name.lower()]: name for name in folders}
    if len(named) < len(folders) or "train" not in named:
        raise ZooError(
            f"{path} holds {listed(folders)}: one of them must be train/, beside it there may be val/ and test/",
            LAYOUT,
        )
    classes = subfolders(path / named["train"])
    chosen = []
    for part, folder in named.items():
        own = subfolders(path / folder)
        unknown = sorted(set(own) - set(classes))
        if unknown:
            raise ZooError(
                f"{path / folder} has classes that {named['train']}/ has not: {listed(map(repr, unknown))}"
                f"{nearest(unknown[0], classes)}",
                "Each class needs pictures to train on: add its folder there, or remove it here.",
            )
        chosen += [(part, folder + "/", name) for name in own]
    return _listing(path, chosen)


def _listing(path: Path, chosen: list[tuple[str, str, str]]) -> FolderListing:
    """List the pictures of (part, prefix, class) triples."""
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
        raise ZooError(f"{path} {_what_is_there(path, chosen, classes, unreadable)}", LAYOUT)
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
    )


def _what_is_there(
    path: Path, chosen: list[tuple[str, str, str]], classes: list[str], unreadable: list[tuple[str, str]]
) -> str:
    """Explain why a folder has fewer than two classes, in words that follow its name."""
    reasons = "".join(f"\n  {name}: {reason}" for name, reason in unreadable[:10])
    if classes:
        return f"has pictures of one class only, {classes[0]!r}: there is nothing to tell it from{reasons}"
    if chosen:
        return f"has folders ({listed(name for _, _, name in chosen)}), but no picture in them{reasons}"
    loose = next(decode.iter_images(path), None)
    return f"has pictures such as {loose!r}, but no folders that name classes" if loose else "is empty"

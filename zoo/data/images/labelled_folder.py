"""Go through a folder of labelled images without holding their names: one folder a class, or such below parts."""

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path

from zoo.core.errors import ZooError, listed
from zoo.core.paths import refuse_unspellable, user_path
from zoo.data.images import decode, folder_scan, set_parts

# Of a data set in parts, the first of these is taken: what was trained on says little.
PREFERRED = ("test", "validation", "train")


@dataclasses.dataclass(frozen=True)
class LabelledFolder:
    """A folder of labelled images.

    Attributes:
        root: the folder that holds the folders of the classes.
        folders: their names, sorted; those without an image are left out.
        counts: images of each, called like images.
        part: of the data set, as its folder is called; empty where it has no parts.
        unreadable: (name, reason) of folders that cannot be listed.
    """

    root: Path
    folders: list[str]
    counts: list[int]
    part: str
    unreadable: list[tuple[str, str]]

    def names(self, limit: int | None = None) -> Iterator[tuple[str, Path]]:
        """Yield name and path of each image: of a class after the other or, with a limit, of each class in turn."""
        classes = [self._of(folder) for folder in self.folders]
        if limit is None:
            return itertools.chain.from_iterable(classes)
        in_turn = itertools.chain.from_iterable(itertools.zip_longest(*classes))
        return itertools.islice((each for each in in_turn if each is not None), limit)

    def _of(self, folder: str) -> Iterator[tuple[str, Path]]:
        for name in decode.iter_images(self.root / folder):
            yield f"{folder}/{name}", self.root / folder / name


def find(root: str) -> LabelledFolder:
    """Find the folders of the classes."""
    path, part = user_path(root), ""
    folders = folder_scan.subfolders(path)
    parts = folder_scan.part_folders(path, folders, refuse=False)
    if parts:
        given = [parts[name] for name in PREFERRED if name in parts]
        part = next((name for name in given if set_parts.folders_of_images(path / name)), given[0])
        path = path / part
        folders = folder_scan.subfolders(path)
    refuse_unspellable(folders, path)
    unreadable: list[tuple[str, str]] = []
    counts = {name: sum(1 for _ in decode.iter_images(path / name, unreadable)) for name in folders}
    full = [name for name in folders if counts[name]]
    if not full:
        content = f"folders ({listed(folders)}), but no image in them" if folders else "no folders that name classes"
        raise ZooError(f"{path} has {content}", folder_scan.LAYOUT)
    return LabelledFolder(path, full, [counts[name] for name in full], part, unreadable)


def folder_of(name: str) -> str:
    """Return the folder of a class that an image lies in."""
    return name.partition("/")[0]

"""Iterate over labeled images: class folders, optionally below parts, without storing all names; or a table."""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from zoo.config.schemas.image_classification import TableReading
from zoo.core import console
from zoo.core.errors import ZooError, listed
from zoo.core.paths import refuse_unspellable, user_path
from zoo.data.images import decode, folder_scan, image_table, set_parts
from zoo.data.targets import Targets

# Of several parts, the first of these is used, because results on training data mean little.
PREFERRED = ("test", "validation", "train")


@dataclasses.dataclass(frozen=True)
class LabelledFolder:
    """A folder of labeled images.

    Attributes:
        root: the parent of the class folders, or of the images of a table.
        folders: the names of the classes, sorted, without those that contain no image.
        part: name of the data set part's folder; empty without parts.
        unreadable: (name, reason) of folders that cannot be listed, and of unused rows of a table.
        table: the table that gives the classes, if any.
        files: names of the images of the table by class; ``classes`` has the class of each printable name.
        targets: several labels or a number for each image of ``rows``, if the table gives these.
    """

    root: Path
    folders: list[str]
    counts: list[int]
    part: str
    unreadable: list[tuple[str, str]]
    table: Path | None = None
    files: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    classes: dict[str, str] = dataclasses.field(default_factory=dict)
    targets: Targets | None = None
    rows: list[str] = dataclasses.field(default_factory=list)

    @property
    def source(self) -> Path:
        return (self.table or self.root).absolute()

    def class_of(self, name: str) -> str:
        return self.classes.get(console.escape_controls(name, keep="")) or name.partition("/")[0]

    def names(self, limit: int | None = None) -> Iterator[tuple[str, Path]]:
        """Yield the name and path of each image, class by class or, with a limit, taking classes in turn."""
        classes = [self._of(folder) for folder in self.folders]
        if limit is None:
            return itertools.chain.from_iterable(classes)
        in_turn = itertools.chain.from_iterable(itertools.zip_longest(*classes))
        return itertools.islice((each for each in in_turn if each is not None), limit)

    def _of(self, folder: str) -> Iterator[tuple[str, Path]]:
        below = (f"{folder}/{name}" for name in decode.iter_images(self.root / folder))
        for name in self.files.get(folder) or below:
            yield name, self.root / name


def find(root: str) -> LabelledFolder:
    path, part = user_path(root), ""
    folders = folder_scan.subfolders(path)
    parts = folder_scan.part_folders(path, folders, refuse=False)
    if parts:
        given = [parts[name] for name in PREFERRED if name in parts]
        part = next((name for name in given if set_parts.folders_of_images(path / name)), given[0])
        path = set_parts.without_wrapper(path / part)
        folders = folder_scan.subfolders(path)
    refuse_unspellable(folders, path)
    unreadable: list[tuple[str, str]] = []
    counts = {name: sum(1 for _ in decode.iter_images(path / name, unreadable)) for name in folders}
    full = [name for name in folders if counts[name]]
    if not full:
        content = f"folders ({listed(folders)}) without images" if folders else "no class folders"
        raise ZooError(f"{path} has {content}", folder_scan.LAYOUT)
    return LabelledFolder(path, full, [counts[name] for name in full], part, unreadable)


def of_table(data: TableReading) -> LabelledFolder:
    """Return the images of a table, or those of the preferred part that it gives."""
    listing = image_table.scan(data, trains=False)
    console.say("\n".join(listing.notes))
    parts = listing.parts or [""] * len(listing.names)
    part = next((name for name in PREFERRED if name in parts), "")
    files, classes = defaultdict[str, list[str]](list), dict[str, str]()
    for label, name, of in sorted(zip(listing.labels, listing.names, parts, strict=True)):
        if of == part:
            files[listing.class_names[label]].append(name)
            classes[console.escape_controls(name, keep="")] = listing.class_names[label]
    rest = listing.unreadable, listing.table, files, classes, listing.targets, listing.names
    return LabelledFolder(listing.root, [*files], [*map(len, files.values())], part, *rest)

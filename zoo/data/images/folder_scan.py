"""List the images in a folder of classes, with class and part of each."""

import dataclasses
import itertools
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.core.errors import ZooError, counted, listed, nearest
from zoo.core.paths import refuse_unspellable, siblings, user_path
from zoo.data import datasets
from zoo.data.images import annotated, decode, set_parts, unknown_kinds
from zoo.data.targets import Targets
from zoo.data.text import labelled_texts, tables

# The files of each part, folder of the part, and class.
Files = dict[tuple[str, str, str], list[str]]
LAYOUT = (
    "Put the images of each class in a separate folder: DIR/cat/1.jpg, DIR/dog/2.jpg, ..., or such folders below "
    "DIR/train and DIR/val."
)


@dataclasses.dataclass(frozen=True)
class FolderListing:
    """The images in a folder of classes.

    Attributes:
        class_names: names of the class folders, sorted.
        names: paths of the image files, relative to ``root``.
        labels: for each name, the index of its class.
        parts: for each name, ``train``, ``validation`` or ``test``; empty if there is only one level.
        unreadable: (name, reason) of what could not be listed.
        empty_classes: names of class folders without images.
        notes: how the folder was read and what is not used, one sentence each.
        table: file that contains the labels; None if the folders are the classes.
        groups: for each name, the group of the image, or an empty string; empty without groups.
        targets: several labels or a number for each name; ``labels`` then only determine how the data are split.
    """

    root: Path
    class_names: list[str]
    names: list[str]
    labels: list[int]
    parts: list[str]
    unreadable: list[tuple[str, str]]
    empty_classes: list[str]
    notes: list[str]
    table: Path | None = None
    groups: list[str] = dataclasses.field(default_factory=list)
    targets: Targets | None = None

    @property
    def answers(self) -> Sequence[object]:
        """Return the class, labels or number of each name, to compare two images."""
        return self.labels if self.targets is None else [*map(tuple, self.targets.values.tolist())]


def scan(root: str | None, layout: str = "auto") -> FolderListing:
    """List a folder with one folder per class, or with such folders below the parts of a data set.

    Args:
        layout: ``auto``, or ``classes`` to take every folder as a class.
    """
    if not root:
        raise ZooError("data=folder needs a folder", f"Add data.root=DIR. {LAYOUT}")
    path = user_path(root)
    folders = subfolders(path)
    if layout == "classes":
        return _listing(path, [("", "", name) for name in folders], layout=layout)
    notes, parts = annotated.check(path), part_folders(path, folders)
    return _in_parts(path, parts, notes) if parts else _listing(path, [("", "", name) for name in folders], notes)


def part_folders(path: Path, folders: list[str], refuse: bool = True) -> dict[str, str]:
    """Return the parts of a data set in a folder: part -> name of its folder; empty if the folders are classes.

    With ``refuse``, raise an error for ambiguous folders.
    """
    inside = {name: set_parts.folders_of_images(set_parts.without_wrapper(path / name)) for name in folders}
    parts = set_parts.find(path, folders, inside)
    if refuse and not parts:
        set_parts.refuse_ambiguous(path, folders, inside)
    return parts


def subfolders(path: Path) -> list[str]:
    """List the folders in a folder, including links, without hidden and system folders."""
    try:
        if not path.is_dir():
            what, remedy = f"does not exist{nearest(path.name, siblings(path))}", ""
            if path.exists():
                what, remedy = unknown_kinds.of_file(path)
            raise ZooError(f"data.root={path} {what}", remedy or f"Give a folder. {LAYOUT}")
        return set_parts.subfolders(path)
    except OSError as error:
        raise ZooError(
            f"The folder {path} cannot be listed: {error.strerror or error}", "Check that you may read it."
        ) from error


def _in_parts(path: Path, parts: dict[str, str], notes: list[str]) -> FolderListing:
    if "train" not in parts:
        raise ZooError(f"{path} contains {listed(parts.values())}, but no folder for training such as train/", LAYOUT)
    inner = {part: set_parts.without_wrapper(path / folder) for part, folder in parts.items()}
    classes = subfolders(inner["train"])
    chosen = []
    notes.append(f"Parts: {', '.join(f'{name}/ is the {part} part' for part, name in parts.items())}")
    rest = [name for name in subfolders(path) if name not in parts.values()]
    if unused := [name for name in rest if next(decode.iter_images(path / name), None)]:
        notes.append(
            f"Not used: {listed(unused)}, images without class folders. Classify them with: python -m zoo infer "
            f"run=last input={shlex.quote(str(path / unused[0]))}"
        )
    for part, place in inner.items():
        folder, own = place.relative_to(path).as_posix(), subfolders(place)
        if not set(own) & set(classes) and all(set_parts.says_nothing(name, folder) for name in own):
            own = []
        flat = [] if own or part == "train" else list(decode.iter_images(place))
        if flat:
            labels = set_parts.labels_note(place, "Labels", ". ")
            how = "no other test part is drawn" if part == "test" else f"{parts['train']}/ gives the validation part"
            notes.append(
                f"{folder}/ contains {counted(len(flat), 'image')} without class folders, which are not used, "
                f"and {how}. {labels}Classify them with: python -m zoo infer run=last input={place}"
            )
        if not flat and not next(decode.iter_images(place), None):
            notes.append(f"{folder}/ contains no images" + ", so there is no test part" * (part == "test"))
        unknown = sorted(set(own) - set(classes))
        if unknown:
            longer = {name: [each for each in classes if each.startswith(name)] for name in unknown}
            moves = [
                f"mv {shlex.quote(str(place / name))} {shlex.quote(str(place / each[0]))}"
                for name, each in longer.items()
                if len(each) == 1
            ]
            raise ZooError(
                f"{place} has classes that {parts['train']}/ does not have: {listed(map(repr, unknown))}"
                f"{nearest(unknown[0], longer[unknown[0]] or classes)}",
                f"{set_parts.labels_note(path, 'Labels', '. ').replace('; or: ', '. ')}"
                "Each class needs images for training: add its folder there, or remove it here. To train on this "
                f"part alone: {set_parts.as_root(place)}."
                + f" If only the names differ, rename them: {' && '.join(moves)}"
                * bool(moves),
            )
        chosen += [(part, folder + "/", name) for name in own]
    return _listing(path, chosen, notes)


def _listing(
    path: Path, chosen: list[tuple[str, str, str]], notes: Sequence[str] = (), layout: str = "auto"
) -> FolderListing:
    unreadable: list[tuple[str, str]] = []
    files_by_class = {
        (part, prefix, name): [
            f"{prefix}{name}/{file}" for file in decode.iter_images(path / prefix / name, unreadable)
        ]
        for part, prefix, name in chosen
    }
    files_by_class, masks = _without_masks(path, files_by_class)
    files_by_class, twice = _without_second_formats(files_by_class)
    classes = sorted({name for (part, _, name), files in files_by_class.items() if files and part in ("", "train")})
    refuse_unspellable(classes, path)
    if len(classes) < 2:
        raise _without_classes(path, chosen, classes, unreadable)
    listing = assembled(path, files_by_class, classes, unreadable, notes)
    if odd := [name for name in listing.names if Path(name).suffix.lower() not in decode.SUFFIXES]:
        listing.notes.append(
            f"Read by their content: {counted(len(odd), 'file')} without an image suffix, such as {odd[0]}"
        )
    listing.notes.extend([*masks, *twice, *_unclear(path, files_by_class, layout)])
    listing.notes.extend(tables.unclear_labels(classes, "move these images elsewhere"))
    images = {key[2]: files for key, files in files_by_class.items()}
    listing.notes.extend(set_parts.codes_notes(path, images))
    return listing


def _without_masks(path: Path, files_by_class: Files) -> tuple[Files, list[str]]:
    """Return the files without those in folders of masks within a class folder, and a note."""
    left, folders = dict[tuple[str, str, str], list[str]](), list[str]()
    for (part, prefix, name), files in files_by_class.items():
        masks = annotated.masks_in(path / prefix / name, [file.removeprefix(f"{prefix}{name}/") for file in files])
        own = tuple(f"{prefix}{name}/{mask}/" for mask in sorted(masks))
        left[part, prefix, name] = [file for file in files if not file.startswith(own)] if own else files
        folders += own
    return left, [f"Not used: masks in {listed(folders, most=3)}"] * bool(folders)


def _without_second_formats(files_by_class: Files) -> tuple[Files, list[str]]:
    """Return the files without .png and .bmp next to a .jpg of the same name each, such as masks, and a note."""
    files = [Path(file) for each in files_by_class.values() for file in each]
    photos = {file.with_suffix("") for file in files if file.suffix.lower() in (".jpg", ".jpeg")}
    second = [file for file in files if file.suffix.lower() in (".png", ".bmp") and file.with_suffix("") in photos]
    if not second or 10 * len(second) < 9 * len(photos):
        return files_by_class, []
    left = {file.as_posix() for file in second}
    words = f"Not used: {counted(len(left), 'file')} such as {min(left)}"
    note = f"{words}, which have the names of JPEG files: masks, or copies"
    return {key: [file for file in each if file not in left] for key, each in files_by_class.items()}, [note]


def assembled(
    path: Path, files_by_class: Files, classes: list[str], unreadable: list[tuple[str, str]], notes: Sequence[str]
) -> FolderListing:
    """Return the listing of the files of some classes, whose keys are part, folder of the part, and class."""
    number = {name: index for index, name in enumerate(classes)}
    rows = [
        (file, number[name], part)
        for (part, _, name), files in files_by_class.items()
        if name in number
        for file in files
    ]
    counts = labelled_texts.counts_note(classes, [classes[row[1]] for row in rows], [row[2] for row in rows])
    return FolderListing(
        root=path,
        class_names=classes,
        names=[file for file, _, _ in rows],
        labels=[label for _, label, _ in rows],
        parts=[part for _, _, part in rows if part],
        unreadable=unreadable,
        empty_classes=sorted({name for _, _, name in files_by_class} - set(classes)),
        notes=[*notes, counts],
    )


def _unclear(path: Path, files_by_class: Files, layout: str) -> Iterator[str]:
    """Yield notes on files next to and in class folders; raise an error if the class folders contain only folders."""
    parents = {path / prefix for _, prefix, _ in files_by_class}
    loose = [file for parent in sorted(parents) for file in sorted(parent.glob("[!.]*")) if decode.is_named(file)]
    if loose:
        shown = f"{counted(len(loose), 'image')} next to class folders, such as {loose[0].relative_to(path)}"
        yield f"Not used: {shown}. Move each into the folder of its class"
    lists = [] if any(part for part, *_ in files_by_class) else set_parts.lists_near(path)
    yield from set_parts.lists_note(path, lists, path, None, " data.label_column=folder1")
    stems = {stem.lower() for files in files_by_class.values() for file in files if len(stem := Path(file).stem) > 4}
    kinds = [(path.parent, kind) for kind in ("*.[ct]sv", "*.txt", "*/*.txt")]
    globs = [itertools.islice(place.glob(kind), 50) for place, kind in [*kinds, (path.parent.parent, "*.txt")]]
    near = [table for table in itertools.chain(*globs) if set_parts.names_image(table, stems)]
    near = [table for table in near if table not in lists and not set_parts.is_list(table, stems)]
    tables = [*path.glob("*.[ct]sv"), *near]
    tables.sort(key=lambda each: ("train" not in each.stem.lower(), not set_parts.part_of(each.stem), each.name))
    if unread := [each for each in tables if not set_parts.PROSE.match(each.name)]:
        yield f"Not used: {unread[0].name}. {datasets.table_remedy(unread[0])}; data.group=COLUMN keeps persons apart"
    inner, places = dict[tuple[str, str, str], set[str]](), dict[tuple[str, str, str], str]()
    for key, files in files_by_class.items():
        if folders := {file.rpartition("/")[0] for file in files}:
            places[key] = os.path.commonpath(folders)
            inner[key] = {name.removeprefix(places[key])[1:].partition("/")[0] for name in folders}
    several = [(key, sorted(names - {""})) for key, names in inner.items() if len(names) > 1]
    if not several:
        return
    altered = {key: "augment" in place.lower() for key, place in places.items()}
    several.sort(key=lambda one: (altered[one[0]], not part_folders(path / places[one[0]], one[1], refuse=False)))
    (part, prefix, name), such = several[0][0], f"such as {places[several[0][0]]}/{several[0][1][0]}"
    files = [file for each in files_by_class.values() for file in each]
    levels, group = set_parts.levels_of(files)
    keep = f"data.group={group}" * (group not in ("", f"folder{1 + prefix.count('/')}"))
    mixed = any("" in names and (len(names) > 1 or places[key] == key[1] + key[2]) for key, names in inner.items())
    if mixed or layout == "classes":
        way = f"With {keep}, the images of a patient or an object stay in one part"
        way = way if keep else f"If the inner folders are the classes: {set_parts.as_table(path, 'inner')}"
        yield f"Images in folders within a class folder, {such}, are of the class {name}. {way}"
        return
    roots = listed((set_parts.as_root(path / places[each]) for each, _ in several), " or ", most=3)
    outer = f"The outer folders: add {f'data.layout=classes {keep}'.strip()}. " * ("folder1" in levels and not part)
    table = "" if any(altered.values()) else set_parts.levels_note(path, files)
    what = "either may be the classes" if "folder1" in levels or part else "the outer ones are first letters"
    raise ZooError(
        f"{path} has folders of images in folders, {such}: {what}",
        f"{outer}One folder of inner ones: {roots}.\n{table}",
    )


def _without_classes(
    path: Path, chosen: list[tuple[str, str, str]], classes: list[str], unreadable: list[tuple[str, str]]
) -> ZooError:
    """Return the error for a folder with fewer than two classes."""
    reasons = "".join(f"\n  {name}: {reason}" for name, reason in unreadable[:10])
    inner, labels = set_parts.wrapped(path), set_parts.labels_note(path, "Labels", ". ")
    loose, full = next(decode.iter_images(path), None), set_parts.folders_of_images(inner) if inner else []
    # Parts of unsorted images do not count.
    if (
        inner
        and inner != path
        and (not set_parts.are_parts(full) or any(set_parts.wrapped(inner / name) for name in full))
    ):
        message = f"has only one folder of images, {classes[0]!r}" if classes else "has no class folders"
        deeper = f"The class folders are further down: {set_parts.as_root(inner)}"
        if full and all(any(map(str.isalpha, name)) for name in full):  # not folders of persons, such as 7890
            labels = "" if set_parts.lists_near(inner) else labels  # the parts, and not the classes, are in files
            deeper, labels = f"{deeper}\n{labels.removesuffix('; or: ')}".strip(), ""
        return ZooError(f"{path} {message}{reasons}", labels + deeper)
    remedy = labels + set_parts.names_note(path) + LAYOUT
    if loose and "\\" in loose:
        remedy = (
            "Its names contain backslashes instead of folders: unpack the archive with `unzip`, which makes folders."
        )
    if loose and classes and not labels and not set_parts.says_nothing(classes[0], path.name):
        message = f"contains only one class, {classes[0]!r}; a classifier needs at least two"
    elif loose:
        what = " (by its content)" * (Path(loose).suffix.lower() not in decode.SUFFIXES)
        message = f"has images such as {loose!r}{what}, but no class folders"
        few = remedy == LAYOUT and len(list(itertools.islice(decode.iter_images(path), 4))) < 4
        other, instead = (unknown_kinds.instead(path) if few else None) or ("", "")
        if "of images" in other:
            message, remedy = f"has few images, such as {loose!r}{other}", instead
    else:
        folders = sorted({name for _, _, name in chosen})
        message = f"has folders ({listed(folders)}) without images" if folders else "contains no images"
        other, remedy = unknown_kinds.instead(path) or ("", remedy)
        message = f"{message}{other}" if other or folders or any(path.iterdir()) else "is empty"
    return ZooError(f"{path} {message}{reasons}", remedy)

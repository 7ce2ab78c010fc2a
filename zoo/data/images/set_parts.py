"""Distinguish the parts of a data set (training, validation, test) from classes, by folder names and contents."""

import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from zoo.core import console
from zoo.core.errors import ZooError, listed
from zoo.core.files import file_sha256, is_of_system
from zoo.core.paths import key_of
from zoo.data import datasets
from zoo.data.images import decode, unknown_kinds

# Words that name a part of a data set.
WORDS = {
    **dict.fromkeys(("train", "training", "trn", "trainval"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "testing", "tst", "eval", "evaluation", "holdout"), "test"),
}
# What numbers mean in a column, or in a file, named partition (CelebA).
NUMBERED = {"0": "train", "1": "validation", "2": "test"}
# Words without meaning next to these: training_set, test images.
_FILLERS = "set|sets|dataset|data|images|image|imgs|img|pictures|photos|samples|folder|dir|split|part|new|final"
_GLUED = re.compile(rf"({'|'.join(sorted(WORDS, key=len, reverse=True))})({_FILLERS})?")
# Suffixes of files that may hold the labels of images, most likely first, and names of those that do not.
_TABLES = (".csv", ".tsv", ".jsonl", ".txt", ".parquet", ".mat", ".xlsx", ".xls", ".json", ".xml")
# Keys of COCO's JSON, of which both kinds are at its beginning or end.
_COCO = (rb'"(images|categories)"', rb'"(annotations|image_id|category_id)"')
PROSE = re.compile(r"read.?me|licen[sc]e|requirements|copying|changelog|.*submission", re.IGNORECASE)
# Names of files that list classes and not images.
_NAMES = re.compile(
    r"((class|label)[_ ]?names?|(train|val|test|all)?[_ ]?class(es)?|predicate.*|names|wnids?|synsets?)\.\w+"
    r"|(images|image_class_labels|train_test_split|bounding_boxes)\.txt", re.IGNORECASE)  # fmt: skip
# Folders with at least this many images of the same names and sizes may be copies.
_MANY = 10
# Words of folders that hold a share of the images: images_001, fold2, HAM10000_images_part_1.
_SHARES = re.compile(rf".*(^|[^a-z])({_FILLERS}|folds?|batch|chunk|shard|archive|volume|disk)[^a-z]*", re.IGNORECASE)
# Names of classes that number persons.
PERSON = re.compile(r"(?i)(s|id|subj?|subject|person|patient|user|case|actor|speaker|driver|participant)[ _-]?0*\d+")
# The setting of groups by a part of the names, and how a name is cut into the parts that it counts.
PART_OF_NAME = re.compile(r"(part|folder)([1-9]\d?)")
cut = re.compile(r"[\W_]+").split
# Parts of the names of images that may number a person or an object: S037, 1016042, 22549AB; image1 only counts.
_COUNTED = "(image|img|photo|frame|file|picture|scan|pic)"
_NUMBERED = re.compile(rf"(?i)(?!{_COUNTED}\d)[a-z]{{1,8}}\d+|\d{{4,}}[a-z]{{1,3}}|(?!(19|20)\d{{6}}$)\d{{5,}}")
# The end of a folder name that numbers the clips of a class, and names of frames.
OF_CLIP = re.compile(r"([ _.-]+[A-Za-z]?\d+)+$")
_FRAME = re.compile(r"(frame|img|image)?[ _-]?\d+\.\w+", re.IGNORECASE)
# Folders next to the class folders whose images have no class: parts other than train, and unlabeled images.
_OTHER_PARTS = "|".join(word for word, part in WORDS.items() if part != "train")
_OTHER_WORD = re.compile(rf"(?<![a-z])({_OTHER_PARTS})", re.IGNORECASE)
# Number of images, and bytes of a table, that are compared to find out whether the table names the images.
_LISTED, _HEAD = 20_000, 1 << 16
# Names of tables of images that have no classes.
_OTHER_TABLE = re.compile("partition|bbox|box_|landmark|identity", re.IGNORECASE)
# Folders next to images with lists of them.
_OF_LISTS = ("meta", "metadata", "labels", "annotations", "lists", "splits", "split")
_WITHOUT_CLASSES = re.compile(rf"{_OTHER_PARTS}|unlabell?ed|unsorted|unsup|pred|predict(ions?)?", re.IGNORECASE)


def as_root(path: Path) -> str:
    """Return the setting that names a folder, quoted for a shell."""
    return f"data.root={shlex.quote(str(path))}"


def stem_of(name: str) -> str:
    """Return the name of an image without folders and suffix: subject01.happy as a whole, for it has none."""
    stem, suffix = os.path.splitext(name.rpartition("/")[2])
    return stem if suffix.lower() in decode.SUFFIXES else stem + suffix


def kind_of(folder: str) -> str:
    """Return the name of a folder without the numbers at its ends: positive for study1_positive."""
    return re.sub(r"^([A-Za-z]+\d+[ _.-]+)+", "", OF_CLIP.sub("", folder))


def part_of(name: str) -> tuple[str, str] | None:
    """Return the part that a folder name stands for and the rest of the name, or None.

    ``seg_train`` is ``("train", "seg")``, ``Testing`` and ``test1`` are ``("test", "")``.
    """
    spaced = re.sub(r"train[ _-]val(?![a-z])", "trainval", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())
    words = [word for word in re.split(r"[^a-z]+", spaced) if word and not re.fullmatch(_FILLERS, word)]
    for place in {0, len(words) - 1} if words else ():
        match = _GLUED.fullmatch(words[place])
        if match and not any(_GLUED.fullmatch(word) for word in words[:place] + words[place + 1 :]):
            return WORDS[match[1]], " ".join(words[:place] + words[place + 1 :])
    return None


def role_of(name: str) -> str:
    """Return the part that the name of a folder or file stands for, or an empty text."""
    return (part_of(name) or ("", ""))[0]


def find(path: Path, folders: list[str], inside: dict[str, list[str]]) -> dict[str, str]:
    """Return the parts of a data set in a folder: part -> name of its folder; empty if the folders are classes.

    A name such as ``train`` or ``test`` is a part if there are two parts, or only parts. Longer names
    (``training_set``, ``seg_train``) count only if the training folder contains folders of images.

    Args:
        inside: for each folder name, the names of its folders with images.
    """
    named = {name: recognized for name in folders if (recognized := part_of(name))}
    for rest in sorted({rest for _, rest in named.values()}):
        group = {name: part for name, (part, left) in named.items() if left == rest}
        exact = all(name.lower() in WORDS for name in group)
        others = [name for name in folders if name not in group]
        several = len(set(group.values())) > 1
        trained = [bool(inside[name]) for name, part in group.items() if part == "train"]
        if several or not others if exact else several and trained and all(trained):
            return _chosen(path, group, others, inside)
    return {}


def are_parts(names: list[str]) -> bool:
    """Return whether all folders are named as parts, of which there are several."""
    parts = [role_of(name) for name in names]
    return all(parts) and len({*parts}) > 1


def settled(named: dict[str, str]) -> dict[str, str]:
    """Return the part of each folder; evaluation, next to a test part, means validation."""
    both = [name for name, part in named.items() if part == "test"]
    second = [name for name in both if "eval" in name.lower()]
    return named | dict.fromkeys(second * (len(both) > 1 and "validation" not in named.values()), "validation")


def _chosen(path: Path, group: dict[str, str], others: list[str], inside: dict[str, list[str]]) -> dict[str, str]:
    """Return the folder of each part; reject two folders of one part, and further folders that may hold classes."""
    trained = {name for folder, part in group.items() if part == "train" for name in inside[folder]}
    unsorted = [name for name in others if trained and len(inside[name]) < 2 and not trained & set(inside[name])]
    rest = [name for name in others if name not in unsorted]
    # Archives may contain a copy of all parts in a folder (Chest X-Ray Images).
    full = [name for name in rest if not all((path / image).is_file() for image in decode.iter_images(path / name))]
    if full:
        raise ZooError(
            f"{path} contains the parts {listed(group)} of a data set, and also images in {listed(full)}",
            "Move the other folders elsewhere, or use data.layout=classes if every folder is a class."
            + "".join(f" {name}/ alone: {as_root(path / name)}." for name in group if len(inside[name]) > 1),
        )
    parts: dict[str, str] = {}
    for name, part in sorted(settled(group).items()):
        if part in parts:
            raise ZooError(
                f"{path} has two folders for the {part} part: {parts[part]} and {name}",
                "Move one of them elsewhere, or use data.layout=classes if every folder is a class.",
            )
        parts[part] = name
    return parts


def refuse_ambiguous(path: Path, folders: list[str], inside: dict[str, list[str]]) -> None:
    """Raise an error for folders that may be classes or parts of a data set, and describe both readings."""
    spellings: dict[str, str] = {}
    for name in folders:
        other = spellings.setdefault(key_of(name), name)
        if other != name and len(name) > 1:  # a and A are characters
            raise ZooError(
                f"{path} has the folders {other!r} and {name!r}, which differ in capitals, blanks or "
                "codes of accents only",
                f"If one is a copy of the other, give one: {as_root(path / name)}. One class: join them. Two "
                "classes: add data.layout=classes.",
            )
    in_parts = [name for name in folders if len(inside[name]) > 1 and all(map(part_of, inside[name]))]
    full = [name for name in folders if next(decode.iter_images(path / name), None)]
    if 0 < len(in_parts) < len(full) and all(len(inside[name]) > 1 for name in full):
        roots = [as_root(without_wrapper(path / name)) for name in sorted(full, key=lambda name: name not in in_parts)]
        raise ZooError(
            f"{path} contains {listed(full)}: each has class folders, so each may be a whole data set",
            f"Give one of them: {listed(roots, ' or ', most=5)}. Classes: add data.layout=classes.",
        )
    loose = in_parts + [name for name in folders if _WITHOUT_CLASSES.fullmatch(name) and not inside[name]]
    classes = [name for name in folders if name not in loose]
    if loose and len(classes) > 1 and next(decode.iter_images(path / loose[0]), None):
        raise ZooError(
            f"{path / loose[0]} contains images next to the class folders {listed(classes)}: "
            "a class of that name, or test images without labels",
            f"Unlabeled images: move the folder elsewhere, and classify it with `python -m zoo infer run=last "
            f"input={loose[0]}`. A class: add data.layout=classes.",
        )
    *plain, nested = sorted(folders, key=lambda name: len(inside[name])) or [""]
    alone = len(plain) == 1 and not inside[plain[0]]
    unlabeled = alone or all(len(inside[name]) < 2 and _OTHER_WORD.search(name) for name in plain)
    if plain and unlabeled and len(inside[nested]) > 1 and {*plain} & {*full}:
        raise ZooError(
            f"{path / nested} contains the folders {listed(inside[nested])}; only images are in {listed(plain)}: "
            "classes, or classes and images without labels",
            f"{labels_note(path, 'Labels') if alone else ''}Classes and unlabeled images: {as_root(path / nested)}. "
            "If these folders are the classes, add data.layout=classes.",
        )
    for name in folders:
        again = sorted(set(inside[name]) & set(folders))
        if len(again) > 1:
            raise ZooError(
                f"{path / name} has the subfolders {listed(again)}, which also exist next to it: it may be a part "
                "of the data set or a class",
                f"A copy: give it alone: {as_root(path / name)}. A part: move {listed(again)} into a folder train. A "
                "class: data.layout=classes.",
            )
    flat = [(name, recognized) for name in full if not inside[name] and (recognized := part_of(name))]
    trained = {rest for _, (part, rest) in flat if part == "train"}
    same = trained & {rest for _, (part, rest) in flat if part != "train"}
    if len(same) > 1 and len({each for _, each in flat}) == len(flat) and all(rest in same for _, (_, rest) in flat):
        raise ZooError(
            f"{path} has {listed(name for name, _ in flat)}: names of a part and of a class, {listed(sorted(same))}",
            f"Parts and classes: {as_table(path, 'class')}. If each folder is a class: add data.layout=classes.",
        )
    if same:
        raise ZooError(
            f"{path} has {listed(name for name, (_, rest) in flat if rest in same)}, which are names of parts of a "
            "data set, but without class folders",
            f"Parts: {labels_note(path)}sort the images of each into a folder for each class. "
            + next(filter(None, map(names_note, [path, *(path / name for name, _ in flat)])), "")
            + "Classes: add data.layout=classes.",
        )
    _refuse_doubled(path, full)
    _refuse_shares(path, full, inside)
    _refuse_clips(path, folders)
    if len(full) == 2 == len(folders) and all(len(inside[name]) < 2 for name in full):
        _refuse_copies(path, full)
    contents = [set(inside[name]) for name in folders]
    common, union = (set.intersection(*contents), set.union(*contents)) if contents else (set(), set())
    if len(folders) < 2 or len(common) < 2 or 2 * len(common) <= len(union):
        return
    _refuse_copies(path, folders)
    here = shlex.quote(str(path))
    begin = (
        f"{path} is ambiguous: the folders {listed(folders)} all contain the folders {listed(sorted(common))}.\n"
        "They are either parts of one data set, or classes."
    )
    if all(map(part_of, common)):
        place = 'c=FOLDER/$(basename "$d")/$(dirname "$d")'
        sort = f'cd {here} && for d in */*/; do {place}; mkdir -p "$c"; cp "$d"*.* "$c"; done'
        raise ZooError(
            begin,
            f"{folders[0]} is a class: {sort}\nThen give data.root=FOLDER. {folders[-1]} has classes in its parts: "
            f"{as_root(path / folders[-1])}. {folders[0]} is a class, without parts: add data.layout=classes.",
        )
    numbered = all(re.fullmatch(r"[A-Za-z]{0,10}[ _-]?\d+", name) for name in folders)
    levels = levels_note(path, list(decode.iter_images(path)), "folder1" * numbered)
    raise ZooError(
        begin,
        f"Variants or folds: give one of them, such as {as_root(path / folders[0])}. Parts: rename them to train and "
        f"test (or val). {folders[0]} is a class: add data.layout=classes.\n{levels}\nOr data.label_column=folders for "
        "the outer and inner ones together",
    )


def _refuse_copies(path: Path, folders: list[str]) -> None:
    """Raise an error if each folder contains the same images."""
    files = [[path / name / each for each in decode.iter_images(path / name)] for name in folders]
    for with_size in (False, True):  # names first: sizes take longer
        first, *others = [Counter((file.name, with_size and file.stat().st_size) for file in each) for each in files]
        if first.total() < _MANY or any(each != first for each in others):
            return
    some = [sorted(each, key=lambda file: (file.name, file.stat().st_size))[: 10 * _MANY] for each in files]
    if len({frozenset((file.name, file_sha256(file)) for file in each) for each in some}) == 1:
        kept = min(files, key=lambda each: len(each[0].parts))[0].relative_to(path).parts[0]
        raise ZooError(
            f"{path}: the folders {listed(folders)} contain the same {first.total():,} images",
            f"Give one of them: {as_root(path / kept)}. {labels_note(path, 'Labels')}".rstrip(),
        )


def _refuse_doubled(path: Path, full: list[str]) -> None:
    """Raise an error if each folder of images contains only a folder with the same name, as unpacked archives do."""
    if len(full) > 1 and all(os.listdir(path / name) == [name] and not subfolders(path / name / name) for name in full):
        inner = path / full[-1] / full[-1]
        raise ZooError(
            f"{path} contains {listed(full)}, each with one folder of the same name: unpacked archives of images "
            "without class folders, or classes",
            f"Archives: {labels_note(path)}{names_note(inner)}give the folder of one. Classes: add "
            "data.layout=classes.",
        )


def _refuse_shares(path: Path, full: list[str], inside: dict[str, list[str]]) -> None:
    """Raise an error for folders that look like shares, or like copies, of one set of unsorted images."""
    if len(full) < 2 or any(len(inside[name]) > 1 for name in full):
        return
    stems = [{re.sub(end, "0", name) for name in full} for end in (r"\d+", r"[ _.-]?[A-Za-z]$")]
    alike = any(len(each) == 1 and "0" in min(each) and _SHARES.fullmatch(min(each)) for each in stems)
    what = "shares of one set" if alike else "copies of the same images" if _are_copies(path, full) else ""
    if what:
        raise ZooError(
            f"{path} contains {listed(full)}: two or more classes, or {what} without class folders",
            f"One set: {labels_note(path)}sort its images into a folder for each class. Classes: add "
            "data.layout=classes.",
        )


def _refuse_clips(path: Path, folders: list[str]) -> None:
    """Raise an error for folders such as Diving_g01_c02 of numbered frames: each may be one clip of a class."""
    actions = Counter(OF_CLIP.sub("", name) for name in folders)
    first = [set(itertools.islice(decode.iter_images(path / name), _LISTED)) for name in folders[:4]]
    frames = set.intersection(*first) if first else set()
    alike = 2 < 2 * len(actions) <= len(folders) and all(map(_FRAME.fullmatch, frames))
    if alike and 2 * len(frames) > min(map(len, first)):
        raise ZooError(
            f"{path} has folders such as {listed(folders[:2])} with numbered images: classes, or the frames of one "
            "clip each, which resemble each other",
            f"Clips of {listed(actions)}: {as_table(path, 'kind', 'folder1')}. Classes: add data.layout=classes.",
        )


def _are_copies(path: Path, folders: list[str], most: int = 1000) -> bool:
    """Return whether a second folder repeats the names of the first, and the names are not from a counter."""
    if len(folders) != 2:
        return False
    names = [
        {name.rpartition("/")[2] for name in itertools.islice(decode.iter_images(path / folder), most)}
        for folder in folders
    ]
    repeated = names[0] & names[1]
    unusual = sum(len(re.sub(r"\D", "", name)) > 9 for name in repeated) > len(repeated) / 2
    return len(repeated) > 3 and unusual and len(repeated) >= 0.9 * min(map(len, names))


def parts_beside(table: Path, images: str | None = None) -> list[str]:
    """Return a note on the tables of other parts next to a training table; ``images`` is the folder of the images."""
    parts = {path.name: part_of(path.stem) for path in sorted(table.parent.glob(f"*{table.suffix}"))}
    trained = [name for name, part in parts.items() if part and part[0] == "train"]
    whole = parts.get(table.name) is None
    first = trained[0] if whole and trained else table.name
    rest = (parts.get(first) or "-")[1:]
    near = [name for name, part in parts.items() if part and part[0] != "train" and part[1:] == rest]
    near = [name for name in near if re.findall(r"\d+", name) == re.findall(r"\d+", first)] or near
    if not near or first not in trained:
        return []
    folder = shlex.quote(str(table.parent))
    if whole or len(trained) > 1:  # several sets of tables
        places = (place for place in (table.parent, table.parent.parent) if next(decode.iter_images(place), None))
        images = images or shlex.quote(str(next(places, table.parent)))
        some = shlex.join(str(table.parent / name) for name in (first, *near))
        folder = f"tables, and for images data.images={images}, after `mkdir tables && cp {some} tables`"
    return [f"Not used: {listed([first] * whole + near)}. If these have labels too: data.root={folder}"]


def labels_note(path: Path, begin: str = "labels", end: str = "; ") -> str:
    """Return a sentence on a file in a folder, or one level below, that may hold labels; empty without one."""
    likely = [
        file
        for kind in ("*", "*/*")
        for file in sorted(path.glob(kind))
        if file.suffix.lower() in _TABLES and not PROSE.match(file.name)
    ]
    likely.sort(
        key=lambda file: (_TABLES.index(file.suffix.lower()), "train" not in str(file.relative_to(path)).lower())
    )
    stems = {Path(name).stem.lower() for name in itertools.islice(decode.iter_images(path), _LISTED)}
    tables = [file for file in likely[:100] if file.suffix.lower() in _TABLES[:4] and datasets.table_remedy(file)]
    tables.sort(key=lambda file: (bool(re.search(r"\d$", file.stem)), "label" not in file.stem.lower()))
    tables.sort(key=is_of_other)
    named = (file for file in tables if names_image(file, stems))
    # The content is read last, because there may be a file for each image.
    sure = (
        file
        for file in likely
        if not (_NAMES.fullmatch(file.name) or datasets.table_remedy(file)) or names_image(file, stems)
    )
    first = next((file for file in itertools.chain(named, sure) if not is_list(file, stems)), None)
    if first is None:
        return ""
    if command := datasets.table_remedy(first):
        if first.parent != path and part_of(first.parent.name):  # each part has its table
            command = command.replace(shlex.quote(str(first)), shlex.quote(str(path)))
        return f"{command.replace('Read its', 'read the' if begin == 'labels' else 'Read the')}; or: "
    name = first.relative_to(path).as_posix()
    write = "write them as CSV, and give data=image_table"
    if first.suffix == ".mat":
        name = listed(file.relative_to(path).as_posix() for file in likely if file.suffix == ".mat")
        write = datasets.table_command("matlab", path, None, images=path)
    if first.suffix == ".json" and all(re.search(keys, unknown_kinds.ends_of(first)) for keys in _COCO):
        parted = first.parent != path and role_of(first.parent.name)
        write = datasets.table_command("coco", *((path, None) if parted else (first, f"{first}.csv")), images=path)
    return f"{begin} are not read from {name}: {write}{'. Or: ' if 'Then give' in write else end}"


def is_of_other(table: Path) -> bool:
    """Return whether the name of a table means parts, boxes or persons, and not classes."""
    return bool(_OTHER_TABLE.search(table.stem))


def names_image(table: Path, stems: set[str]) -> bool:
    """Return whether most of the first rows of a table name an image."""
    head = unknown_kinds.head_of(table, _HEAD).decode("latin-1")
    words = [re.split(r"[\s,;|\"']+", row) for row in (head.splitlines() if table.suffix in _TABLES[:4] else [head])]
    named = sum(any(Path(word).stem.lower() in stems for word in row) for row in words)
    least = max(min(2, len(words) - 1), len(words) / 2 - 1) if table.suffix in _TABLES[:4] else 1  # two lines of titles
    return named >= least > 0


def is_list(file: Path, stems: set[str]) -> bool:
    """Return whether a file only has the name of an image in each line, perhaps without its suffix."""
    head = unknown_kinds.head_of(file, _HEAD).decode("latin-1") if file.suffix == ".txt" else ""
    names, lines = head.split(), len(head.splitlines())
    plain = len(names) <= lines and not re.search(r"[,;|]", head)
    return plain and 10 * sum(stem_of(name).lower() in stems for name in names) > lines


def lists_near(path: Path) -> list[Path]:
    """Return a file such as train.txt for each part, in or near a folder, that only names its images; not only one."""
    for folder in (path, path.parent, *(path.parent / name for name in _OF_LISTS), path.parent.parent):
        files = [file for file in itertools.islice(sorted(folder.glob("*.txt")), 50) if role_of(file.stem)]
        counted = [folder / "images.txt", folder / "train_test_split.txt"]  # CUB-200
        names = itertools.islice(decode.iter_images(path), _LISTED * (bool(files) or counted[1].is_file()))
        stems = {stem_of(name).lower() for name in names}
        if counted[1].is_file() and names_image(counted[0], stems):
            return counted
        numbers = {file: re.findall(r"\d+", file.stem) for file in sorted(files, key=lambda file: -len(file.stem))}
        split = min(itertools.chain.from_iterable(numbers.values()), default="")  # of several, such as train1.txt
        first = {role_of(file.stem): file for file, each in numbers.items() if split in each or not each}
        lists = [first[part] for part in sorted(first) if is_list(first[part], stems)]
        if first.get("train") in lists and len(lists) > 1:
            return lists
    return []


def lists_note(path: Path, lists: list[Path], source: Path, target: Path | None, label: str = "") -> list[str]:
    """Return a note on files that list the images of each part, and how to use them for a folder or a table."""
    shown, files = listed(os.path.relpath(file, path.parent) for file in lists), ["--files", *map(str, lists)]
    write = datasets.table_command("lists", source, target, *files, images=path, then=label)
    return [f"Not used: {shown}, lists of the images of each part. To use them: {write}"] * bool(lists)


def names_note(path: Path) -> str:
    """Return how to sort images whose names begin with their classes, such as cat.0.jpg, or an empty string."""
    full = folders_of_images(path)
    if are_parts(full) and not any(folders_of_images(path / name) for name in full):  # the classes are in all parts
        names = [name for part in full for name in itertools.islice(decode.iter_images(path / part), 1000)]
    else:
        names = list(itertools.islice(decode.iter_images(path), 1000))
        inner = names[0].rpartition("/")[0] if names else ""
        path, names = path / inner, [Path(name).name for name in names if name.rpartition("/")[0] == inner]
    stems = [stem_of(each) for each in names]
    letters = r"([A-Za-z]+([_ -][A-Za-z]+)*)[^A-Za-z]*\d" * any(re.match("[A-Za-z]", stem) for stem in stems)
    persons = all(PERSON.fullmatch(cut(stem)[0]) for stem in stems)
    for where, column, pattern in (
        ("begin", "letters" if letters else "part1", letters or r"(\d{1,3})_"),
        ("begin", "part1", r"([A-Za-z]+\d+)[_-]+\d+$"),  # obj1__0: the second number counts
        ("end", "last", r".*(_\d{1,2}|[\W_][A-Za-z]+)$"),
        ("begin", "first", r"(.*[A-Za-z].*)[ _-][^ _-]*\d[^ _-]*$"),  # 3001 brick 2x4 017L
    ):
        words = Counter(match[1].strip("_.- ") for stem in stems if (match := re.match(pattern, stem)))
        likely = len(words) > 1 and min(words.values()) > 1 and len(words) <= len(stems) / 4
        if likely and not all(map(part_of, words)):
            way = as_table(path, column, "part1" * persons)
            way += ". If each person is a class: data.label_column=part1, without a group" * persons
            return f"The names may {where} with their classes, such as {listed(sorted(words), most=3)}: {way}. "
    fields = [stem.split("_") if "_" in stem else stem.split(".") for stem in stems]
    columns = {f"part{place}": {*cells} for place, cells in enumerate(zip(*fields, strict=False), 1)}
    for title, cells in [*columns.items()]:
        if all(re.fullmatch(r"[A-Za-z]+\d+", cell) for cell in cells):  # KA.AN1.1: the number counts
            columns = {title.replace("part", "letters"): {cell.rstrip("0123456789") for cell in cells}} | columns
    few = [title for title, cells in columns.items() if 1 < len(cells) <= len(stems) / 4]
    if few and min(map(len, fields)) > 2:
        return f"If a part of the names is the class: {as_table(path, few[0])}, for that part. "
    return ""


def codes_notes(path: Path, images: dict[str, list[str]]) -> list[str]:
    """Return a note if the names of images, by folder, may hold the classes, and not the folders: AF01/AF01ANS.jpg."""
    stems = [(folder, stem_of(file)) for folder, files in images.items() for file in files]
    fields = [cut(re.sub(r"^[\W_]+", "", stem.removeprefix(folder))) for folder, stem in stems]
    persons = all(map(PERSON.fullmatch, images))
    after = all(stem.startswith(folder) for folder, stem in stems)
    columns = zip(*fields, strict=False) if after or persons else ()
    for part, column in enumerate(columns, 1):
        codes = Counter(column)
        few = persons and 2 * len(codes) * len(images) <= len(stems)
        usual = sum(count for count in codes.values() if 2 * count > len(images))
        if len(codes) > 1 and 5 * usual > 4 * len(column) and (few or all(map(str.isalpha, codes))):
            note = f"Each name holds {'its folder and ' * after}one of {len(codes)} codes, such as {min(codes)}. "
            before = len(cut(stems[0][0])) * after
            label = f"part{before + part}" if len(fields[0]) > 1 else "rest"
            return [f"{note}If these are the classes: {as_table(path, label, 'folder1')}"]
    return []


def groups_notes(names: list[str], labels: list[int], parts: list[str]) -> list[str]:
    """Return a note if parts of the names may number persons or objects that several images show: S037_003_12.png.

    Args:
        labels: the class of each image.
        parts: the part of each image, if the data have parts. Only training images are looked at.
    """
    known = [place for place, part in enumerate(parts or ["train"] * len(names)) if part == "train"]
    rows = [cut(stem_of(names[place])) for place in known]
    folders = zip(*(names[place].split("/")[:-1] for place in known), strict=False)
    classes = len({labels[place] for place in known})
    shapes = {1: r"\d{1,7}_(\d{1,4}|[A-Za-z]+)", 2: r"[^\W\d_]+_\d+_[^_]*"}  # pieces or sides; a person, and a counter
    likely = [(f"folder{place}", each) for place, each in enumerate(folders, 1) if all(map(PERSON.fullmatch, each))]
    columns = {f"part{place}": column for place, column in enumerate(zip(*rows, strict=False), 1)}
    for place, (title, column) in enumerate(columns.items(), 1):
        shaped = all(re.fullmatch(shapes.get(place, "(?!)"), "_".join(row)) for row in rows)
        numbered = [each for each in column if not re.fullmatch(r"\d{4}", each)]  # these could be years
        if (shaped and len({row[-1] for row in rows}) > 1) or (numbered and all(map(_NUMBERED.fullmatch, numbered))):
            likely.append((title, column))
    for first, column in likely:
        if classes < len({*column}) <= len(column) / 2:
            # Photos of a slide, each with several pieces: the slide is the larger group.
            larger = [(len({*each}), title) for title, each in columns.items() if _contains(each, column, classes)]
            title = max(larger)[1] if larger else first
            what = f"Part {title[4:]} of the names" if title.startswith("part") else f"Folder {title[6:]} of the paths"
            groups = groups_of(names, title)
            note = f"{what}, such as {groups[known[0]]}, may number a person, an object or a whole image"
            of = {part: {each for each, own in zip(groups, parts, strict=True) if own == part} for part in {*parts}}
            if both := (of.get("train", set()) & of.get("test", set())) - {""}:
                note += f", of which {len(both):,} are in the training part and in the test part"
            return [f"{note}. To keep its images in one part: data.group={title}" if "validation" not in of else note]
    return []


def _contains(larger: tuple[str, ...], column: tuple[str, ...], classes: int) -> bool:
    """Return whether groups of numbered names contain smaller groups, and are not the classes."""
    pairs, values = {*zip(larger, column, strict=True)}, {*larger}
    numbered = all(re.search(r"\d", each) for each in values)
    return numbered and classes < len(values) < len({*column}) == len(pairs)


def groups_of(names: list[str], group: str) -> list[str]:
    """Return the part or folder of each name that ``group`` means, such as part2 or folder2."""
    if not (match := PART_OF_NAME.fullmatch(group)):
        raise ZooError(
            f"data.group={group} is a column of a table", "For the second part of the file names: data.group=part2"
        )
    place, folders = int(match[2]) - 1, match[1] == "folder"
    rows = (name.split("/")[:-1] if folders else cut(stem_of(name)) for name in names)
    groups = ["".join(row[place : place + 1]) for row in rows]
    if not any(groups):
        raise ZooError(f"No image, such as {names[0]}, has what data.group={group} means", "Give a smaller number.")
    return groups


def as_table(path: Path, label: str, group: str = "") -> str:
    """Return how to write a table of the images in a folder: their folders, parts of names, and listed parts."""
    then = f" data.label_column={label}" + (f" data.group={group}" if group else "")
    lists = [str(file) for file in lists_near(path)]
    kind, options = ("lists", ["--files", *lists]) if lists else ("names", [])
    return datasets.table_command(kind, path, None, *options, images=path, then=then)


def levels_of(names: Iterable[str]) -> tuple[dict[str, list[str]], str]:
    """Return the levels of folders that may be classes, by column of the table, and the one of patients or objects."""
    rows = [name.split("/")[:-1] for name in names]
    levels = {f"folder{number}": {*each} for number, each in enumerate(zip(*rows, strict=False), 1)}
    levels = {title: each for title, each in levels.items() if len(each) > 1 and not all(map(part_of, each))}
    numbered = {title: len(each) for title, each in levels.items() if all(re.search(r"\d", name) for name in each)}
    group = max(numbered, key=numbered.__getitem__, default="")
    last, kinds = f"folder{min(map(len, rows), default=0)}", {kind_of(row[-1]) for row in rows if row}
    if len({*map(len, rows)}) > 1:
        levels = {"folder1": levels.get("folder1", set()), "inner": {"/".join(row[1:]) for row in rows} - {""}}
    elif last in numbered and not re.search(r"\d", "".join(kinds)):  # study1_positive
        levels = {title: each for title, each in levels.items() if group == title or title != last} | {"kind": kinds}
    if all(len(row) > 1 and row[0].lower() == row[1][:1].lower() for row in rows):  # sorted by first letters
        levels.pop("folder1", None)
    return {title: sorted(each) for title, each in levels.items() if len(each) > 1}, group


def levels_note(path: Path, names: Iterable[str], group: str = "") -> str:
    """Return how to write a table of images in nested folders, with a setting for each level of possible classes."""
    levels, likely = levels_of(names)
    group = group or likely
    given = f" data.group={group}" if group else ""
    words = [f"{key}{given} for the classes {listed(each, most=3)}" for key, each in levels.items() if key != group]
    if group in levels and not all(map(PERSON.fullmatch, levels[group])):
        words.append(f"{group} for the classes {listed(levels[group], most=3)}")
    first, *more = words or ["COLUMN"]
    return "\nOr data.label_column=".join((f"For one table: {as_table(path, first)}", *more))


def says_nothing(name: str, parent: str) -> bool:
    """Return whether a folder name cannot be a class: ``images``, or the name of its parent folder."""
    return bool(name == parent or part_of(name) or _SHARES.fullmatch(name))


def without_wrapper(path: Path) -> Path:
    """Return the folder of class folders in a part: the part itself, or train/images, or train/train."""
    inner = wrapped(path) or path
    between = [path.name, *inner.relative_to(path).parts]
    plain = all(says_nothing(name, parent) for parent, name in itertools.pairwise(between))
    return inner if plain else path


def wrapped(path: Path, depth: int = 4) -> Path | None:
    """Return the only folder below that contains several folders of images, or None."""
    for _ in range(depth):
        full = folders_of_images(path)
        if len(full) != 1:
            return path if len(full) > 1 else None
        path = path / full[0]
    return None


def folders_of_images(path: Path) -> list[str]:
    """List the folders in a folder that contain images; empty if it cannot be listed."""
    try:
        return [name for name in subfolders(path) if next(decode.iter_images(path / name), None)]
    except OSError:  # reported when its images are listed
        return []


def subfolders(path: Path) -> list[str]:
    """List the folders in a folder that are not hidden or of the system."""
    with os.scandir(path) as entries:
        names = sorted(entry.name for entry in entries if os.path.isdir(entry.path))  # no looped links
    for name in names:
        console.expect_path(name)
    return [name for name in names if not is_of_system(name)]

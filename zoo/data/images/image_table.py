"""Read ``data=image_table``: a table with the classes of the images in a folder next to it.

A cell names an image by its path, or the end of it, with or without suffix, or by a path from another computer. Only
files found below the folder of images are used, whatever a table names.
"""

import dataclasses
import functools
import json
import os
import posixpath
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from zoo.config.schemas.image_classification import TableReading
from zoo.core import formats
from zoo.core.errors import ZooError, counted, listed
from zoo.core.paths import existing_input
from zoo.data import datasets, targets
from zoo.data.images import decode, folder_scan, set_parts, table_columns, unknown_kinds
from zoo.data.images.folder_scan import FolderListing
from zoo.data.images.table_columns import Columns
from zoo.data.text import dialect, files, foreign_formats, tables
from zoo.protocol.targets import CLASSES, LABELS, NUMBER

# Words in the name of a table next to the part: train_labels.csv.
_FILLERS = ("", "label", "labels", "annotations", "metadata", "df")
# Approximate number of rows that decide what the columns are.
_SAMPLE = 2000
_IMAGES = "Give the folder of the images with data.images=DIR."
_WORDS = re.compile(r"[\s,;]+")
# Folders of tables next to the folders of the files that they name.
_BESIDE = ("metadata", "meta", "labels", "annotations", "csv")


class _Row(NamedTuple):
    label: str
    part: str
    group: str
    where: str


class _Reader:
    """Reads tables. ``rows`` maps an index in ``names`` to the row of that image."""

    def __init__(self, data: TableReading, table: Path, notes: list[str]) -> None:
        self.data, self.table, self.source, self.notes = data, table, table, notes
        root = existing_input(data.root or "", "")
        self.root = existing_input(data.images or (root if root.is_dir() else table.parent), _IMAGES)
        aside = self.root == table.parent and self.root.name.lower() in _BESIDE
        if aside and not data.images:
            near = [name for name in set_parts.folders_of_images(self.root.parent) if name != self.root.name]
            self.root = self.root.parent / near[0] if len(near) == 1 else self.root
        self.skipped: list[tuple[str, str]] = []
        self.names = list(decode.iter_images(self.root, self.skipped))
        if not self.names:
            foreign_formats.refuse_content(unknown_kinds.head_of(table), str(table), "a table that names images")
            place = self.root.parent if aside else self.root
            what, remedy = (unknown_kinds.instead(place) if self.root.is_dir() else None) or ("", "")
            if not data.images and table.is_file() and self.root == table.parent:  # the images may be anywhere
                if not table.stat().st_size:
                    raise ZooError(f"{table} is empty", "Is it complete? A table has a row for each image.")
                what, remedy = ", and data.images names no other", _named_in(table)
            raise ZooError(f"{place} is not a folder that contains images{what}", f"{remedy} {_IMAGES}".strip())
        self.rows: dict[int, _Row] = {}
        self.kind, self.titles = CLASSES, list[str]()
        self.count = self.twice = self.unclear = 0
        self.folders, self.renamed = Counter[str](), ""
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for number, name in enumerate(self.names):
            file = name.rpartition("/")[2].lower()
            self._by_name[file].append(number)
            self._by_name[os.path.splitext(file)[0] + "/"].append(number)

    def find(self, cell: str) -> list[int]:
        """Return the indices of all images that a cell may mean; raise ZooError if its path leaves the folder."""
        path = re.sub(r"^[A-Za-z]:", "", cell.strip().replace("\\", "/"))
        parts = [part for part in posixpath.normpath(path).split("/") if part not in ("", ".")]
        last = parts[-1].lower() if parts else ""
        stem, suffix = os.path.splitext(last)
        candidates = self._by_name.get(last) or self._by_name.get(last + "/") or []
        if not candidates and suffix not in decode.SUFFIXES and formats.find(last):  # spectrograms of sounds
            candidates = self._by_name.get(stem + "/", [])
            self.renamed = cell if candidates else self.renamed
        if not candidates:
            return []
        if ".." in parts and not (self.table.parent / path).exists():  # a path on another computer
            parts = [part for part in parts if part != ".."]
        outside = path.startswith("/") and self._is_outside(path)  # else it may be a path on another computer
        if ".." in parts or outside:
            parts = list(Path(os.path.relpath(self.table.parent / path, self.root)).parts)
            if parts[0] == ".." or outside:
                raise ZooError(
                    f"{self.table} names {cell!r}, which is outside of the folder of images {self.root}",
                    "Correct the table, or give the folder that contains all images: data.images=DIR",
                )
        wanted = "/".join(["", *parts[:-1]])
        fitting = [number for number in candidates if _are_same(f"/{self.names[number]}".rpartition("/")[0], wanted)]
        if not fitting and path.startswith("/") and len(candidates) == 1:  # as a server names its files
            fitting = candidates
        exact = [number for number in fitting if f"/{self.names[number]}".startswith(f"{wanted}/{parts[-1]}")]
        near = [number for number in fitting if (self.root / self.names[number]).is_relative_to(self.table.parent)]
        folder = (self.table.parent / path).parent
        here = [number for number in near if (self.root / self.names[number]).parent == folder]
        return next((each for each in (exact, here, near) if len(each) == 1), fitting)

    def _is_outside(self, path: str) -> bool:
        roots, places = (self.root.absolute(), self.root.resolve()), (Path(path), Path(path).resolve())
        return os.path.isfile(path) and not any(each.is_relative_to(root) for each in places for root in roots)

    def read(self, part: str, path: Path, known: Columns | None) -> Columns | None:
        """Read a table; return its columns, or None if it lacks the class column of an earlier table."""
        self.table = path
        text, encoding, chosen, shape = tables.load(path, self.data, ["1"], "0")
        stems = {set_parts.stem_of(name).lower() for name in self.names}
        listed_only = set_parts.is_list(path, stems)
        for near in _in(path.parent) * listed_only:
            if set_parts.names_image(near, stems) and not set_parts.is_list(near, stems) | set_parts.is_of_other(near):
                way = f"Give the table of the labels: {set_parts.as_root(near)}"
                raise ZooError(f"{path} lists images without their classes", way)
        if listed_only and set_parts.levels_of(self.names)[0]:
            way = set_parts.levels_note(self.root, self.names)
            raise ZooError(f"{path} lists images without their classes", f"If their folders are the classes. {way}")
        if shape.width < 2 and self.data.delimiter == "auto":  # columns aligned by blanks
            text = "\n".join(" ".join(line.split()) for line in files.lines(text))
            chosen = dialect.Dialect(" ", "none")
            shape = dialect.shape_of(chosen, text)
            if len(chosen.first(text)) == shape.width - 1 and shape.widths.total() == shape.widths[shape.width] + 1:
                text = f"image {text.lstrip()}"  # the first column has no title
                shape = dialect.shape_of(chosen, text)
            if shape.share < 1:  # the class is the rest of a line
                chosen, shape = dialect.Dialect("space", "none"), dialect.Shape()
        width = max(shape.width, len(chosen.first(text)))

        def rows(header: bool) -> Iterator[tuple[int, list[str], str]]:
            return tables.iter_rows(chosen.records(text), range(width), width, header)

        step, data = 1 + text.count("\n") // _SAMPLE, self.data
        sample = [cells for number, (_, cells, _) in enumerate(rows(False)) if cells and number % step == 0]
        if known:
            title = known.title(known.labels[0])
            data = dataclasses.replace(data, target=known.kind or data.target)
            if known.titles and title not in map(str.strip, sample[0]):
                self.notes.append(f"Not used: {path}, which has no column {title}")
                return None
            data = data if known.labels[1:] else dataclasses.replace(data, label_column=title)
        given = {cells[-1].strip().lower() for cells in sample[1:]}
        if path.stem.endswith("partition") and given <= {*set_parts.WORDS, *set_parts.NUMBERED}:
            way = "Give the table of their labels: this one, in the same folder, then gives the parts"
            raise ZooError(f"{path} only gives the parts of the images", way)
        number = functools.cache(lambda cell: next(iter(self.find(cell)), None))
        layout = table_columns.find(path, data, sample, number, self.names)
        how = f"{chosen.words(text, bool(layout.titles))}; {encoding}"
        layout = layout._replace(sign=known.sign or layout.sign) if known else layout
        self.kind, self.titles = layout.kind, [*map(layout.title, layout.labels)]
        self.notes.append(f"Read {path}: {how}; {layout.words()}")
        if boxes := [title for place, title in enumerate(layout.titles) if layout.is_of_box(place)]:
            self.notes.append(f"Not used: the boxes in {listed(boxes)}. Whole images are learned")
        flags = {cells[place].strip() for cells in sample[1:] for place in layout.labels * (self.kind != NUMBER)}
        empty = ["an empty cell"] * ("" in flags and len(layout.labels) > 1)
        if (no := ["-1"] * bool(flags & {"-1", "-1.0"}) + empty) and self.kind != CLASSES:
            self.notes.append(f"In columns of labels, {' or '.join(no)} means no, as 0 does")
        if shared := layout.shared(sample):
            group = f"data.group={shlex.quote(shared)}"
            self.notes.append(f"Several images have the same {shared}: to keep them in one part, add {group}")
        elif layout.group is None and layout.titles and (note := table_columns.grouped_near(path, layout)):
            self.notes.append(note)
        for line, cells, problem in rows(bool(layout.titles)):
            self.count += 1
            where = f"{path.name}, line {line}"
            if problem:
                self.skipped.append((where, problem))
            else:
                self._take(where, cells, part, layout)
        return layout

    def _take(self, where: str, cells: list[str], part: str, layout: Columns) -> None:
        numbers, name = self.find(cells[layout.image]), cells[layout.image].strip()
        self.folders.update(self.names[number].rpartition("/")[0] for number in numbers)
        part = part if layout.part is None else layout.part_of(cells)
        group = cells[layout.group].strip() if layout.group is not None else ""
        try:
            row, reason = _Row(_class(where, cells, layout), part, group, where), ""
        except ZooError as error:
            if self.kind != NUMBER or re.search(r"\d", cells[layout.labels[0]]):
                raise  # a word such as k. A. means that the number is unknown
            self.skipped.append((name, error.message))
            return
        if len(numbers) != 1:
            several = listed((self.names[number] for number in numbers), most=3)
            reason = f"it may be any of {several}; choose with data.images=DIR" if numbers else "no such image"
            self.unclear += len(numbers) > 1
        elif self.kind == CLASSES and tables.is_missing(row.label):
            reason = f"the label is {row.label or 'empty'}"
        elif layout.part is not None and not part:
            reason = f"{cells[layout.part]!r} is not a part such as train, val or test"
        if reason:
            self.skipped.append((name, f"{where}: {reason}"))
        elif (other := self.rows.setdefault(numbers[0], row))[:2] != row[:2]:
            if self.kind == LABELS and len(layout.labels) == 1 and other.part == row.part:  # a row for each label
                labels = sorted({*other.label.split(targets.AND), *row.label.split(targets.AND)} - {""})
                self.rows[numbers[0]] = other._replace(label=targets.AND.join(labels))
                return
            shown = ((repr(one.label.replace(targets.AND, ", ")), one.part, f"({one.where})") for one in (other, row))
            both = " and ".join(" ".join(filter(None, each)) for each in shown)
            several = " If an image has several labels, a row for each: data.target=labels" * (self.kind == CLASSES)
            raise ZooError(f"{name} has two rows that differ: {both}", f"Keep the right row.{several}")
        else:
            self.twice += other is not row

    def take_parts(self) -> None:
        """Use the parts of a file next to the table that gives the part of each image: list_eval_partition.txt."""
        given = any(row.part for row in self.rows.values())
        for path in [] if given else filter(Path.is_file, sorted(self.source.parent.glob("*partition.*"))):
            parts = dict[int, str]()
            for words in map(_WORDS.split, files.lines(files.read(path, "auto")[0])):
                part = set_parts.NUMBERED.get(words[-1]) or set_parts.WORDS.get(words[-1].lower())
                parts |= dict.fromkeys(self.find(words[0]) if part else [], part or "")
            if parts.keys() >= self.rows.keys():
                self.rows = {number: row._replace(part=parts[number]) for number, row in self.rows.items()}
                self.notes.append(f"Parts: as in {path}")
            elif parts:
                self.notes.append(f"Not used: {path}, which lacks the parts of some images")

    def check(self, trains: bool) -> None:
        if 2 * len(self.skipped) > self.count or 10 * self.unclear > self.count:
            likely = max(sorted(self.folders), key=self.folders.__getitem__, default="")
            lines = listed((f"  {name}: {reason}" for name, reason in self.skipped), "\n")
            rows = f"{len(self.skipped):,} of the {self.count:,} rows of {self.table}"
            raise ZooError(
                f"{rows} cannot be used with {self.root}:\n{lines}",
                f"Give one of the folders, such as data.images={shlex.quote(str(self.root / likely))}"
                if self.unclear and len(self.folders) < 10
                else f"Is this the folder of the images? {_IMAGES}",
            )
        labels = {row.label for row in self.rows.values()}
        if trains and self.kind == CLASSES and 2 < len(labels) == len(self.rows):
            message = f"{self.table}: each of {len(labels):,} images has its own class, such as {min(labels)[:80]!r}"
            raise ZooError(message, "Is data.label_column the column of the classes?")
        parts: dict[str, str] = {}
        for row in self.rows.values():
            if row.group and parts.setdefault(row.group, row.part) != row.part:
                raise ZooError(
                    f"{self.table}: the group {row.group} is in two parts, {parts[row.group]} and {row.part}",
                    "Correct the table, or leave out data.group.",
                )
        if not self.kind:
            self._decide()
        trained = {row.label for row in self.rows.values() if row.part in ("", "train")}
        lacking = sorted(labels - trained)
        if trains and (not trained or (self.kind == CLASSES and (lacking or len(trained) < 2))):
            shown = listed(repr(name[:80]) for name in lacking or trained)
            text = f"no training images of {shown}" if lacking else f"one class only: {shown}"
            remedy = "Each class needs images for training, and a classifier two classes."
            raise ZooError(f"{self.table} has {text}", remedy)

    def _decide(self) -> None:
        """Determine by all rows of several columns of 0 and 1 whether they are classes or labels."""
        given = {number: row for number, row in self.rows.items() if not row.label or targets.AND in row.label}
        if not given:
            self.kind = CLASSES
        elif any(targets.AND in row.label for row in given.values()):
            self.kind = LABELS
            self.notes.append("Rows with several 1: these columns are labels of which an image may have several")
        else:
            number, row = next(iter(given.items()))
            raise ZooError(
                f"{row.where}: none of the columns {listed(self.titles)} is 1 for {self.names[number]}, in "
                f"{counted(len(given), 'row')} of {len(self.rows):,}. In each other row, exactly one is 1",
                "If an image may have no label or several: data.target=labels\n"
                "If each image has one class, correct these rows. One column as two classes: data.label_column=NAME",
            )

    def listing(self) -> FolderListing:
        unused = [name for number, name in enumerate(self.names) if number not in self.rows]
        if self.renamed:
            self.notes.append(f"Files such as {self.renamed} in the table mean the images of the same names")
        if self.twice:
            self.notes.append(f"{counted(self.twice, 'row')} of {self.source.name} repeat another")
        left = f"{len(unused):,} without{', not used: ' * bool(unused)}{listed(unused, most=3)}"
        self.notes.append(f"{counted(len(self.rows), 'image')} of {self.root} with a row, {left}")
        known = None
        if self.kind != CLASSES:
            known = targets.of_rows(self.kind, ", ".join(self.titles), [row.label for row in self.rows.values()])
            named = zip(self.rows.items(), targets.strata(known), strict=True)
            self.rows = {number: row._replace(label=stratum) for (number, row), stratum in named}
        names = {} if known else self._class_names({row.label for row in self.rows.values()})
        self.notes += tables.unclear_labels(names.values(), "remove these rows from the table")
        if joined := tables.joined_labels(names.values()):
            self.notes.append(f"{joined[0]}; data.target=labels learns each label")
        names = names or {row.label: row.label for row in self.rows.values()}
        single = {row.part for row in self.rows.values()} == {"train"}
        files_by_class: folder_scan.Files = defaultdict(list)
        for number, row in sorted(self.rows.items(), key=lambda one: (one[1].part != "train", one[1].part, one[0])):
            files_by_class["" if single else row.part, "", names[row.label]].append(self.names[number])
        classes, group = sorted(names.values()), {self.names[number]: row.group for number, row in self.rows.items()}
        listing = folder_scan.assembled(self.root, files_by_class, classes, self.skipped, self.notes)
        groups = [group[name] for name in listing.names] if any(group.values()) else []
        if known:
            place = {self.names[number]: row for row, number in enumerate(self.rows)}
            known = dataclasses.replace(known, values=known.values[[place[name] for name in listing.names]])
            listing.notes[-1] = targets.counts_note(known, self.titles)
        return dataclasses.replace(listing, table=self.source, groups=groups, targets=known)

    def _class_names(self, labels: set[str]) -> dict[str, str]:
        """Return the name of each class: from a JSON file next to the table that names all class numbers, if any."""
        for path in sorted(self.source.parent.glob("*.json")) if all(map(str.isdecimal, labels)) else ():
            try:
                content = json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size < 1 << 20 else None
            except (OSError, ValueError, RecursionError):  # another kind of file
                continue
            names = {key: content[key] for key in labels & set(content)} if isinstance(content, dict) else {}
            if len({each for each in names.values() if isinstance(each, str)}) == len(labels):
                self.notes.append(f"Names of the classes: {path}")
                return names
        return {name: name for name in labels}


def scan(data: TableReading, trains: bool = True) -> FolderListing:
    """List the images that a table names, with class, part and group of each; ``trains``: each class needs some."""
    if not data.root:
        raise ZooError("data=image_table needs a table", "Add data.root=FILE, and data.images=DIR for the images.")
    root = existing_input(data.root, "Name a table, or a folder with train.csv and test.csv.")
    present, notes = _tables(root, data.images)
    reader, known = _Reader(data, present[0][1], notes), None
    for part, path in present:
        known = reader.read(part, path, known) or known
    if data.group and not any(row.group for row in reader.rows.values()):
        groups = set_parts.groups_of([reader.names[number] for number in reader.rows], data.group)
        rows = zip(reader.rows.items(), groups, strict=True)
        reader.rows = {number: row._replace(group=group) for (number, row), group in rows}
    reader.take_parts()
    reader.check(trains)
    if not any(row.part for row in reader.rows.values()):
        table = reader.source.with_name(f"{reader.source.stem}_in_parts.csv")
        notes += set_parts.lists_note(reader.root, set_parts.lists_near(reader.root), reader.source, table)
    return reader.listing()


def _tables(root: Path, images: str | None) -> tuple[list[tuple[str, Path]], list[str]]:
    """Return the part and the path of each table, the training table first, and notes on unread tables."""
    if root.is_file():
        kind = formats.find(head=unknown_kinds.head_of(root), use="images")
        if kind and kind.group == "parquet":
            ways = "\nIf it contains paths: ".join(kind.remedies[use] for use in ("images", "texts"))
            raise ZooError(f"{root} is {kind.about}", ways)
        return [("", root)], set_parts.parts_beside(root, images)
    present = _in(root)
    if all(set_parts.PROSE.match(path.name) for path in present):  # perhaps each part has a table
        parts = {name: part for name in set_parts.subfolders(root) if (part := set_parts.role_of(name))}
        inner = [
            (part, path)
            for name, part in set_parts.settled(parts).items()
            for path in _in(root / name)
            or [each for below in set_parts.subfolders(root / name) for each in _in(root / name / below)]
        ]
        if "train" in dict(inner) and len(inner) == len(dict(inner)):
            return sorted(inner, key=lambda each: each[0] != "train"), []
    named = [(set_parts.part_of(path.name.split(".")[0]) or ("", "-"), path) for path in present]
    chosen = [(part, path) for (part, rest), path in named if rest in _FILLERS]
    if "train" not in dict(chosen):  # perhaps tables of one set, such as x_train and x_test, and more tables
        trained = [rest for (part, rest), _ in named if part == "train"]
        chosen = [(part, path) for (part, rest), path in named if part and [rest] == trained]
        chosen = chosen if len(chosen) > 1 else [("", path) for path in present]
    if len(dict(chosen)) < len(chosen) or not chosen:
        below = [each for pattern in ("*/*", "*/*/*") for each in sorted(root.glob(pattern))]
        shown = listed(str(each) for each in below if tables.suffix(each) in datasets.TABLES and each.is_file())
        text = "contains no table" + f", but there are {shown}" * bool(shown)
        present = [path for path in present if not set_parts.PROSE.match(path.name)]
        if present:
            text = f"contains several tables: {listed(path.name for path in present)}"
        likely = sorted(present, key=lambda path: (set_parts.is_of_other(path), bool(set_parts.part_of(path.stem))))
        such = f", such as {set_parts.as_root(likely[0])}" if likely else ": data.root=FILE"
        remedy = [f"Name one with image and class in each row{such}", *set_parts.parts_beside(root / "-.csv", images)]
        raise ZooError(f"{root} {text}", "\n".join(remedy))
    unused = [path.name for path in present if path not in [table for _, table in chosen]]
    return sorted(chosen, key=lambda each: each[0] != "train"), [f"Not read: {listed(unused)}"] * bool(unused)


def _named_in(table: Path) -> str:
    """Return the setting of the folder of the first images that a table names by a path from its folder, or any."""
    words = re.split(r"[,;\t\"\n]", unknown_kinds.head_of(table, 1 << 16).decode("utf-8", "replace"))
    images = [word.strip() for word in words if Path(word.strip()).suffix.lower() in decode.SUFFIXES]
    for folder in (table.parent, table.parent.parent):
        if present := [folder / word for word in images if os.path.isfile(folder / word)]:
            place = os.path.commonpath([path.parent for path in present])
            return f"If the images are in it: data.images={shlex.quote(place)}."
    near = [] if set_parts.subfolders(table.parent) else set_parts.folders_of_images(table.parent.parent)
    return f"Those next to it are in data.images={table.parent.parent / near[0]}." if len(near) == 1 else ""


def _in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if tables.suffix(path) in datasets.TABLES and path.is_file())


def _are_same(folder: str, wanted: str) -> bool:
    """Return whether two paths end in the same folders, compared up to the length of the shorter path."""
    pairs = zip(folder.lower().split("/")[:0:-1], wanted.lower().split("/")[:0:-1], strict=False)
    return all(one == other for one, other in pairs)


def _class(where: str, cells: list[str], layout: Columns) -> str:
    """Return the class, the number or the labels of a row; raise ZooError if its cells contain none."""
    given = {layout.title(place): cells[place].strip() or "0" * (len(layout.labels) > 1) for place in layout.labels}
    if layout.kind != CLASSES:
        return targets.of_row(where, given, layout.kind, layout.sign)
    (cell, *more) = given.values()
    if not more:
        return cell[:-2] if re.fullmatch(r"\d+\.0", cell) else cell
    flags = {name: targets.FLAGS.get(value.lower()) for name, value in given.items()}
    chosen = [name for name, value in flags.items() if value]
    if len(chosen) == 1:
        return chosen[0]
    raise ZooError(
        f"{where}: {counted(len(chosen), 'column')} of {listed(flags)} are 1 for {cells[layout.image]}"
        f"{': ' * bool(chosen)}{listed(chosen)}, and a class needs exactly one",
        "To learn each label: data.target=labels\n"
        f"One column as two classes: data.label_column={shlex.quote(layout.title(layout.labels[0]))}",
    )

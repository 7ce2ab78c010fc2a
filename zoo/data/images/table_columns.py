"""Find the columns of a table with the classes of images: file, class, part and group."""

import functools
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from zoo.config.schemas.image_classification import TableReading
from zoo.core.errors import ZooError, counted, listed, nearest
from zoo.data import datasets
from zoo.data.images import decode, set_parts, unknown_kinds
from zoo.data.targets import FLAG, FLAGS, sign_in
from zoo.data.text import tables
from zoo.protocol.targets import CLASSES, LABELS, NUMBER

# Titles of the size of an image or of a box in it, without signs: Width, Roi.X1, xmin.
_OF_BOXES = re.compile(r"(roi|bbox)[xywh]?|[xy](min|max)")
_OF_IMAGES = re.compile(rf"(image)?(width|height)|{_OF_BOXES.pattern}")
_PARTS = ("split", "dataset", "subset", "part", "partition")
# Titles of columns that are true for the rows of one part: is_valid, is_train.
_FLAG_OF_PART = re.compile(r"is(?:final|public|private)?(train|valid|val|test)(ing|ation)?")
_OBJECTS = ("lesion", "case", "study", "scene", "video", "plant", "animal")
_PERSONS = ("patient", "subject", "person", "driver", "speaker", "participant", "user", "session", "location")
# Titles of who made an image, with what, and of whom.
_OF_ORIGIN = re.compile(
    ".*(holder|author|photographer|annotator|licen[cs]e|source|camera|device|credit|copyright)"
    f"|({'|'.join((*_OBJECTS, *_PERSONS))})(id|nr|no|number)"
)
_LAST = re.compile(f"fold|{_OF_ORIGIN.pattern}")
# Fractions with at most this number of values can be classes, if the user chooses their column.
_FEW = 10
_OF_FILES = re.compile(r"(?i)image|img|file|photo|pic|path|name|index|number|id|no|nr|bild|foto")
_DATES = re.compile(r"(\d{1,4}[-./]\d{1,2}[-./]\d{2,4}\b.*)?")
# JSON objects in a cell.
_NESTED = re.compile(r'\[?\{"')
# Words of sentences, and not of labels.
_SPOKEN = re.compile(r"\b(an?|the|is|are|while|there)\b", re.IGNORECASE)
_listed = functools.partial(listed, most=tables.MOST_COLUMNS)
_IN_FOLDERS = "If the folders of the images are their classes: data=folder data.root=DIR"
# Returns the number of the image that a cell names, or None.
Number = Callable[[str], int | None]


class Columns(NamedTuple):
    """Column indices; several ``labels`` contain 0 and 1. ``titles`` is empty for a table without a header.

    ``kind`` of target is empty if the rows of several columns decide. ``sign`` separates the labels in a cell.
    """

    titles: list[str]
    image: int
    labels: list[int]
    part: int | None
    group: int | None
    kind: str = ""
    sign: str = ""

    def title(self, place: int) -> str:
        return self.titles[place] if self.titles else str(place)

    def words(self) -> str:
        places = {"image": self.image, "part": self.part, "group": self.group}
        optional = (f", {word} in {self.title(place)}" for word, place in places.items() if place is not None)
        used = {*places.values(), *self.labels}
        other = [title for place, title in enumerate(self.titles) if title and place not in used]
        unused = f"; not used: {listed(other, most=5)}" * bool(other)
        what = {LABELS: "labels", NUMBER: "number"}.get(self.kind, "class")
        return f"{what} in {listed(map(self.title, self.labels), most=3)}{''.join(optional)}{unused}"

    def plain(self, place: int) -> str:
        return re.sub("[^a-z]", "", self.title(place).lower())

    def part_of(self, cells: list[str]) -> str:
        """Return the part of a row, or an empty string if its cell is not one."""
        if self.part is None:
            return ""
        cell, flag = cells[self.part].strip().lower(), _FLAG_OF_PART.fullmatch(self.plain(self.part))
        if not flag or cell not in FLAGS:
            return set_parts.WORDS.get(cell, "") or set_parts.NUMBERED.get(cell, "")
        named = set_parts.WORDS[flag[1]]
        return named if FLAGS[cell] else "test" if named == "train" else "train"

    def shared(self, sample: Sequence[Sequence[str]]) -> str:
        """Return the title of an unused column such as patient_id with few rows a group; empty without one."""
        parts = set() if self.part is None else {set_parts.WORDS.get(cells[self.part].lower()) for cells in sample}
        if self.group is not None or "validation" in parts:  # without validation rows, some are drawn
            return ""
        rows = sample[1:]
        classes = len({cells[self.labels[0]] for cells in rows})
        least = max(len(rows) / tables.MOST_IN_GROUP, 2 * classes)
        likely = [
            (place, title)
            for place, title in enumerate(self.titles)
            if (tables.OF_GROUPS.fullmatch(title) or title.lower() in (*_OBJECTS, *_PERSONS))
            and place not in (self.image, *self.labels)
        ]
        likely.sort(key=lambda one: re.match("|".join(_PERSONS), one[1].lower()) is None)
        counts = ((title, len({cells[place].strip() for cells in rows})) for place, title in likely)
        few = (
            (title, count, 1 if title.lower() in _PERSONS else classes if title.lower() in _OBJECTS else least)
            for title, count in counts
        )
        return next((title for title, count, least in few if len(rows) > count > least), "")

    def is_of_box(self, place: int) -> bool:
        return bool(_OF_BOXES.fullmatch(self.plain(place)))


def find(path: Path, data: TableReading, sample: list[list[str]], number: Number, names: Sequence[str]) -> Columns:
    """Find the columns of a table by the settings, its titles and a ``sample`` of rows that includes the first."""
    first = [cell.strip() for cell in sample[0]]
    files = not data.header and any(Path(cell).suffix.lower() in decode.SUFFIXES for cell in first)
    titles = [*map(str, range(len(first)))] if files else first  # the first row has cells, not titles
    if len(sample) < 2:
        raise ZooError(
            f"{path} has a single row, {listed(cell[:40] for cell in first)}",
            "Give a table with a row for each image.",
        )
    columns = [[cell.strip() for cell in column] for column in zip(*sample[1:], strict=True)]
    by_name = data.group and data.group not in titles and set_parts.PART_OF_NAME.fullmatch(data.group)
    asked = {"data.image_column": data.image_column, "data.group": None if by_name else data.group}
    image, grouped = (name if name is None else _place(path, key, name, titles, columns) for key, name in asked.items())
    name = data.label_column
    labelled = [] if name is None else [name] if name in titles else [each.strip() for each in name.split(",")]
    given = [_place(path, "data.label_column", each, titles, columns) for each in labelled]
    pool = [*range(len(columns))] if image is None else [image]
    image = pool[_image_column(path, [columns[each] for each in pool], [titles[each] for each in pool], number, names)]
    named = any(each and not each.isdecimal() for each in (*asked.values(), *labelled))
    header = named or (number(first[image]) is None and not files) if data.header is None else data.header
    layout = Columns(first if header else [], image, [], None, grouped)
    layout = layout._replace(part=_part_column(path, columns, layout, given), kind=data.target or "")
    for place in given if len(given) > 1 and data.target != NUMBER else ():
        if wrong := [cell for cell in columns[place] if cell and cell.lower() not in FLAGS]:
            raise ZooError(
                f"{path}: column {layout.title(place)} contains {wrong[0]!r}; several label columns contain 0 and 1",
                "Name one column, or columns of 0 and 1: data.label_column=NAME",
            )
    if data.target in (LABELS, NUMBER):
        return _of_target(path, columns, layout, given, given or _free(columns, layout, number))
    labels = given or _label_columns(path, columns, layout, number)
    if len(labels) == 1 and not data.target:
        _refuse_targets(path, columns, layout, labels[0], bool(given))
    return layout._replace(labels=labels, kind=layout.kind or CLASSES * (len(labels) == 1))


def _free(columns: list[list[str]], layout: Columns, number: Number) -> list[int]:
    """Return the columns that may be targets: without those that are empty, nested, dates, files, or of the image."""
    images = [number(cell) for cell in columns[layout.image]]
    boxed = [place for place in range(len(columns)) if layout.plain(place) in ("x", "y", "width", "height")]
    return [
        place for place, column in enumerate(columns) if place not in (layout.image, layout.part, layout.group)
        and not (place in boxed and len(boxed) == 4)
        and any(column) and not _is_counted(column) and not _OF_IMAGES.fullmatch(layout.plain(place))
        and not tables.DATE.fullmatch(layout.title(place)) and not any(map(_NESTED.match, column))
        and not all(map(_DATES.fullmatch, column)) and [number(cell) for cell in column] != images
        and not all(Path(cell).suffix.lower() in decode.SUFFIXES for cell in column)
    ]  # fmt: skip


def _of_target(path: Path, columns: list[list[str]], layout: Columns, given: list[int], pool: list[int]) -> Columns:
    """Return the columns of several labels or of a number, among the ``given`` ones or those of ``pool``."""
    flags = [place for place in pool if _is_of_flags(columns[place])]
    if layout.kind == NUMBER:
        numeric = [place for place in pool if all(map(tables.is_number, columns[place]))]
        pool = given or [place for place in numeric if place not in flags] or numeric
    elif flags and (len(pool) == 1 or len(flags) > 1):
        return layout._replace(labels=flags, sign=FLAG)
    elif len(pool) > 1:
        pool = [place for place in pool if tables.several_labels(set(columns[place]))]
    if len(pool) > 1:
        raise _ambiguous(path, "data.label_column", [layout.title(place) for place in pool], layout.kind)
    if not pool:
        what = "numbers" if layout.kind == NUMBER else "several labels: lists, or several columns of 0 and 1"
        for place, column in enumerate(columns) if layout.kind == NUMBER else ():
            odd = [cell for cell in column if not tables.is_number(cell)]
            if 0 < 2 * len(odd) < len(column):
                what += f" only, such as {layout.title(place)} with {odd[0][:60]!r}"
        raise ZooError(
            f"{path} has no column of {what}; its columns are {_titles_and_row(layout.titles, columns)}",
            "Name the column with data.label_column=NAME, or remove data.target=.",
        )
    return layout._replace(labels=pool, sign=sign_in(columns[pool[0]]))


def _is_of_flags(column: list[str]) -> bool:
    """Return True for 0 and 1, of which some cells may be empty."""
    return {""} != {cell.lower() for cell in column} <= {"", *FLAGS}


def _is_of_lists(column: list[str]) -> bool:
    """Return True for lists of labels that recur, though few rows may have the same list."""
    sign = sign_in(column)
    labels = [label for cell in column for label in tables.labels_of(cell, sign)]
    return bool(tables.several_labels(set(column))) and 2 * len(set(labels)) <= len(labels)


def _place(path: Path, key: str, name: str, first: list[str], columns: list[list[str]]) -> int:
    if name in first:
        return first.index(name)
    if name.isdecimal() and int(name) < len(first):
        return int(name)
    shown = _listed(repr(first[place]) for place in tables.likely_first(first, columns))
    raise ZooError(f"{path} has no column {name!r}{nearest(name, first)}", f"Set {key} to one of {shown}.")


def _image_column(path: Path, columns: list[list[str]], first: list[str], number: Number, names: Sequence[str]) -> int:
    """Return the column that names most images; columns that name the same images count as one."""
    layout = [[number(cell) for cell in column] for column in columns]
    ranks = [(len(each) - each.count(None), len(set(each) - {None})) for each in layout]
    # Numbers that recur, such as minutes, name images only by their title.
    for place, title in enumerate(first if len(columns) > 1 else ()):
        recur = len(set(columns[place])) < len(columns[place]) and all(map(str.isdecimal, columns[place]))
        if recur and not _OF_FILES.search(title):
            ranks[place] = (0, 0)
    best = max(ranks)
    if not best[0] or (len(columns) > 1 and 2 * best[0] < len(columns[0])):
        for column, title in zip(columns, first, strict=True):
            _refuse_joined(path, column, title, first, number)
            several = [name for name in names if len(column[0]) > 3 and Path(name).name.startswith(column[0])]
            if len(several) > 1:
                raise ZooError(
                    f"{path}: several images belong to each row, such as {listed(several, most=4)} to {column[0]!r}",
                    f"Combine the images of each row into one of its name. Or write one name into column {title}.",
                )
        raise ZooError(
            f"{path} has no column that names images: {best[0]:,} of {len(columns[0]):,} rows match at best. "
            f"Columns: {_titles_and_row(first, columns)}",
            "Its cells name folders: write a row for each image."
            if any(cell.endswith("/") for column in columns for cell in column)
            else f"The images are named such as {names[0]}. Give the folder that directly contains these files with "
            "data.images=DIR, or set data.image_column=NAME. If no column names the files, add one with such names."
            f" {set_parts.names_note(path.parent)}{_join(path, first)}".rstrip(),
        )
    same = [place for place, rank in enumerate(ranks) if rank == best]
    if any(layout[place] != layout[same[0]] for place in same):
        raise _ambiguous(path, "data.image_column", [first[place] for place in same], "images")
    return same[0]


def _refuse_joined(path: Path, column: list[str], title: str, titles: list[str], number: Number) -> None:
    """Raise an error if each cell names an image and a label, such as ID_1_epidural, next to its value."""
    pairs = [cell.rpartition("_") for cell in column]
    kinds = {kind for *_, kind in pairs}
    if len(titles) != 2 or 2 * len(kinds) > len(column) or any(number(name) is None for name, *_ in pairs[:20]):
        return
    given = path, path.with_name("labels_of_images.csv"), "--column", title
    raise ZooError(
        f"{path}: column {title} names an image and one of {counted(len(kinds), 'label')}, such as {column[0]!r}",
        f"To write a row for each image: {datasets.table_command('labels', *given, then=' data.target=labels.')}",
    )


def _part_column(path: Path, columns: list[list[str]], layout: Columns, labels: list[int]) -> int | None:
    """Return the column of words such as train and test; a column with a single word needs a title such as split."""
    marks = [layout.title(place) for place in range(len(columns)) if _FLAG_OF_PART.fullmatch(layout.plain(place))]
    if len(marks) > 1 and any(re.match("is_?(final|public|private)", mark.lower()) for mark in marks):
        raise ZooError(
            f"{path} has several columns of parts: {listed(marks)}",
            "Write one column, split, with train, val or test in each row, and remove these.",
        )
    for place, column in enumerate(columns):
        parts = {set_parts.WORDS.get(cell.lower()) for cell in column}
        several = layout.plain(place) in _PARTS or ("train" in parts and len(parts) > 1)
        flags = set(map(str.lower, column)) <= FLAGS.keys() and _FLAG_OF_PART.fullmatch(layout.plain(place))
        named = sum(cell.lower() in set_parts.WORDS for cell in column)  # other rows are skipped, with a reason
        several = several and (None not in parts or ("train" in parts and 5 * named >= 4 * len(column)))
        numbered = layout.plain(place) == "partition" and set(column) <= {*set_parts.NUMBERED}
        if place not in (layout.image, layout.group, *labels) and (several or flags or numbered):
            return place
        values = sorted(set(column))
        unknown = all(map(str.isdecimal, values)) or 1 < len(values) <= 10
        if place not in labels and layout.plain(place) == "split" and unknown:
            raise ZooError(
                f"The column split of {path} holds {listed(values)}, and it is not known which part each means",
                "Write train, val and test in it, or give the column a different name to draw the parts at random.",
            )
    return None


def _label_columns(path: Path, columns: list[list[str]], layout: Columns, number: Number) -> list[int]:
    places, inside = _free(columns, layout, number), "/" in columns[layout.image][0].replace("\\", "/")
    numeric = [place for place in places if all(map(tables.is_number, columns[place]))]
    flags = [place for place in places if _is_of_flags(columns[place])]
    varied = [place for place in places if len(set(columns[place])) > 1]
    recurring = [place for place in varied if 2 * len(set(columns[place])) <= len(columns[place])]
    single = [place for place in recurring if place not in flags or len(flags) == 1]
    graded = [place for place in single if tables.GRADES.fullmatch(layout.plain(place))]
    words = [
        place
        for place in varied
        if not _OF_ORIGIN.fullmatch(layout.plain(place))
        and ((place in recurring and place not in numeric) or place in graded or _is_of_lists(columns[place]))
    ]
    named = [place for place in varied if tables.LABELS.fullmatch(layout.plain(place))]
    named = [place for place in named if not tables.OF_TEXTS.fullmatch(layout.plain(place))] or named
    named = named or [place for place in varied if tables.LABELS.fullmatch(layout.plain(place).removesuffix("id"))]
    # Next to columns of true and false, a column of numbers is as likely; without titles, one of few values.
    measured = [place for place in varied if place in numeric and place not in flags]
    targets: list[int] = []
    if words and not layout.titles:
        targets = [place for place in measured if 5 * len(set(columns[place])) <= len(columns[place])]
    elif (words or len(flags) > 1) and set(words) <= set(flags):
        targets = measured
    if not named and not words and len(flags) > 1 and not targets:
        return flags
    pool = named or words + flags[: len(flags) > 1] + targets
    pool = pool or recurring or [place for place in varied if len(varied) == 1 or place in numeric]
    likely = sorted(pool, key=lambda place: (bool(_LAST.match(layout.plain(place))), place in numeric, place))
    pool = _different(columns, likely) or [place for place in places if tables.LABELS.fullmatch(layout.plain(place))]
    if len(pool) > 1:
        pool = list(dict.fromkeys([*pool, *likely, *(place for place in flags if place in varied)]))
        every = len([place for place in pool if _is_of_flags(columns[place])]) > 1
        names = [layout.title(place) for place in pool]
        numbered = [layout.title(place) for place in pool if tables.measurements(set(columns[place]))]
        error = _ambiguous(path, "data.label_column", names, "classes", every, inside, numbered)
        if not layout.titles:
            error.message += f", counted from 0, of the row {' | '.join(column[0][:60] for column in columns)}"
        raise error
    if pool:
        apart = layout.titles and not named and tables.OF_GROUPS.fullmatch(layout.title(pool[0]))
        if apart and (way := _join(path, layout.titles, layout.titles[layout.image])):
            title = layout.title(pool[0])
            raise ZooError(f"{path}: {title} numbers objects, and the classes are in another table", way.strip())
        return pool
    nested = [layout.title(place) for place, column in enumerate(columns) if any(map(_NESTED.match, column))]
    unread = f"Objects are not read, as in {listed(nested)}: export a flat table (CSV or JSON-MIN). " * bool(nested)
    add = "Add a column with the class of each image, or set data.label_column=NAME."
    raise ZooError(
        f"{path} has no column of classes; its columns are {_titles_and_row(layout.titles, columns)}",
        unread + (_IN_FOLDERS if inside else add),
    )


def _heads_near(path: Path) -> Iterator[tuple[Path, list[list[str]]]]:
    """Yield the other tables in the folder of a table, with the titles of their columns and the cells of some rows."""
    for near in sorted(path.parent.glob("*.csv")) if path.suffix == ".csv" else ():
        if near != path:
            rows = unknown_kinds.head_of(near, 1 << 16).decode("utf-8", "replace").split("\n")
            yield near, [[cell.strip().strip('"') for cell in row.split(",")] for row in rows]


def _join(path: Path, titles: Sequence[str], images: str = "") -> str:
    """Return how to join a table and one next to it with the same column of ids; empty without one.

    Args:
        images: title of the column that names images; empty if the other table names them.
    """
    for near, (head, *_) in _heads_near(path):
        ids = [title for title in titles if tables.OF_GROUPS.fullmatch(title) and title in head]
        if ids and images not in head and not set(head) <= set(titles):
            labels, named = (near, path) if images else (path, near)
            given, key = ([labels, named], path.parent / "joined.csv", "--on", ids[0]), shlex.quote(ids[0])
            command = datasets.table_command("join", *given, then=f" data.group={key}")
            return f"\nTo join it with {near.name}: {command}"
    return ""


def grouped_near(path: Path, layout: Columns) -> str:
    """Return a note on a table next to this one that has the patient or object of the same images; or empty."""
    key = layout.title(layout.image)
    for near, (head, *rows) in _heads_near(path):
        own = [dict(zip(head, cells, strict=True)) for cells in rows if len(cells) == len(head)]
        new = [title for title in head if key in head and title not in (key, *layout.titles)]
        for title in filter(tables.OF_GROUPS.fullmatch, new):
            values = [cells[title] for cells in own if cells[title]]
            if len({*values}) < 0.95 * len(values):
                labels = shlex.quote(f"data.label_column={','.join(map(layout.title, layout.labels))}")
                given, then = ([path, near], path.parent / "joined.csv", "--on", key), shlex.quote(title)
                command = datasets.table_command("join", *given, then=f" data.group={then} {labels}")
                return f"{near.name} has {title} for the same images. To keep images of one in one part: {command}"
    return ""


def _titles_and_row(titles: list[str], columns: list[list[str]]) -> str:
    titles = titles or [*map(str, range(len(columns)))]
    order = tables.likely_first(titles, columns)
    return f"{_listed(titles[each] for each in order)}, a row: {_listed(columns[each][0][:60] for each in order)}"


def _different(columns: list[list[str]], places: list[int]) -> list[int]:
    """Drop columns that divide the rows in the same way as an earlier column, such as class numbers."""
    kept: list[int] = []
    for place in places:
        pairs = (set(zip(columns[place], columns[other], strict=True)) for other in kept)
        if not any(len(pair) == len({one for one, _ in pair}) == len({name for _, name in pair}) for pair in pairs):
            kept.append(place)
    return kept


def _is_counted(column: list[str]) -> bool:
    numbers = [int(cell) for cell in column if cell.isdecimal()]
    return len(numbers) == len(column) > 2 and numbers == sorted(set(numbers))


def _refuse_targets(path: Path, columns: list[list[str]], layout: Columns, place: int, asked: bool) -> None:
    """Raise an error for a column of numbers to predict, or of several labels for an image."""
    cells, name = [cell for cell in columns[place] if cell], layout.title(place)
    row, column_given = " | ".join(column[0][:60] for column in columns), f"data.label_column={shlex.quote(name)}"
    numbers = tables.measurements(set(cells))
    if 2 * len(set(cells)) > len(cells) > _FEW and all(map(tables.is_number, cells)):
        numbers = sorted(map(float, cells))
    if numbers and not (asked and len(numbers) <= _FEW):
        raise ZooError(
            f"{path}: column {name} holds numbers from {numbers[0]:g} to {numbers[-1]:g}, not classes; a row: {row}",
            f"To predict this number: data.target=number {column_given}\n"
            f"Or write classes into a column, such as ranges of {name}: data.label_column=NAME",
        )
    spoken = [cell for cell in cells if cell.count(" ") > 3 and _SPOKEN.search(cell)]
    if not asked and 2 * len(spoken) > len(cells) < 2 * len(set(cells)):
        raise ZooError(
            f"{path}: column {name} holds sentences, such as {spoken[0]!r}, not classes",
            "Captions of images cannot be trained. If another column holds classes: data.label_column=NAME",
        )
    several = "" if asked else tables.several_labels(set(cells))
    if several:
        raise ZooError(
            f"{path}: column {name} holds several labels for an image, such as {several!r}; a row: {row}",
            f"To learn each label: data.target=labels {column_given}\n"
            f"Each combination as a class: data.target=classes {column_given}",
        )
    if not asked and 4 * len(set(cells)) > 3 * len(cells) > 3 * _FEW and not all(map(tables.is_number, cells)):
        raise ZooError(
            f"{path}: column {name} differs for nearly every image, such as {cells[0]!r}; these are not classes",
            "Reading texts in images cannot be trained. For lists of labels: data.target=labels. If another column "
            f"holds classes: data.label_column=NAME. For classes of one image each: {column_given}",
        )


def _ambiguous(
    path: Path, key: str, names: list[str], what: str, every: bool = False, folders: bool = False,
    measured: Sequence[str] = (),
) -> ZooError:  # fmt: skip
    message = f"{path}: several columns may hold the {what}: {_listed(names)}"
    labels = ". All columns of 0 and 1 as labels: data.target=labels" * every
    labels += "".join(f". To predict a number: data.target=number {key}={shlex.quote(name)}" for name in measured[:1])
    labels += f". {_IN_FOLDERS}" * folders
    return ZooError(message, f"Choose one, such as {key}={shlex.quote(names[0])}{labels}")

"""Read labelled texts from class folders, tables, and files of one text a line."""

import csv
import dataclasses
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from zoo.config.schemas.text import LabelledData
from zoo.core.errors import ZooError, nearest
from zoo.core.files import file_sha256
from zoo.data.text import files as text_files

PARTS = ("train", "test")
MOST_CLASSES = 1000
SUFFIX = ".txt"
TABLES = {".csv": ",", ".tsv": "\t"}


@dataclasses.dataclass
class LabelledTexts:
    """Labelled texts in the order of their source.

    Attributes:
        texts: n texts, none of them blank.
        labels: n numbers of classes.
        parts: n times ``train`` or ``test``; None for all where the source has no such split.
        class_names: sorted.
        blank: how many blank texts were left out.
    """

    texts: list[str]
    labels: list[int]
    parts: list[str] | None
    class_names: list[str]
    blank: int


@dataclasses.dataclass(frozen=True)
class TextSource:
    """One checksum over the files, known before they are parsed, and how to read them."""

    sha256: str
    text: str
    read: Callable[[], LabelledTexts]


# One text: which part it is of ("" where the source does not say), its class, the text, and where it stood.
Row = tuple[str, str, str, str]


def source_of(row: LabelledData) -> TextSource:
    """Return the source that the settings of ``data=text_folder``, ``text_table`` or ``text_lines`` name.

    Raises:
        ZooError: it is missing, or not what it must be.
    """
    if row.name == "text_table":
        return _files(row, _tables(row), _table_rows)
    if row.name == "text_lines":
        return _files(row, _class_files(row), _line_rows)
    return _folder(row)


def _folder(row: LabelledData) -> TextSource:
    what = f"a folder with a folder a class, or a tar archive of one; texts end in {SUFFIX}"
    root = text_files.data_root(row.root, what)
    if root.is_file():
        return TextSource(file_sha256(root), str(root), lambda: _collect(row, _folder_rows(row, root)))
    sums = hashlib.sha256()
    for parts, content in text_files.iter_folder(root, SUFFIX):
        sums.update(f"{'/'.join(parts)} {hashlib.sha256(content).hexdigest()}\n".encode())
    return TextSource(sums.hexdigest(), str(root), lambda: _collect(row, _folder_rows(row, root)))


def _folder_rows(row: LabelledData, root: Path) -> Iterable[Row]:
    """``train/pos/1.txt`` or ``pos/1.txt``, with any folders above."""
    files = text_files.iter_archive(root, SUFFIX) if root.is_file() else text_files.iter_folder(root, SUFFIX)
    for parts, content in files:
        where = f"{root}: {'/'.join(parts)}" if root.is_file() else str(root.joinpath(*parts))
        if len(parts) < 2 or (parts[-2] in PARTS and len(parts) < 3):
            raise ZooError(
                f"{where} lies in no class folder", "The layout is CLASS/NAME.txt or train/CLASS/NAME.txt."
            )
        part = parts[-3] if len(parts) > 2 and parts[-3] in PARTS else ""
        if not row.classes or parts[-2] in row.classes:
            yield part, parts[-2], text_files.decode(content, row.encoding, where), where


def _files(row: LabelledData, files: list[tuple[str, str, Path]], rows: Callable[..., Iterable[Row]]) -> TextSource:
    sums = "".join(f"{part} {name} {file_sha256(path)}\n" for part, name, path in files)
    return TextSource(
        hashlib.sha256(sums.encode()).hexdigest(),
        str(row.root),
        lambda: _collect(row, (each for file in files for each in rows(row, *file))),
    )


def _tables(row: LabelledData) -> list[tuple[str, str, Path]]:
    root = text_files.data_root(row.root, "a .csv or .tsv file, or a folder with train.csv and test.csv (or .tsv)")
    tables = [("", "", root)]
    if root.is_dir():
        tables = [
            (part, "", root / (part + end)) for part in PARTS for end in TABLES if (root / (part + end)).is_file()
        ]
        if [part for part, _, _ in tables] != list(PARTS):
            raise ZooError(
                f"{root} does not hold one train and one test table", "Name one file, or add train and test."
            )
    if tables[0][2].suffix.lower() not in TABLES:
        raise ZooError(f"{root} is no table by its name", "Its name must end in .csv (commas) or .tsv (tabs).")
    return tables


def _table_rows(row: LabelledData, part: str, _name: str, path: Path) -> Iterable[Row]:
    csv.field_size_limit(text_files.MOST_BYTES)
    text = text_files.read(path, row.encoding)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=TABLES[path.suffix.lower()], strict=True)
    try:
        header = next(reader, [])
        places = [_column(header, name, key, path) for key, name in _columns(row)]
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if cells and len(cells) <= max(places):
                raise ZooError(f"{where}: {len(cells)} columns instead of {len(header)}", "Mend that row.")
            if cells:
                yield part, cells[places[1]].strip(), cells[places[0]], where
    except csv.Error as error:
        raise ZooError(f"{path}, line {reader.line_num}: {error}", "Mend that row; quotes must be closed.") from error


def _columns(row: LabelledData) -> list[tuple[str, str]]:
    return [("data.text_column", row.text_column), ("data.label_column", row.label_column)]


def _column(header: list[str], name: str, key: str, path: Path) -> int:
    if name in header:
        return header.index(name)
    shown = ", ".join(repr(each[:40]) for each in header[:20]) or "none: the file is empty"
    raise ZooError(f"{path} has no column {name!r}{nearest(name, header)}", f"Its columns are {shown}. Set {key}.")


def _class_files(row: LabelledData) -> list[tuple[str, str, Path]]:
    root = text_files.data_root(row.root, "a folder with one file a class, one text a line")
    if not root.is_dir():
        raise ZooError(f"data.root={row.root} is a file", "Name the folder that holds one file a class.")
    names = row.class_files or sorted(path.name for path in root.glob(f"*{SUFFIX}") if not path.name.startswith("."))
    missing = [name for name in names if Path(name).name != name or not (root / name).is_file()]
    if missing:
        raise ZooError(f"{root} holds no file {', '.join(missing)}", "data.class_files names files of that folder.")
    if len(names) < 2:
        raise ZooError(
            f"{root} holds {len(names)} files that end in {SUFFIX}; one class needs no classifier",
            "Name one file a class, such as data.class_files=[good.txt,bad.txt].",
        )
    return [("", label, root / name) for label, name in zip(class_labels(names), names, strict=True)]


def class_labels(names: list[str]) -> list[str]:
    """Return the parts between dots in which file names differ: ``x.pos`` and ``x.neg`` are pos and neg."""
    pieces = [name.split(".") for name in names]
    while all(len(each) > 1 for each in pieces) and len({each[0] for each in pieces}) == 1:
        pieces = [each[1:] for each in pieces]
    while all(len(each) > 1 for each in pieces) and len({each[-1] for each in pieces}) == 1:
        pieces = [each[:-1] for each in pieces]
    return [".".join(each) for each in pieces]


def _line_rows(row: LabelledData, part: str, name: str, path: Path) -> Iterable[Row]:
    for number, line in enumerate(text_files.read(path, row.encoding).split("\n"), 1):
        yield part, name, line.rstrip("\r"), f"{path}, line {number}"


def _collect(row: LabelledData, rows: Iterable[Row]) -> LabelledTexts:
    texts, names, parts, blank = [], [], [], 0
    for part, name, text, where in rows:
        if not name:
            raise ZooError(f"{where}: the label is empty", "Every text needs its class.")
        if row.classes and name not in row.classes:
            continue
        if not text.strip():
            blank += 1
            continue
        texts.append(text)
        names.append(name)
        parts.append(part)
    class_names = sorted(set(names))
    _check_classes(row, class_names, names, parts)
    numbers = {name: number for number, name in enumerate(class_names)}
    return LabelledTexts(texts, [numbers[name] for name in names], parts if any(parts) else None, class_names, blank)


def _check_classes(row: LabelledData, class_names: list[str], names: list[str], parts: list[str]) -> None:
    if len(class_names) < 2:
        content = f"texts of one class only, {class_names[0]!r}" if class_names else "no text"
        raise ZooError(f"{row.root} holds {content}", "A classifier needs texts of two classes or more.")
    if len(class_names) > MOST_CLASSES:
        raise ZooError(
            f"{row.root} holds {len(class_names):,} classes, {class_names[0][:40]!r} and so on",
            "Is data.label_column the column of the labels?",
        )
    counts = Counter(zip(parts, names, strict=True))
    for part in PARTS if any(parts) else ():
        lacking = [name for name in class_names if not counts[part, name]]
        if lacking:
            raise ZooError(
                f"{row.root}: the {part} part has no text of {', '.join(lacking[:10])}",
                "Name the classes that both parts have, such as data.classes=[neg,pos].",
            )
    if any(parts) and "" in parts:
        raise ZooError(f"{row.root}: some texts lie outside of train/ and test/", "Move them, or take the two apart.")

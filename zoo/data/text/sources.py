"""Read labeled texts from class folders, tables, and files with one text per line."""

import dataclasses
import hashlib
import os
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from zoo.config.schemas.text import LabelledData
from zoo.core import console
from zoo.core.errors import ZooError, counted, listed
from zoo.core.files import file_sha256, files_below
from zoo.core.paths import key_of
from zoo.data import datasets, targets
from zoo.data.images import set_parts, unknown_kinds
from zoo.data.text import encodings, foreign_formats, labelled_texts, tables
from zoo.data.text import files as text_files
from zoo.data.text.labelled_texts import PARTS, LabelledTexts, Remarks, Row
from zoo.protocol.targets import CLASSES, LABELS

SUFFIX = ".txt"
# Number of leading lines of a class that show what its file holds.
LOOKED_AT = 10_000
# Names of files about a data set, also after its name: rt-polaritydata.README.1.0.txt.
_ABOUT = re.compile(rf"(.*[^a-z])?({set_parts.PROSE.pattern})", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class TextSource:
    """Labeled texts that are not read yet: the checksum over their files, and a function that reads them."""

    sha256: str
    text: str
    read: Callable[[], LabelledTexts]


# A part, a class, and its file; part and class may be "".
File = tuple[str, str, Path]


def source_of(row: LabelledData) -> TextSource:
    """Return the source for the settings of ``data=text_folder``, ``text_table`` or ``text_lines``."""
    if row.name == "text_table":
        return _files(row, _rows_of_tables, *_tables(row))
    if row.name == "text_lines":
        return _files(row, _rows_of_lines, *_class_files(row))
    return _folder(row)


def _folder(row: LabelledData) -> TextSource:
    what = f"a folder with a folder a class, or a tar archive of one; texts end in {SUFFIX}"
    root = text_files.data_root(row.root, what)

    def read() -> LabelledTexts:
        remarks = Remarks()
        rows = list(_folder_rows(row, root, remarks))
        if len(remarks.skipped) > len(rows) and root.is_dir() and (parts := _parts_of_class_files(root)):
            _refuse_other_lines(row, parts[0], {path: _lines(row, remarks, path) for *_, path in parts[0]})
        return labelled_texts.collect(row, _in_class_folders(rows, remarks), remarks)

    if root.is_file():
        return TextSource(file_sha256(root), str(root), read)
    sums = hashlib.sha256()
    for parts, content in _files_below(root):
        sums.update(os.fsencode(f"{'/'.join(parts)} {hashlib.sha256(content).hexdigest()}\n"))
    return TextSource(sums.hexdigest(), str(root), read)


def _files_below(root: Path) -> Iterable[tuple[tuple[str, ...], bytes]]:
    """Yield the texts of a folder or an archive: files ending in .txt or, without any, all files."""
    below = text_files.iter_archive if root.is_file() else text_files.iter_folder
    return below(root, SUFFIX if next(iter(below(root, SUFFIX)), None) else "")


def _in_class_folders(rows: list[Row], remarks: Remarks) -> Iterable[Row]:
    """Yield the rows without files next to class folders, such as a summary, or unnumbered among numbered ones."""
    folders = [Path(where).parent for *_, where in rows]
    counts, inner = Counter(folders), dict[Path, list[int]]()
    numbered = Counter(Path(where).parent for *_, where in rows if re.search(r"\d", Path(where).name))
    for folder, count in counts.items():
        for above in folder.parents:
            inner.setdefault(above, []).append(count)
    few = {each for each in counts if len(inner.get(each, [])) > 1 and 10 * counts[each] <= sum(inner[each])}
    for row, folder in zip(rows, folders, strict=True):
        if folder in few:
            remarks.skipped.append((row[3], "it lies next to class folders, and in none of them"))
        elif not re.search(r"\d", Path(row[3]).name) and 20 * (counts[folder] - numbered[folder]) < numbered[folder]:
            remarks.skipped.append((row[3], "its name has no number, and those of the texts next to it have: add one"))
        else:
            yield row


def _folder_rows(row: LabelledData, root: Path, remarks: Remarks) -> Iterable[Row]:
    """Yield rows from ``train/pos/1.txt`` or ``pos/1.txt``, below any folders."""
    count, others, above, places, tables_read = 0, Counter[str](), dict[str, str](), dict[str, set[str]](), ""
    wanted, damaged = {key_of(name) for name in row.classes}, list[tuple[str, ZooError]]()
    for parts, content in _files_below(root):
        where = f"{root}: {'/'.join(parts)}" if root.is_file() else str(root.joinpath(*parts))
        part = set_parts.role_of(parts[-3]) if len(parts) > 2 else ""
        if len(parts) < 2 or (parts[-2] in PARTS and len(parts) < 3):
            reason = "it lies in no class folder; the layout is CLASS/NAME.txt or train/CLASS/NAME.txt"
            remarks.skipped.append((where, reason))
        elif set_parts.PROSE.fullmatch(Path(where).stem):
            remarks.skipped.append((where, "it describes the data set"))
        elif not wanted or key_of(parts[-2]) in wanted:
            try:
                text, encoding = text_files.decode(content, row.encoding, where)
            except ZooError as error:
                if row.encoding == encodings.AUTO:
                    raise
                damaged.append((where, error))
                continue
            count, others[encoding], above[part] = count + 1, others[encoding] + 1, "/".join(parts[:-2])
            tables_read = tables_read or where * where.lower().endswith(tables.SUFFIXES)
            places.setdefault(parts[-2], set()).add("/".join(parts[:-1]) if not part else "")
            what = foreign_formats.markup(text) if count == 1 else ""
            if what.startswith("JSON"):
                raise ZooError(
                    f"{where} is JSON, and may hold several texts; the names in it would be learned too",
                    "Write each text and its class, here its folder, into a row of a table for data=text_table.",
                )
            if what:
                remarks.notes.append(f"{where} is {what} are learned as text")
            yield part, parts[-2], text, where
    if 20 * len(damaged) > count:
        raise damaged[0][1]
    remarks.skipped += [(where, error.message.removeprefix(f"{where}, ")) for where, error in damaged]
    if tables_read:
        raise ZooError(
            f"{root} holds tables in class folders, such as {tables_read}, and each file is one text",
            "Join their rows into one table with a column of the class: data=text_table data.root=FILE",
        )
    remarks.notes += _unread_files(root)
    if "validation" in above and not above.keys() & {"", "train"}:
        raise ZooError(f"{root} has {above['validation']}, but no folder train", "Add the texts to train with.")
    if places and all(re.fullmatch(r"(fold|part|split|batch|chunk)\W?\d+", name.lower()) for name in places):
        outer = sorted({str(Path(place).parent) for each in places.values() for place in each})
        write = datasets.table_command("begins", root / outer[0], f"{root}.csv", then=" data=text_table")
        levels = [f"data.label_column=folder{place}" for place in range(1, len(Path(outer[0]).parts) + 1)]
        then = f" data=text_table {', or '.join(levels)}"
        folders = datasets.table_command("folders", root, f"{root}.csv", then=then)
        raise ZooError(
            f"The folders of the texts, {listed(sorted(places))}, are shares of a set and not classes",
            f"If their names begin with the classes: {write}."
            + f"\nIf outer folders such as {outer[0]} are: {folders}." * (outer[0] != ".")
            + f" {listed(outer)} may be variants of the same texts: give one." * (len(outer) > 1),
        )
    _refuse_unclear(root, places)
    if deep := [f"{name}: {listed(sorted(each), most=3)}" for name, each in sorted(places.items()) if len(each) > 1]:
        remarks.notes.append(f"Folders of one name are one class: {listed(deep, '; ', most=3)}")
    for name in sorted(others - Counter({"utf-8": count, "utf-8-sig": count})):
        if row.encoding == "auto":
            remarks.notes.append(f"{others[name]:,} of {count:,} files are not UTF-8 and were read as {name}")


def _refuse_unclear(root: Path, places: dict[str, set[str]]) -> None:
    """Raise an error if the folders of the texts may be parts, or if the folders around them may be the classes."""
    parts = {name: part for name in sorted(places) if name not in PARTS and (part := set_parts.role_of(name))}
    if {"train"} < set(parts.values()):
        table = next((path.name for path in sorted(root.glob("*.[ct]sv"))), "") if root.is_dir() else ""
        raise ZooError(
            f"{root} has the folders {listed(parts)}, which are names of parts, without class folders",
            "Sort the texts of each into a folder for each class."
            + f" Their labels may be in {table}: write the texts and labels into one table for data=text_table."
            * bool(table),
        )
    outer = {Path(place).parent.name for each in places.values() for place in each if place}
    levels = [name for name in outer if name and not set_parts.says_nothing(name, "")]
    if len(levels) > 1 and len(places) > 1 and all(len(each) > 1 for each in places.values()):
        one = min(next(iter(places.values())))
        copy = "for f in */; do mkdir -p ../outer/$f && find $f -type f -exec cp {} ../outer/$f ';'; done"
        raise ZooError(
            f"{root} has folders of texts in folders, such as {one}: either may be the classes",
            f"The outer folders, {listed(sorted(levels))}: copy the texts of each into one folder. This does "
            f"it: `cd {shlex.quote(str(root))} && {copy}`. The inner ones: move all folders of one name into one.",
        )


def _unread_files(root: Path) -> list[str]:
    """Return a note on files that do not end in .txt, next to files that do; none for an archive."""
    names = [] if root.is_file() else list(files_below(root, lambda *_: None))
    other = sorted(name for name in names if not name.lower().endswith(SUFFIX))
    if not other or len(other) == len(names):
        return []
    read = "; data=text_table reads tables" * other[0].lower().endswith(tables.SUFFIXES)
    return [f"Not used: {counted(len(other), 'file')} without the ending {SUFFIX}, such as {other[0]}{read}"]


def _files(row: LabelledData, rows: Callable[..., Iterable[Row]], files: list[File], notes: list[str]) -> TextSource:
    for *_, path in files:
        text_files.require_size(path)
    sums = "".join(f"{part} {name} {file_sha256(path)}\n" for part, name, path in files)

    def read() -> LabelledTexts:
        remarks = Remarks(notes=[*notes])
        return labelled_texts.collect(row, rows(row, remarks, files), remarks)

    return TextSource(hashlib.sha256(sums.encode()).hexdigest(), str(row.root), read)


def _joined(root: Path, files: list[Path]) -> str:
    """Return how to join tables of one class each, which have the same header; empty for other files."""
    present = [path for path in files if tables.suffix(path) == ".csv"]
    heads = {unknown_kinds.head_of(path, 4096).partition(b"\n")[0].strip() for path in present}
    if len(present) < 2 or len(heads) != 1:
        return ""
    if any(map(tables.is_of_labels, heads.pop().decode("utf-8", "replace").replace('"', "").split(","))):
        return f"Join them: {datasets.table_command('files', root, 'joined.csv')}. Or give one file."
    write = datasets.table_command("files", root, "joined.csv", then=" data.label_column=class")
    return f"If each file is a class, join them: {write}. If not, give one file."


def _append_command(files: Iterable[Path]) -> str:
    return f"`awk 1 {shlex.join(map(str, files))} > joined.tsv`"


def _tables(row: LabelledData) -> tuple[list[File], list[str]]:
    """Return the table that the settings name, or those of a folder's parts, and notes on unread files."""
    root = text_files.data_root(row.root, "a table, or a folder with train.csv and test.csv (or .tsv, .txt)")
    if not root.is_dir():
        for note in set_parts.parts_beside(root):  # not among the notes, which are cached with the texts
            console.say(note)
        return [("", "", root)], []
    files = sorted(path for path in root.iterdir() if path.is_file() and path.name[0] != ".")
    inner = [path for path in sorted(root.glob("*/*.*")) if tables.suffix(path) in (*datasets.TABLES, ".parquet")]
    if len({path.parent for path in inner}) == 1 and all(set_parts.PROSE.match(each.name) for each in files):
        raise ZooError(
            f"{root} has no table, but {inner[0].parent} has {listed(path.name for path in inner)}",
            f"Give this folder: {set_parts.as_root(inner[0].parent)}",
        )
    alone = [path for path in files if tables.suffix(path) in datasets.TABLES and not set_parts.PROSE.match(path.name)]
    if len(alone) == 1 and not inner:
        return [("", "", alone[0])], [f"The only table of {root}: {alone[0].name}"]
    packed = sorted({each.parent for kind in ("*.parquet", "*/*.parquet") for each in root.glob(kind)})
    if packed and not any(tables.suffix(path) in datasets.TABLES for path in files):
        raise ZooError(
            f"{root} has texts in Parquet files of {listed(map(str, packed))}",
            f"Write those of a folder as tables: {datasets.table_command('texts', packed[0], 'tables')}",
        )
    named = [(part, path) for path in files if (part := _part_of_table(path.stem))]
    if not files:  # perhaps each part has a folder
        folders = [(part, root / name) for name in set_parts.subfolders(root) if (part := set_parts.role_of(name))]
        named = [
            (part, path)
            for part, each in folders
            for path in sorted(each.glob("*.*"))
            if tables.suffix(path) in (*tables.SUFFIXES, ".jsonl")
        ]
    rests = {path: (set_parts.part_of(path.name.partition(".")[0]) or ("", ""))[1] for _, path in named}
    like = [[each for each in named if rests[each[1]] == rest] for rest in sorted({*rests.values()})]
    some = next((group for group in like if {"train"} < dict(group).keys()), named)
    for kind in (*tables.SUFFIXES, ".jsonl"):  # the same tables in several formats
        same = [(part, path) for part, path in some if tables.suffix(path) == kind]
        some = same if len(some) > len(same) == len(dict(same)) > 1 and "train" in dict(same) else some
    parts = [(part, "", path) for part in PARTS for word, path in some if word == part]
    if "train" not in dict(some) or not 1 < len(parts) == len(dict(some)):
        known = [path for path in files if not set_parts.PROSE.match(path.name)]
        plain = [path for path in known if tables.suffix(path) in (".tsv", SUFFIX)]
        names = listed(path.name for path in known) or "no table"
        raise ZooError(
            f"{root} does not hold one train and one test table (or validation table), but {names}",
            _joined(root, files)
            or f"To join tables without headers: {_append_command(plain)}. " * (len(plain) > 1)
            + "Name one file, or add train and test. `paste TEXTS LABELS > train.tsv` joins "
            "files of texts and labels. If the labels are in another table, join both by the column that they share.",
        )
    read = [path for *_, path in parts]
    left = [path.name for path in files if tables.suffix(path) in datasets.TABLES and path not in read]
    return parts, [f"Not read: {listed(left)}"] if left else []


def _part_of_table(stem: str) -> str:
    """Return the part in the name of a table, also within it (r8-train-all-terms), or an empty text."""
    whole, within = set_parts.part_of(stem), map(set_parts.part_of, re.split(r"[^A-Za-z]+", stem))
    words = {part[0] for part in ([whole] if whole else within) if part}
    return words.pop() if len(words) == 1 else ""


def _rows_of_tables(row: LabelledData, remarks: Remarks, files: list[File]) -> Iterable[Row]:
    signs: list[str] = []
    for part, _, path in files:
        yield from _table_rows(row, remarks, part, path, signs)


def _table_rows(row: LabelledData, remarks: Remarks, part: str, path: Path, signs: list[str]) -> Iterable[Row]:
    """Yield the rows of a table; ``signs`` are those between labels in all tables, and the first sign is used."""
    titles = [row.label_column] if row.kind != LABELS else re.split(r"\s*,\s*", row.label_column.strip())
    columns = [("data.text_column", row.text_column), *(("data.label_column", title) for title in titles)]
    try:
        table = tables.open_table(path, row, columns)
    except ZooError as error:
        if part in ("", "train"):
            raise
        alone = "Without labels, move it elsewhere, or name the training table alone: data.root=FILE."
        message, remedy = error.message.partition("; did you mean")[0], error.remedy.partition("\nBy its content")[0]
        raise ZooError(message, f"{remedy}\n{alone}") from error  # the training table has given the columns
    remarks.notes.append(f"Read {table.words}")
    remarks.dialect, count = table.dialect, 0
    rows: Iterable[tuple[int, list[str], str]] = table.rows
    if row.kind == LABELS and len(titles) == 1:
        rows = list(rows)
        signs.append(targets.sign_in(cells[1] for _, cells, problem in rows if not problem))
    sign = next(filter(None, signs), "")
    for line, cells, problem in rows:
        where = f"{path}, line {line}"
        if problem:
            remarks.skipped.append((where, problem))
        else:
            if not count and foreign_formats.markup(cells[0]).startswith("JSON"):
                raise ZooError(
                    f"{where}: the text column contains JSON, {cells[0][:40]!r}; the model would learn "
                    "its keys and punctuation",
                    "Extract the text into its own column and set data.text_column=NAME."
                    + f" Lists of words: {datasets.table_command('texts', path, 'table.csv')}" * (cells[0][:1] == "["),
                )
            count, label = count + 1, cells[1]
            if row.kind != CLASSES:
                given = dict(zip(titles, map(str.strip, cells[1:]), strict=True))
                try:
                    label = targets.of_row(where, given, row.kind, sign)
                except ZooError as error:
                    remarks.skipped.append((where, error.message.removeprefix(f"{where}: ")))
                    continue
            yield part, label, cells[0], where


def _class_files(row: LabelledData) -> tuple[list[File], list[str]]:
    root = text_files.data_root(row.root, "a folder with one file a class, one text a line")
    if not root.is_dir():
        raise ZooError(
            f"data.root={row.root} is a file",
            "Name the folder that holds one file a class; a file with labels is read by data=text_table.",
        )
    while not row.class_files and len(inner := set_parts.subfolders(root)) == 1 and not _likely_class_files(root)[1:]:
        root = root / inner[0]
    if not row.class_files and (parts := _parts_of_class_files(root)):
        return parts
    names = row.class_files or _likely_class_files(root)
    missing = [name for name in names if Path(name).name != name or not (root / name).is_file()]
    if missing:
        raise ZooError(f"{root} holds no file {listed(missing)}", "data.class_files names files of that folder.")
    if len({*names}) < 2:
        near = [
            path.name for path in sorted(root.iterdir()) if path.is_file() and not set_parts.PROSE.search(path.name)
        ]
        shown = ",".join(near[:10] if near[1:] else ["good.txt", "bad.txt"])
        raise ZooError(
            f"{root} holds {len(names)} files that end in {SUFFIX}; one class needs no classifier",
            f"Name one file a class, such as {shlex.quote(f'data.class_files=[{shown}]')}.",
        )
    files = [("", label, root / name) for label, name in zip(class_labels(names), names, strict=True)]
    split = {set_parts.WORDS.get(label) for _, label, _ in files}
    if not row.class_files and (None not in split or {"train", "test"} <= split):
        raise ZooError(
            f"{root} holds {listed(names)}, which are named as parts and not as classes",
            "If each line has its label, read them as tables: data=text_table. Classes: "
            f"'data.class_files=[{','.join(names)}]'",
        )
    notes = [f"{label}: one text a line of {path}" for _, label, path in files]
    left = [path.name for path in sorted(root.glob(f"*{SUFFIX}")) if path.name not in names and not row.class_files]
    return files, notes + ([f"Not read: {listed(left)}"] if left else [])


def _refuse_other_lines(row: LabelledData, files: list[File], read: dict[Path, list[str]]) -> None:
    """Raise an error for files of marked-up texts, of texts of several lines, or of labels of another file."""
    rows = {path: read[path][:LOOKED_AT] for part, _, path in files if part == files[0][0]}
    if (join := _joined(files[0][2].parent, [*rows])) and foreign_formats.table("\n".join(read[files[0][2]]), 2)[1]:
        raise ZooError(f"{listed(map(str, rows))} are tables with a header, not files with one text a line", join)
    for path, lines in rows.items():
        ends = {line.rpartition("\t")[2].strip() for line in lines if line.strip()}
        if 1 < len(ends) <= len(lines) / 10 and all("\t" in line for line in lines if line.strip()):
            raise ZooError(
                f"Each line of {path} ends with a tab and one of {listed(sorted(ends))}, as the rows of a table do",
                f"To learn these labels: {_append_command(read)}. "
                "Then give data=text_table data.root=joined.tsv data.text_column=0 data.label_column=1.",
            )
        words = Counter(re.sub(r".*@", "", line.strip()) for line in lines if re.search(r"\s*@\w+\s*$", line))
        if 1 < len(words) <= len(lines) / 10 and words.total() > 0.9 * len(lines):
            raise ZooError(
                f"Each line of {path} ends with @ and one of {listed(sorted(words))}, as the rows of a table do",
                f"To learn these labels: data=text_table data.root={shlex.quote(str(path))}.",
            )
        tags = [line for line in lines if re.fullmatch(r"\s*</?[A-Za-z_][^<>]*>\s*", line)]
        if len(tags) * 10 > len(lines):
            raise ZooError(
                f"{path} holds marks such as {tags[0].strip()[:40]!r}, not one text a line",
                "Write each text into a line without marks, or into a file in a folder of its class.",
            )
        heads = [line for line in lines if re.match(r"[A-Z][A-Za-z-]+: \S", line)]
        if not row.class_files and len(heads) * 20 > len(lines) and lines.count("") * 10 > len(lines):
            raise ZooError(
                f"{path} holds texts of several lines, with headers such as {heads[0][:40]!r} and blank lines",
                "Write each text into a file in a folder of its class. If each line is a text, name the files: "
                f"'data.class_files=[{','.join(path.name for path in rows)}]'",
            )
    single = {path: 1.5 if all(len(line.split()) == 1 for line in lines) else 3 for path, lines in rows.items()}
    few = [path for path, each in rows.items() if 9 < len(each) > single[path] * len({*each}) and len(max(each)) < 60]
    few.sort(key=single.__getitem__)  # other files may have a label for each word
    whole = [path for path, lines in rows.items() if len({*lines}) * 2 > len(lines)]
    if few and whole and len({len(read[path]) for path in rows}) == 1:
        places = {(part, label): path for part, label, path in files}
        both = [label for each in (whole, few) for _, label, path in files if path == each[0]]
        pairs = [places[part, label] for part in dict.fromkeys(part for part, *_ in files) for label in both]
        raise ZooError(
            f"{few[0]} may hold the labels of {whole[0].name}: both have {len(read[few[0]]):,} lines",
            f"Join them: {datasets.table_command('paired', pairs, 'joined')} data=text_table",
        )


def _parts_of_class_files(root: Path) -> tuple[list[File], list[str]] | None:
    """Return the files of classes in parts, ``train_pos.txt`` or ``train/pos.txt``, and notes; None without parts."""
    inner = [(root / name, part) for name in set_parts.subfolders(root) if (part := set_parts.role_of(name))]
    files = [(part, path.name.removesuffix(SUFFIX), path) for folder, part in inner for path in _texts_in(folder)]
    for name in _likely_class_files(root):
        files.append((*(_part_between(name) or set_parts.part_of(Path(name).stem) or ("", "")), root / name))
    used = sorted(file for file in files if file[0] in PARTS)
    classes = {part: {label for each, label, _ in used if each == part} for part, *_ in used}
    labels = set[str]().union(*classes.values())
    if min(len(classes), len(labels)) < 2 or len(used) != len(classes) * len(labels):
        return None
    notes = [f"{label}, {part}: one text a line of {path}" for part, label, path in used]
    left = [str(path.relative_to(root)) for part, _, path in files if part not in PARTS]
    return used, notes + [f"Not read: {listed(left)}"] * bool(left)


def _part_between(name: str) -> tuple[str, str] | None:
    """Return part and class of a name such as ``sentiment.train.0``, or None."""
    pieces = name.removesuffix(SUFFIX).split(".")
    places = [place for place, piece in enumerate(pieces) if piece.lower() in set_parts.WORDS]
    if len(pieces) < 2 or len(places) != 1:
        return None
    label = ".".join(pieces[places[0] + 1 :] or pieces[: places[0]])
    return set_parts.WORDS[pieces[places[0]].lower()], label


def _texts_in(folder: Path) -> list[Path]:
    """List the files ending in .txt or, without any, all."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return [path for path in paths if path.name.endswith(SUFFIX) and not _ABOUT.match(path.name)] or paths


def _likely_class_files(root: Path) -> list[str]:
    """List the files ending in .txt or, without any, those that differ only after their first dot."""
    names = sorted(path.name for path in root.iterdir() if path.is_file() and not path.name.startswith("."))
    texts = [name for name in names if name.endswith(SUFFIX) and not _ABOUT.match(name)]
    stems = [stem for stem, count in Counter(name.partition(".")[0] for name in names).items() if count > 1]
    return texts or ([name for name in names if name.partition(".")[0] == stems[0]] if len(stems) == 1 else [])


def class_labels(names: list[str]) -> list[str]:
    """Return what differs between file names, by dot-separated part: pos and neg for ``x.pos`` and ``x.neg``."""
    pieces = [name.split(".") for name in names]
    for end in (0, -1):
        while all(len(each) > 1 for each in pieces) and len({each[end] for each in pieces}) == 1:
            pieces = [each[1:] if end == 0 else each[:-1] for each in pieces]
    return [".".join(each) for each in pieces]


def _rows_of_lines(row: LabelledData, remarks: Remarks, files: list[File]) -> Iterable[Row]:
    read = {path: _lines(row, remarks, path) for *_, path in files}
    _refuse_other_lines(row, files, read)
    for part, name, path in files:
        for number, line in enumerate(read[path] or [""], 1):  # the class of an empty file is counted, and reported
            if not line.startswith("###"):
                yield part, name, line, f"{path}, line {number}"


def _lines(row: LabelledData, remarks: Remarks, path: Path) -> list[str]:
    text, encoding = text_files.read(path, row.encoding)
    if row.encoding == "auto" and not encoding.startswith("utf-8"):
        remarks.notes.append(f"{path} is not UTF-8 and was read as {encoding}")
    lines = text_files.lines(text)
    if marked := sum(line.startswith("###") for line in lines):
        remarks.notes.append(f"{path}: {marked:,} lines that begin with ### are not texts, and are not used")
    return lines

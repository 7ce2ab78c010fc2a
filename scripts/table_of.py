"""Write a table (CSV) that data=image_table or data=text_table reads.

    python scripts/table_of.py names FOLDER TABLE.csv            images with their folders and parts of their names
    python scripts/table_of.py coco FILE.json TABLE.csv          COCO's JSON: images with their categories
    python scripts/table_of.py join LABELS.csv IMAGES.csv TABLE.csv --on COLUMN
    python scripts/table_of.py texts FILE TABLE.csv              lists of texts or words in JSON, Parquet files
    python scripts/table_of.py texts FOLDER|FILE FOLDER          Parquet files of several parts, JSON with parts
    python scripts/table_of.py both FILE|FOLDER TABLE.csv|FOLDER --columns A B    two columns of texts as one, text
    python scripts/table_of.py files FOLDER TABLE.csv            tables of one class each, as one with a column class
    python scripts/table_of.py labels FILE TABLE.csv --column A     one row for each image, from one for each label
    python scripts/table_of.py split FILE FOLDER --column PART      a table for each part that a column names
    python scripts/table_of.py cvat FILE.xml TABLE.csv           classes of images, as CVAT writes them
    python scripts/table_of.py named FILE TABLE.csv --columns 0 1   the texts in the files that a column names
    python scripts/table_of.py fasttext FILE TABLE.csv           labels such as __label__good, at either end of a line
    python scripts/table_of.py chapters FOLDER TEXT.txt --suffix .txt   files in order of their numbers, as one text
    python scripts/table_of.py plain FILE TEXT.txt               the texts of a table or of JSON, for a language model

The columns of names are image, folder1, folder2, ... (folder1 is the outermost one below FOLDER), rest (the name
without that of its last folder), letters (the first ones), last (what follows the last _), kind (the last folder
without its numbers), part1, part2, ... (the name, cut at signs), and letters1, letters2, ... (parts such as AN3
without their numbers).
"""

import argparse
import csv
import io
import itertools
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from zoo.config.schemas.text import LabelledData
from zoo.core import console
from zoo.core.errors import ZooError, listed
from zoo.core.files import files_below
from zoo.data.images import decode, set_parts
from zoo.data.text import files as text_files
from zoo.data.text import foreign_formats, tables

Row = dict[str, Any]
TABLES = (".csv", ".tsv", ".jsonl", ".json")
NUMBERED = re.compile(r"[A-Za-z]+(?=\d+$)")
# Facts of an image that a table keeps, beside its name: they can be groups.
KEPT = ("location", "seq_id", "rights_holder", "date_captured", "split", "set")


def main(arguments: list[str] | None = None) -> int:
    """Write the table and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, kind in KINDS.items():
        own = kinds.add_parser(name)
        own.add_argument("sources", nargs=2 if name == "join" else 1, type=Path)
        own.add_argument("target", type=Path)
        if kind.option:
            own.add_argument(kind.option, dest="columns", required=True, nargs=kind.values, metavar="COLUMN")
    given = parser.parse_args(arguments)
    kind, words = KINDS[given.kind], [*given.sources, *getattr(given, "columns", [])]
    try:
        if given.target.exists():
            raise ZooError(f"{given.target} already exists", "Name a new file.")
        if given.kind == "split" and given.target.suffix:
            raise ZooError(f"split writes a folder of tables, not {given.target}", "Name a folder, such as parts.")
        if kind.of_folder and (given.sources[0].is_dir() or (kind.several and not given.target.suffix)):
            write_all(given.target, kind.of_folder(*words))
        else:
            kind.write(given.target, list(kind.make(*words)))
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    except KeyError as error:
        console.fail(f"{listed(map(str, given.sources))} has no key or column {error}", "Check its spelling.")
        return 1
    except (OSError, ValueError, csv.Error, ElementTree.ParseError) as error:
        console.fail(f"{listed(map(str, given.sources))} cannot be read: {error}", "Is it complete?")
        return 1
    return 0


def write(target: Path, rows: list[Row]) -> None:
    """Write rows, whose columns are those of all of them."""
    if not rows:
        raise ZooError("There is nothing to write", "Check the names of the files.")
    titles = list(dict.fromkeys(title for row in rows for title in row))
    with target.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, titles, restval="")
        table.writeheader()
        table.writerows(rows)
    console.say(f"{target}: {len(rows):,} rows with the columns {listed(titles)}")


def write_all(folder: Path, tables_of: dict[str, list[Row]]) -> None:
    """Write each table into a new folder, by its name without .csv."""
    folder.mkdir(parents=True)
    for name, rows in tables_of.items():
        write(folder / f"{name}.csv", rows)


def write_lines(target: Path, texts: list[str]) -> None:
    write_text(target, texts, "\n")


def write_text(target: Path, texts: list[str], between: str = "\n\n") -> None:
    """Write texts as one, without the empty ones."""
    target.write_text(between.join(filter(None, texts)), encoding="utf-8")
    console.say(f"{target}: {len(texts):,} texts")


def of_names(folder: Path) -> Iterable[Row]:
    """Yield a row for each image below a folder."""
    for name in decode.iter_images(folder):
        *folders, file = name.split("/")
        stem = Path(file).stem
        row = {"image": name} | {f"folder{number}": each for number, each in enumerate(folders, 1)}
        if folders and stem.startswith(folders[-1]):
            row["rest"] = re.sub(r"^[\W_]+", "", stem.removeprefix(folders[-1]))
        letters = re.match(r"[A-Za-z]+([_ -][A-Za-z]+)*", stem)
        row |= {"letters": letters[0] if letters else "", "last": stem.rpartition("_")[2]}
        row["kind"] = set_parts.OF_CLIP.sub("", folders[-1]) if folders else ""
        for number, part in enumerate(set_parts.cut(stem), 1):
            row[f"part{number}"] = part
            if each := NUMBERED.match(part):
                row[f"letters{number}"] = each[0]
        yield row


def of_coco(file: Path) -> Iterable[Row]:
    """Yield a row for each image and category of COCO's JSON, and of camera traps in the same format."""
    content = json.loads(file.read_text(encoding="utf-8"))
    lacking = [key for key in ("images", "annotations", "categories") if not isinstance(content.get(key), list)]
    if lacking:
        raise ZooError(f"{file} lacks {listed(lacking)}", "COCO's JSON has these lists.")
    images = {_id_of(image, "image"): image for image in content["images"]}
    categories = {_id_of(category, "category"): category for category in content["categories"]}
    names = {number: category.get("name", number) for number, category in categories.items()}
    several: dict[Any, set[str]] = defaultdict(set)
    for each in content["annotations"]:
        several[each["image_id"]].add(str(names[each["category_id"]]))
    if some := sum(len(labels) > 1 for labels in several.values()):
        console.say(f"{some:,} images have several categories, joined by |: data.target=labels")
    for number, labels in several.items():
        if number in images:
            image = images[number]
            kept = {key: image[key] for key in KEPT if key in image}
            yield {"image": image["file_name"], "label": "|".join(sorted(labels))} | kept


def _id_of(row: Row, kind: str) -> Any:
    """Return the id of an image or a category, which COCO calls id, and Herbarium image_id or category_id."""
    return row["id" if "id" in row or f"{kind}_id" not in row else f"{kind}_id"]


def of_two(labels: Path, images: Path, key: str) -> Iterable[Row]:
    """Yield the rows of the second table, each with those of the first that have the same ``key``."""
    by_key = defaultdict(list)
    for row in rows_of(labels):
        by_key[row.get(key)].append(row)
    for row in rows_of(images):
        for label in by_key.get(row.get(key), ()):
            yield {**label, **row}


def of_both_in(folder: Path, first: str, second: str) -> dict[str, list[Row]]:
    """Return the rows of :func:`of_both` of each table in a folder."""
    files = sorted(file for file in folder.iterdir() if file.suffix in TABLES)
    if not files:
        raise ZooError(f"{folder} has no tables ({listed(TABLES)})", "Name the folder that directly contains them.")
    return {file.stem: list(of_both(file, first, second)) for file in files}


def of_both(file: Path, first: str, second: str) -> Iterable[Row]:
    """Yield rows in which two columns are one, text."""
    for row in of_any(file):
        if not {first, second} <= row.keys():
            raise ZooError(f"{file} has no columns {first} and {second}, but {listed(row)}", "Name two of them.")
        yield {"text": f"{row[first]} {row[second]}"} | {key: row[key] for key in row if key not in (first, second)}


def of_files(folder: Path) -> Iterable[Row]:
    """Yield the rows of all tables in a folder, with their names as the class."""
    for file in sorted(folder.glob("*.csv")):
        yield from (row | {"class": file.stem} for row in rows_of(file))


def of_labels(file: Path, column: str) -> Iterable[Row]:
    """Yield a row for each image of a table with rows such as ID_1_epidural and 0 or 1."""
    images: dict[str, Row] = {}
    for row in rows_of(file):
        name, _, kind = row[column].rpartition("_")
        (value,) = (cell for title, cell in row.items() if title != column)
        images.setdefault(name, {})[kind] = value
    kinds = sorted({kind for row in images.values() for kind in row})
    yield from ({"image": name} | {kind: row.get(kind, "0") for kind in kinds} for name, row in images.items())


def of_split(file: Path, column: str) -> dict[str, list[Row]]:
    """Return the rows of each part, by the name of the part that a column has."""
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in of_any(file):
        cell = str(row.pop(column)).strip()
        parts[set_parts.role_of(cell) or cell] += [row]
    return parts


def of_cvat(file: Path) -> Iterable[Row]:
    for image in ElementTree.parse(file).iter("image"):  # noqa: S314  (a file of the user's own)
        for tag in image.findall("tag"):
            yield {"image": image.get("name"), "label": tag.get("label")}


def of_named(file: Path, text: str, label: str) -> Iterable[Row]:
    """Yield the text of each file that column number ``text`` names, without XML's tags, and the label."""
    content, _, dialect, _ = tables.load(file, LabelledData(name="text_table", root=str(file)), [text, label], label)
    below = {name: file.parent / name for name in files_below(file.parent, lambda *_: None)}
    stems = {Path(name).with_suffix("").as_posix(): path for name, path in below.items()}
    ends = {key.rpartition("/")[2]: path for key, path in {**stems, **below}.items()}
    for record in dialect.records(content):
        if record.problem or len(record.cells) <= max(int(text), int(label)):
            continue
        name = record.cells[int(text)].strip()
        near = file.parent / name
        if path := near if near.is_file() else stems.get(name) or ends.get(name.rpartition("/")[2]):
            words = text_files.decode(path.read_bytes(), "auto", str(path))[0]
            if path.suffix in (".xml", ".html"):
                words = " ".join(re.sub(r"<!\[CDATA\[|\]\]>|<[^>]*>", " ", words).split())
            yield {"text": words, "label": record.cells[int(label)].strip()}


def of_fasttext(file: Path) -> Iterable[Row]:
    """Yield texts and their labels, joined by |."""
    for line in text_files.decode(file.read_bytes(), "auto", str(file))[0].splitlines():
        labels = re.findall(r"(?:^|(?<=\s))__label__(\S+)", line)
        yield {"text": re.sub(r"(?:^|(?<=\s))__label__\S+\s*", "", line).strip(), "label": "|".join(labels)}


def chapters(folder: Path, suffix: str) -> Iterable[str]:
    def key(file: Path) -> list[Any]:
        return [int(piece) if piece.isdigit() else piece for piece in re.split("([0-9]+)", str(file))]

    for file in sorted(folder.rglob(f"*{suffix}"), key=key):
        yield text_files.decode(file.read_bytes(), "auto", str(file))[0]


def of_any(file: Path) -> list[Row]:
    """Return the rows of a table or of JSON."""
    return of_json(file) if file.suffix in (".json", ".jsonl", ".ndjson") else rows_of(file)


def rows_of(file: Path) -> list[Row]:
    """Return the rows of a table with a header, read as data=text_table reads it."""
    text, _, dialect, _ = tables.load(file, LabelledData(name="text_table", root=str(file)), ["0"], "0")
    rows = [record.cells for record in dialect.records(text) if not record.problem]
    titles = [title.strip() for title in rows[0]] if rows else []
    return [dict(zip(titles, row, strict=False)) for row in rows[1:]]


def of_texts(file: Path) -> Iterable[Row]:
    """Yield the rows of a Parquet or JSON file; a list of texts becomes several rows, a list of words one text."""
    for row in of_parquet(file) if file.suffix == ".parquet" else of_json(file):
        texts = next((key for key, each in row.items() if isinstance(each, list) and _are_sentences(each)), None)
        plain = {key: " ".join(map(str, each)) if isinstance(each, list) else each for key, each in row.items()}
        if texts is None:
            yield plain
        else:
            others = {key: each for key, each in plain.items() if not isinstance(row[key], list)}
            yield from ({"text": text} | others for text in row[texts])


def of_json(file: Path) -> list[Row]:
    """Return the objects of a list, which may be inside of other objects, or of lines."""
    text = file.read_text(encoding="utf-8-sig")
    try:
        value = foreign_formats.innermost(json.loads(text))
    except ValueError:
        value = [json.loads(line) for line in text.splitlines() if line.strip()]
    if not isinstance(value, list):
        raise ZooError(f"{file} has no list, or several side by side in one object", "Write one list into a file.")
    return [row for row in value if isinstance(row, dict)]


def plain(file: Path) -> Iterable[str]:
    """Yield the texts in the column of a table, or below the key of JSON, that has the most letters."""
    text = text_files.decode(file.read_bytes(), "auto", str(file))[0]
    sign, first = foreign_formats.table(text, 2)
    if first and text.lstrip()[:1] not in ("{", "["):
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sign) if len(row) == len(first[0])]
        columns = list(zip(*rows, strict=True))
        yield from max(columns, key=lambda column: sum(map(str.isalpha, "".join(column))))
        return
    values: dict[str, list[str]] = defaultdict(list)

    def keep(row: Row) -> Row:
        for key, value in row.items():
            parts = value if isinstance(value, list) else [value]
            values[key].append("".join(part for part in parts if isinstance(part, str)))
        return row

    try:
        json.loads(text, object_hook=keep)
    except ValueError:
        values.clear()
        for line in filter(str.strip, text.splitlines()):
            json.loads(line, object_hook=keep)
    longest = max(values.values(), key=lambda each: sum(map(str.isalpha, "".join(each))), default=[])
    yield from (text for text, _ in itertools.groupby(longest))  # Telegram writes a message twice, whole and in parts


def of_parquet(file: Path) -> list[Row]:
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ZooError("pyarrow is not installed", f"{sys.executable} -m pip install pyarrow") from error
    rows: list[Row] = parquet.read_table(file).to_pylist()
    return rows


def of_parts(folder: Path) -> dict[str, list[Row]]:
    """Return the rows of each part of the Parquet files in a folder: train-00000-of-00002.parquet and so on.

    Or of a JSON file, one object with a list for each part: objects, or pairs of a text and its label.
    """
    parts: dict[str, list[Row]] = defaultdict(list)
    if folder.is_file():
        content = json.loads(folder.read_text(encoding="utf-8-sig"))
        for name, values in content.items() if isinstance(content, dict) else ():
            if part := set_parts.role_of(name):
                parts[part] += _of_lists(values)
        if not parts:
            raise ZooError(f"{folder} is no JSON object with parts such as train", "Name a table to write: TABLE.csv")
        return parts
    for file in sorted(folder.glob("*.parquet")):
        parts[set_parts.role_of(file.stem) or "train"] += of_texts(file)
    if not parts:
        raise ZooError(f"{folder} has no Parquet files", "Name the folder that directly contains them.")
    return parts


def _of_lists(values: list[Any]) -> list[Row]:
    """Return rows of objects, or of lists such as [text, label]: the column with the most words is the text."""
    lists = [list(map(str, each)) for each in values if isinstance(each, list)]
    words = [sum(len(cell.split()) for cell in column) for column in zip(*lists, strict=False)]
    titles = ["text" if each == max(words) else "label" if len(words) == 2 else f"column{place}"
              for place, each in enumerate(words)]  # fmt: skip
    return [each for each in values if isinstance(each, dict)] + [
        dict(zip(titles, each, strict=False)) for each in lists
    ]


def _are_sentences(values: list[Any]) -> bool:
    return all(isinstance(each, str) for each in values) and sum(" " in each for each in values) * 2 > len(values) > 1


class Kind(NamedTuple):
    """How a table or a text is made.

    Attributes:
        make: yields the rows or texts of the sources.
        option, values: name and number of further words that ``make`` needs.
        of_folder: returns the rows of several tables by name, if the source can be a folder of files.
        several: one file may become several tables, in a folder.
        write: writes what ``make`` yields.
    """

    make: Callable[..., Iterable[Any]]
    option: str = ""
    values: int = 1
    of_folder: Callable[..., dict[str, list[Row]]] | None = None
    several: bool = False
    write: Callable[[Path, list[Any]], None] = write


KINDS = {
    "names": Kind(of_names),
    "coco": Kind(of_coco),
    "join": Kind(of_two, "--on"),
    "texts": Kind(of_texts, of_folder=of_parts, several=True),
    "both": Kind(of_both, "--columns", 2, of_both_in),
    "files": Kind(of_files),
    "split": Kind(of_split, "--column", of_folder=of_split, several=True),
    "labels": Kind(of_labels, "--column"),
    "cvat": Kind(of_cvat),
    "named": Kind(of_named, "--columns", 2),
    "fasttext": Kind(of_fasttext),
    "chapters": Kind(chapters, "--suffix", write=write_text),
    "plain": Kind(plain, write=write_lines),
}

if __name__ == "__main__":
    sys.exit(main())

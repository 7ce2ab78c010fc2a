"""Write a table (CSV) that data=image_table or data=text_table reads.

    python scripts/table_of.py names FOLDER TABLE.csv            images with their folders and parts of their names
    python scripts/table_of.py lists FOLDER|TABLE TABLE.csv --files train.txt test.txt    parts of the listed images
    python scripts/table_of.py matlab FILE|FOLDER TABLE.csv      labels and parts of images, as MATLAB writes them
    python scripts/table_of.py yolo FOLDER TABLE.csv --folders images labels     the classes of the boxes in each image
    python scripts/table_of.py coco FILE.json TABLE.csv          COCO's JSON: images with their categories
    python scripts/table_of.py join LABELS.csv IMAGES.csv TABLE.csv --on COLUMN
    python scripts/table_of.py paired TEXTS LABELS FOLDER       lines of texts and of labels; two files for each part
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

The columns of names are image, folder1, folder2, ... (folder1 is the outermost one below FOLDER), folders (all of
them), inner (all without the outermost one), kind (the last folder without its numbers), rest (the name without that of
its last folder), letters (the first ones), last (what follows the last sign), part1, part2, ... (the name, cut at
signs), and letters1, letters2, ... (parts such as AN3 without their numbers). If the outermost folders are parts, such
as trainA, there are also part and class (A).
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

import numpy as np
import scipy.io

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from zoo.config.schemas.text import LabelledData
from zoo.core import console, schema
from zoo.core.errors import ZooError, listed
from zoo.core.files import files_below
from zoo.data.images import decode, set_parts
from zoo.data.text import files as text_files
from zoo.data.text import foreign_formats, tables

Row = dict[str, Any]
Parts = dict[str, list[Row]]
TABLES = (".csv", ".tsv", ".jsonl", ".json")
NUMBERED = re.compile(r"[A-Za-z]+(?=\d+$)")
# Keys that the lists of COCO's JSON need.
_COCO = {
    "images": (("id", "image_id"), ("file_name",)),
    "annotations": (("image_id",), ("category_id",)),
    "categories": (("id", "category_id"),),
}
# Facts of an image that a table keeps, next to its name: they can be groups.
KEPT = ("location", "seq_id", "rights_holder", "date_captured", "split", "set")


def main(arguments: list[str] | None = None) -> int:
    """Write the table and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, kind in KINDS.items():
        own = kinds.add_parser(name)
        own.add_argument("sources", nargs=kind.sources, type=Path)
        own.add_argument("target", type=Path)
        if kind.option:
            own.add_argument(kind.option, dest="columns", required=True, nargs=kind.values, metavar="COLUMN")
    given = parser.parse_args(arguments)
    kind, words = KINDS[given.kind], [*given.sources, *getattr(given, "columns", [])]
    try:
        if given.target.exists():
            raise ZooError(f"{given.target} already exists", "Name a new file.")
        write(given.target, kind.make(*words), kind.between)
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


def write(target: Path, content: Iterable[Any], between: str) -> None:
    """Write rows as a table, texts as one, or tables by name into a new folder."""
    if isinstance(content, dict):
        if target.suffix:
            raise ZooError(f"{target} would be several tables: {listed(content)}", "Name a folder, such as parts.")
        target.mkdir(parents=True)
        for name, rows in content.items():
            write(target / f"{name}.csv", rows, between)
        return
    items = list(content)
    if not items:
        raise ZooError("There is nothing to write", "Check the names of the files.")
    if isinstance(items[0], str):
        target.write_text(between.join(filter(None, items)), encoding="utf-8")
        console.say(f"{target}: {len(items):,} texts")
        return
    titles = list(dict.fromkeys(title for row in items for title in row))
    with target.open("w", encoding="utf-8", newline="") as out:
        table = csv.DictWriter(out, titles, restval="")
        table.writeheader()
        table.writerows(items)
    console.say(f"{target}: {len(items):,} rows with the columns {listed(titles)}")


def of_names(folder: Path) -> Iterable[Row]:
    """Yield a row for each image below a folder."""
    names = list(decode.iter_images(folder))
    in_parts = set_parts.are_parts(sorted({name.partition("/")[0] for name in names}))
    for name in names:
        *folders, _ = name.split("/")
        stem = set_parts.stem_of(name)
        row = {"image": name} | {f"folder{number}": each for number, each in enumerate(folders, 1)}
        row |= {
            "folders": "/".join(folders),
            "inner": "/".join(folders[1:]),
            "kind": set_parts.kind_of(folders[-1]) if folders else "",
        }
        if folders and stem.startswith(folders[-1]):
            row["rest"] = re.sub(r"^[\W_]+", "", stem.removeprefix(folders[-1]))
        letters = re.match(r"[A-Za-z]+([_ -][A-Za-z]+)*", stem)
        row |= {"letters": letters[0] if letters else "", "last": set_parts.cut(stem)[-1]}
        for number, part in enumerate(set_parts.cut(stem), 1):
            row[f"part{number}"] = part
            if each := NUMBERED.match(part):
                row[f"letters{number}"] = each[0]
        if in_parts and folders:
            row["part"], row["class"] = set_parts.part_of(folders[0]) or ("", "")
        yield row


def of_lists(source: Path, *files: str) -> Iterable[Row]:
    """Return the rows of the images of a folder or table that files such as train.txt list, with the part of each."""
    lines = {
        Path(file): text_files.decode(Path(file).read_bytes(), "auto", file)[0].split("\n") for file in files
    }  # fmt: skip
    for split in [file for file in lines if file.name == "train_test_split.txt"]:  # CUB-200: number, and 1 for training
        names = dict(line.split(maxsplit=1) for file in [*lines][:1] for line in lines[file] if line.strip())
        flags = [line.split() for line in lines[split] if line.strip()]
        lines = {
            split.with_name(f"{part}.txt"): [names[number] for number, flag in flags if flag == wanted]
            for part, wanted in (("train", "1"), ("test", "0"))
        }
    rows, missing = list(of_names(source) if source.is_dir() else of_any(source)), list[str]()
    if not rows:
        raise ZooError(f"{source} has no images or rows", "Name the folder of the images, or a table of them.")
    stems = {set_parts.stem_of(line.strip()) for each in lines.values() for line in each} - {""}
    counts = {title: sum(set_parts.stem_of(str(row.get(title))) in stems for row in rows) for title in rows[0]}
    by_image = {str(row[max(counts, key=counts.__getitem__)]): row for row in rows}
    for row in rows:
        row.pop("part", None)
    find = finder(by_image)
    for file, listing in lines.items():
        if not (part := set_parts.role_of(file.stem)):
            raise ZooError(f"{file}: its name is not that of a part", "Name it train.txt, val.txt or test.txt.")
        for line in filter(None, map(str.strip, listing)):
            if not (image := find(line)):
                missing.append(f"{line} ({file.name})")
            elif by_image[image].setdefault("part", part) != part:
                raise ZooError(f"{file}: {line} is also in the {by_image[image]['part']} part", "Remove one of both.")
    chosen = [row for row in rows if "part" in row]
    if missing:
        message = f"{len(missing):,} lines name no image of {source}, or several: {listed(missing, most=3)}"
        if len(missing) > len(chosen) / 10:
            raise ZooError(message, "Name the folder of the images, and the files that list them.")
        console.warn(message)
    console.say(f"Images of {source} that are not listed, and not in the table: {len(rows) - len(chosen):,}")
    return chosen


def finder(images: Iterable[str]) -> Callable[[str], str]:
    """Return a function that finds the image that a path means, of which either may lack outer folders, or a suffix."""
    ends = defaultdict[str, list[str]](list)
    for image in images:
        for end in _ends_of(image):
            ends[end].append(image)

    def find(name: str) -> str:
        whole, *shorter = _ends_of(name)
        images_of = ends.get(whole) or next(
            (ends[end] for end in shorter if end in ends and _ends_of(ends[end][0])[0] == end), []
        )
        return images_of[0] if len(images_of) == 1 else ""

    return find


def _ends_of(name: str) -> list[str]:
    """Return the path of an image without its suffix, and the ends of this path."""
    folders = name.replace("\\", "/").strip("/").split("/")
    return ["/".join([*folders[place:-1], set_parts.stem_of(name)]) for place in range(len(folders))]


def of_yolo(folder: Path, images: str, labels: str) -> Iterable[Row]:
    """Yield the row of each image in folders of a name, with the classes of its boxes in folders of another name."""
    names: list[str] = []
    for file in sorted(folder.glob("*.yaml")):
        content = schema.read_yaml(file).get("names", [])
        names = names or [str(each) for each in (content.values() if isinstance(content, dict) else content)]
    for file in sorted(folder.rglob("classes.txt")):
        names = names or file.read_text(encoding="utf-8").split("\n")
    if not any(folder.rglob(f"{labels}/*.txt")) and not any(folder.rglob(f"{labels}/**/*.txt")):
        raise ZooError(f"{folder} has no label files, .txt, in folders named {labels}", "Name the folder of labels.")
    for row in of_names(folder):
        *folders, _ = row["image"].split("/")
        if images in folders:
            place = folders[: folders.index(images)], folders[folders.index(images) + 1 :]
            file = folder.joinpath(*place[0], labels, *place[1], f"{set_parts.stem_of(row['image'])}.txt")
            lines = file.read_text(encoding="utf-8").split("\n") if file.is_file() else []
            numbers = [int(line.split()[0]) for line in lines if line.strip()]
            boxes = [names[number] if number < len(names) else str(number) for number in numbers]
            yield row | {"label": next(iter(boxes), "none"), "labels": "|".join(sorted({*boxes}))}


def of_matlab(source: Path) -> Iterable[Row]:
    """Return a row for each image that .mat files label: by its name, or by its number in the order of the names.

    Oxford Flowers has an array of labels and arrays of the numbers of the images of each part, Stanford Dogs arrays of
    names and of labels, Stanford Cars records of names and classes.
    """
    folder, rows, vectors = source if source.is_dir() else source.parent, list[Row](), dict[str, list[Any]]()
    for file in sorted(folder.rglob("*.mat")) if source.is_dir() else [source]:
        arrays = dict[str, list[Any]]()
        part = next(filter(None, map(set_parts.role_of, re.split("[^A-Za-z]+", file.stem))), "")
        try:
            content = scipy.io.loadmat(file, simplify_cells=True)
        except Exception as error:  # damaged bytes make the reader raise nearly any
            raise ZooError(f"{file} cannot be read: {error}", "Is it complete? MATLAB's version 5 is read.") from error
        for key, value in content.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                rows += _of_columns({title: [each.get(title) for each in value] for title in value[0]}, part)
            elif isinstance(value, np.ndarray) and value.ndim == 1:
                arrays[key] = value.tolist()
        names = next((each for each in arrays.values() if each and all(map(_is_image, each))), [])
        rows += _of_columns({key: each for key, each in arrays.items() if len(each) == len(names)}, part)
        vectors |= {f"{part} {key}" if key in vectors else key: each for key, each in arrays.items()}
    images, places = sorted(decode.iter_images(folder), key=in_order), defaultdict[tuple[str, str], list[str]](list)
    for image in images:
        places[Path(image).name, set_parts.role_of(image.partition("/")[0])].append(image)
    titles = dict.fromkeys(title for row in rows for title in row)
    for row, title in itertools.product(rows, titles):  # both parts of Stanford Cars have an image 00001.jpg
        name, part = Path(str(row.get(title))).name, row.get("part", "")
        own = places.get((name, part)) or places.get((name, "")) or []
        row |= {title: own[0]} if len(own) == 1 else {}
    if not rows:
        rows = _of_numbers(source, images, {key: each for key, each in vectors.items() if all(map(_is_whole, each))})
    words = [each for each in vectors.values() if all(isinstance(one, str) for one in each)]
    for title in titles:
        values = [row[title] for row in rows if title in row]
        if all(map(_is_whole, values)) and min(values) == 1:
            classes = next((each for each in words if len(each) == max(values) and not any(map(_is_image, each))), [])
            for row in rows if classes else ():
                row |= {f"name of {title}": classes[row[title] - 1]} if title in row else {}
    named = next((title for title in titles if all(_is_image(row.get(title)) for row in rows)), "image")
    merged = defaultdict[str, Row](dict)
    for row in rows:  # Stanford Dogs lists all images, and those of each part
        merged[row[named]] |= row
    return list(merged.values())


def _of_numbers(source: Path, images: list[str], vectors: dict[str, list[int]]) -> list[Row]:
    """Return a row for each image of arrays of labels, with its part: arrays such as trnid number the images of one."""
    labels = {key: each for key, each in vectors.items() if len(each) == len(images)}
    counts = [int(each[-1]) for image in images if (each := re.findall(r"\d+", set_parts.stem_of(image)))]
    if not labels or counts != sorted({*counts}) or len(counts) < len(images):
        shown = listed(f"{key} ({len(each):,})" for key, each in vectors.items()) or "none"
        raise ZooError(
            f"{source} has {len(images):,} images, and no array with a label for each, in the order of their numbers: "
            f"{shown}", "Give the folder that contains these files and exactly their images.",
        )  # fmt: skip
    rows = _of_columns({"image": images} | labels, "")
    for key, numbers in vectors.items():
        part = set_parts.role_of(key.removesuffix("id")) or set_parts.role_of(key)
        for number in numbers if part and key not in labels else ():
            if not 0 < number <= len(rows) or rows[number - 1].setdefault("part", part) != part:
                raise ZooError(
                    f"{source}: the number {number} in {key} is that of no image, or of two parts", "Correct it."
                )
    return rows


def in_order(name: object) -> list[Any]:
    """Return the key that sorts names by their numbers."""
    return [int(piece) if piece.isdigit() else piece for piece in re.split("([0-9]+)", str(name))]


def _is_image(value: Any) -> bool:
    return isinstance(value, str) and Path(value).suffix.lower() in decode.SUFFIXES


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _of_columns(columns: dict[str, list[Any]], part: str) -> list[Row]:
    """Return rows of the columns that hold one value each; 0 and 1 in a column test tell the part."""
    plain = {title: values for title, values in columns.items() if all(np.ndim(each) == 0 for each in values)}
    if {*plain.get("test", [""])} <= {0, 1}:
        plain["part"] = ["test" if each else "train" for each in plain.pop("test")]
    rows = [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
    return [row | ({"part": part} if part else {}) for row in rows]


def of_coco(file: Path) -> Iterable[Row]:
    """Yield a row for each image and category of COCO's JSON, and of camera traps in the same format."""
    content = json.loads(file.read_text(encoding="utf-8"))
    lacking = [key for key in ("images", "annotations", "categories") if not isinstance(content.get(key), list)]
    if lacking:
        raise ZooError(f"{file} lacks {listed(lacking)}", "COCO's JSON has these lists.")
    for key, needed in _COCO.items():
        for each, either in itertools.product(content[key], needed):
            if not isinstance(each, dict) or not {*either} & {*each}:
                what = f"{file}: an entry of {key} has no {' or '.join(either)}, but {listed(map(str, each))}"
                raise ZooError(what, "COCO's JSON has this key in each entry. Rename the key that means it.")
    images = {_id_of(image, "image"): image for image in content["images"]}
    categories = {_id_of(category, "category"): category for category in content["categories"]}
    names = {number: category.get("name", number) for number, category in categories.items()}
    several: dict[Any, set[str]] = defaultdict(set)
    for each in content["annotations"]:
        if each["category_id"] not in names:
            raise ZooError(
                f"{file}: annotations name category {each['category_id']!r}, which is not in categories", "Add it."
            )
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
    return row["id" if "id" in row else f"{kind}_id"]


def of_two(labels: Path, images: Path, key: str) -> Iterable[Row]:
    """Yield the rows of the second table, each with those of the first that have the same ``key``."""
    by_key = defaultdict(list)
    for row in rows_of(labels):
        by_key[row.get(key)].append(row)
    for row in rows_of(images):
        for label in by_key.get(row.get(key), ()):
            yield {**label, **row}


def of_both_in(source: Path, first: str, second: str) -> Iterable[Row] | Parts:
    """Return the rows of :func:`of_both` of a table, or of each table in a folder."""
    if source.is_file():
        return of_both(source, first, second)
    files = sorted(file for file in source.iterdir() if file.suffix in TABLES)
    if not files:
        raise ZooError(f"{source} has no tables ({listed(TABLES)})", "Name the folder that directly contains them.")
    return {file.stem: list(of_both(file, first, second)) for file in files}


def of_both(file: Path, first: str, second: str) -> Iterable[Row]:
    """Yield rows in which two columns are one, text."""
    for row in of_any(file):
        if not {first, second} <= row.keys():
            raise ZooError(f"{file} has no columns {first} and {second}, but {listed(row)}", "Name two of them.")
        yield {"text": f"{row[first]} {row[second]}"} | {key: row[key] for key in row if key not in (first, second)}


def of_paired(*files: Path) -> Parts:
    """Return rows of the lines of a file of texts and of the next file, of their labels, for each part."""
    parts: Parts = {}
    for texts, labels in zip(files[::2], files[1::2], strict=True):
        columns = [
            text_files.lines(text_files.decode(file.read_bytes(), "auto", str(file))[0]) for file in (texts, labels)
        ]
        if len(columns[0]) != len(columns[1]):
            raise ZooError(
                f"{texts} has {len(columns[0]):,} lines, and {labels} {len(columns[1]):,}", "Give two files."
            )
        part = set_parts.role_of(texts.stem) or set_parts.role_of(texts.parent.name) or "all"
        parts[part] = [{"text": text, "label": label} for text, label in zip(*columns, strict=True)]
    return parts


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


def of_split(file: Path, column: str) -> Parts:
    """Return the rows of each part, by the name of the part that a column has."""
    parts: Parts = defaultdict(list)
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
    for file in sorted(folder.rglob(f"*{suffix}"), key=in_order):
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


def of_texts(source: Path) -> Iterable[Row] | Parts:
    """Return the rows of a Parquet or JSON file, or of each part: of several Parquet files, or lists in JSON."""
    parts: Parts = defaultdict(list)
    for file in sorted(source.glob("*.parquet")):
        parts[set_parts.role_of(file.stem) or "train"] += _flat(of_parquet(file))
    if source.is_dir() and not parts:
        raise ZooError(f"{source} has no Parquet files", "Name the folder that directly contains them.")
    content = json_of(source) if source.suffix == ".json" else None
    for name, values in content.items() if isinstance(content, dict) else ():
        if (part := set_parts.role_of(name)) and isinstance(values, list):
            parts[part] += _of_lists(values)
    return parts or _flat(of_parquet(source) if source.suffix == ".parquet" else of_json(source))


def _flat(rows: Iterable[Row]) -> Iterable[Row]:
    """Yield rows without lists: a list of texts becomes several rows, a list of words one text."""
    for row in rows:
        texts = next((key for key, each in row.items() if isinstance(each, list) and _are_sentences(each)), None)
        plain = {key: " ".join(map(str, each)) if isinstance(each, list) else each for key, each in row.items()}
        if texts is None:
            yield plain
        else:
            others = {key: each for key, each in plain.items() if not isinstance(row[key], list)}
            yield from ({"text": text} | others for text in row[texts])


def json_of(file: Path) -> Any:
    """Return the content of a JSON file; a list of JSON lines."""
    text = file.read_text(encoding="utf-8-sig")
    try:
        return json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def of_json(file: Path) -> list[Row]:
    """Return the objects of a list, which may be inside of other objects, or of lines."""
    value = foreign_formats.innermost(json_of(file))
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
    """How a table or a text is content.

    Attributes:
        make: returns rows, texts, or rows by the name of a table, of the sources and options.
        option, values: name and number of further words that ``make`` needs.
        between: what separates texts.
        sources: their number.
    """

    make: Callable[..., Iterable[Any]]
    option: str = ""
    values: int | str = 1
    between: str = "\n"
    sources: int | str = 1


KINDS = {
    "names": Kind(of_names),
    "lists": Kind(of_lists, "--files", "+"),
    "matlab": Kind(of_matlab),
    "yolo": Kind(of_yolo, "--folders", 2),
    "coco": Kind(of_coco),
    "join": Kind(of_two, "--on", sources=2),
    "paired": Kind(of_paired, sources="+"),
    "texts": Kind(of_texts),
    "both": Kind(of_both_in, "--columns", 2),
    "files": Kind(of_files),
    "split": Kind(of_split, "--column"),
    "labels": Kind(of_labels, "--column"),
    "cvat": Kind(of_cvat),
    "named": Kind(of_named, "--columns", 2),
    "fasttext": Kind(of_fasttext),
    "chapters": Kind(chapters, "--suffix", between="\n\n"),
    "plain": Kind(plain),
}

if __name__ == "__main__":
    sys.exit(main())

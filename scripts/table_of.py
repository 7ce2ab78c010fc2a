"""Write a table (CSV) that data=image_table or data=text_table reads.

    python scripts/table_of.py names FOLDER TABLE.csv            images with their folders and parts of their names
    python scripts/table_of.py lists FOLDER|TABLE TABLE.csv --files train.txt test.txt    parts of the listed images
    python scripts/table_of.py matlab FILE|FOLDER TABLE.csv      labels and parts of images, as MATLAB writes them
    python scripts/table_of.py yolo FOLDER TABLE.csv --folders images labels     the classes of the boxes in each image
    python scripts/table_of.py voc FOLDER TABLE.csv              the same for Pascal VOC, with its parts
    python scripts/table_of.py coco FILE.json|FOLDER TABLE.csv   COCO's JSON, one file or one for each part
    python scripts/table_of.py join LABELS.csv IMAGES.csv TABLE.csv --on COLUMN
    python scripts/table_of.py paired TEXTS LABELS FOLDER       lines of texts and of labels; two files for each part
    python scripts/table_of.py texts FILE TABLE.csv              lists of texts or words in JSON, Parquet, ARFF
    python scripts/table_of.py texts FOLDER|FILE FOLDER          files of several parts, JSON with parts
    python scripts/table_of.py both FILE|FOLDER TABLE.csv|FOLDER --columns A B    two columns of texts as one, text
    python scripts/table_of.py files FOLDER TABLE.csv            tables of one class each, as one with a column class
    python scripts/table_of.py folders FOLDER TABLE.csv          the texts in files, and the folders that they are in
    python scripts/table_of.py labels FILE TABLE.csv --column A     one row for each image, from one for each label
    python scripts/table_of.py split FILE FOLDER --column PART      a table for each part that a column names
    python scripts/table_of.py cvat FILE.xml TABLE.csv           classes of images, as CVAT writes them
    python scripts/table_of.py named FILE TABLE.csv --columns 0 1   the texts in the files that a column names
    python scripts/table_of.py begins FOLDER TABLE.csv           the texts in files, and what their names begin with
    python scripts/table_of.py fasttext FILE TABLE.csv           labels such as __label__good, at either end of a line
    python scripts/table_of.py chapters FOLDER TEXT.txt --suffix .txt   files in order of their numbers, as one text
    python scripts/table_of.py plain FILE TEXT.txt               the texts of a table or of JSON, for a language model

The columns of names are image, folder1, folder2, ... (folder1 is the outermost one below FOLDER), folders (all of
them), inner (all without the outermost one), kind (the last folder without its numbers), rest (the name without that of
its last folder), letters (the first ones), first and last (what precedes and follows the last sign), part1, part2, ...
(the name, cut at signs), and letters1, letters2, ... (parts such as AN3 without their numbers). If the outermost
folders are parts, such as trainA, there are also part and class (A).
"""

import argparse
import csv
import io
import itertools
import json
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import scipy.io

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts import conversions
from scripts.conversions import below, existing, names_below, reading, refuse_name, shown, text_of
from zoo.config.schemas.text import LabelledData
from zoo.core import console, schema
from zoo.core.errors import ZooError, counted, listed
from zoo.core.paths import user_path
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
        own.add_argument("sources", nargs=kind.sources)
        own.add_argument("target")
        if kind.option:
            own.add_argument(kind.option, dest="columns", required=True, nargs=kind.values, metavar="COLUMN")
    given = parser.parse_args(arguments)
    words = list(getattr(given, "columns", []))
    kind, sources = KINDS[given.kind], given.sources
    return conversions.run(lambda: convert(kind, sources, user_path(given.target), words), sources)


def convert(kind: "Kind", sources: list[str], target: Path, words: list[str]) -> None:
    """Write what the sources contain into a new file, or into new files in a new folder."""
    conversions.refuse_existing(target)
    content = kind.make(*map(existing, sources), *words)
    lacking = f"{listed(sources)} has no {kind.wanted.format(*map(shown, words))}"
    if not isinstance(content, dict):
        data, about = serialized(_full(content, lacking), kind.between)
        with conversions.new(target) as part, part.open("xb") as out:
            out.write(data)
        console.say(f"{target}: {about}")
        return
    for name in content:
        refuse_name(name, f"{listed(sources)}: the part")
    if target.suffix:
        raise ZooError(f"{target} would be several tables: {listed(content)}", "Name a folder, such as parts.")
    named = {f"{name}.csv": _full(rows, f"{lacking}, part {name}") for name, rows in _full(content.items(), lacking)}
    files = {name: serialized(rows, kind.between) for name, rows in named.items()}
    with conversions.new(target, parents=True) as folder:
        folder.mkdir()
        for name, (data, _) in files.items():
            with (folder / name).open("xb") as out:  # names may differ in capitals only
                out.write(data)
    for name, (_, about) in files.items():
        console.say(f"{target / name}: {about}")


def _full(items: Iterable[Any], lacking: str) -> list[Any]:
    if not (listing := list(items)):
        raise ZooError(lacking, "Check the path, the names of its files, and their content.")
    return listing


def serialized(items: list[Any], between: str) -> tuple[bytes, str]:
    """Encode rows as a CSV table, or join texts; also return a description, such as "48 texts"."""
    stream, about, after = io.StringIO(newline=""), "text", ""
    if isinstance(items[0], str):
        stream.write(between.join(filter(None, items)))
    else:
        titles = list(dict.fromkeys(title for row in items for title in row))
        table = csv.DictWriter(stream, titles, restval="")
        table.writeheader()
        table.writerows(items)
        about, after = "row", f" with the columns {columns_of(items)}"
    try:
        return stream.getvalue().encode("utf-8"), counted(len(items), about) + after
    except UnicodeEncodeError as error:
        near = ascii(error.object[max(0, error.start - 20) : error.start + 20])
        raise ZooError(f"A text or name is not valid Unicode, near {near}", "Correct it in the source.") from error


def columns_of(rows: Iterable[Row]) -> str:
    """Return the titles of the columns of rows for a message."""
    return listed(map(shown, dict.fromkeys(title for row in rows for title in row)))


def require(file: Path, rows: list[Row], *columns: str) -> list[Row]:
    """Return the rows of a file, after checking that it has columns."""
    if lacking := [title for title in columns if not any(title in row for row in rows)]:
        has = columns_of(rows) if rows else "no row"
        raise ZooError(f"{file} has no column {listed(map(shown, lacking))}, but {has}", "Check the spelling.")
    return rows


def images_below(folder: Path) -> list[str]:
    unreadable = list[tuple[str, str]]()
    names = list(decode.iter_images(folder, unreadable))
    for name, reason in unreadable:
        raise ZooError(f"Cannot read {name}: {reason}", "Name a folder that you have permission to read.")
    return names


def levels(folders: Iterable[str]) -> Row:
    """Return a column for each of the folders around a file: folder1 is the outermost one."""
    return {f"folder{number}": name for number, name in enumerate(folders, 1)}


def of_names(folder: Path) -> Iterable[Row]:
    """Yield a row for each image below a folder."""
    names = images_below(folder)
    in_parts = set_parts.are_parts(sorted({name.partition("/")[0] for name in names}))
    for name in names:
        *folders, _ = name.split("/")
        stem = set_parts.stem_of(name)
        row = {"image": name} | levels(folders)
        row |= {
            "folders": "/".join(folders),
            "inner": "/".join(folders[1:]),
            "kind": set_parts.kind_of(folders[-1]) if folders else "",
        }
        if folders and stem.startswith(folders[-1]):
            row["rest"] = re.sub(r"^[\W_]+", "", stem.removeprefix(folders[-1]))
        letters = re.match(r"[A-Za-z]+([_ -][A-Za-z]+)*", stem)
        row |= {"letters": letters[0] if letters else "", "last": set_parts.cut(stem)[-1]}
        row["first"] = re.sub(r"[ _-][^ _-]*$", "", stem)
        for number, part in enumerate(set_parts.cut(stem), 1):
            row[f"part{number}"] = part
            if each := NUMBERED.match(part):
                row[f"letters{number}"] = each[0]
        if in_parts and folders:
            row["part"], row["class"] = set_parts.part_of(folders[0]) or ("", "")
        yield row


def of_lists(source: Path, *files: str) -> Iterable[Row]:
    """Return the rows of the images of a folder or table that files such as train.txt list, with the part of each."""
    lines = {Path(file): text_of(Path(file)).split("\n") for file in files}
    for split in [file for file in lines if file.name == "train_test_split.txt"]:  # CUB-200: number, and 1 for training
        first = next(iter(lines))
        names, flags = _numbered(first, lines[first]), _numbered(split, lines[split])
        for number, flag in flags.items():
            if number not in names or flag not in ("0", "1"):
                what = f"{split}: {shown(number)} {shown(flag)} is not the number of an image in {first}"
                raise ZooError(f"{what}, and 0 or 1", "Give images.txt and train_test_split.txt, in this order.")
        lines = {
            split.with_name(f"{part}.txt"): [names[number] for number, flag in flags.items() if flag == wanted]
            for part, wanted in (("train", "1"), ("test", "0"))
        }
    rows, missing = list(of_names(source) if source.is_dir() else of_any(source)), list[str]()
    titles = dict.fromkeys(title for row in rows for title in row)
    if not titles:
        raise ZooError(f"{source} has no images or rows", "Name the folder of the images, or a table of them.")
    stems = {set_parts.stem_of(line.strip()) for each in lines.values() for line in each} - {""}
    counts = {title: sum(set_parts.stem_of(str(row.get(title))) in stems for row in rows) for title in titles}
    by_image = {str(row.get(max(counts, key=counts.__getitem__))): row for row in rows}
    for row in rows:
        row.pop("part", None)
    find = finder(by_image)
    for file, listing in lines.items():
        if not (part := set_parts.role_of(file.stem)):
            raise ZooError(f"{file}: its name is not that of a part", "Name it train.txt, val.txt or test.txt.")
        for line in filter(None, map(str.strip, listing)):
            if not (image := find(line)):
                missing.append(f"{shown(line)} ({file.name})")
            elif by_image[image].setdefault("part", part) != part:
                again = f"{file}: {shown(line)} is also in the {by_image[image]['part']} part"
                raise ZooError(again, "Remove one of both.")
    chosen = [row for row in rows if "part" in row]
    if missing:
        message = f"{len(missing):,} lines name no image of {source}, or several: {listed(missing, most=3)}"
        if len(missing) > len(chosen) / 10:
            raise ZooError(message, "Name the folder of the images, and the files that list them.")
        console.warn(message)
    console.say(f"Images of {source} that are not listed, and not in the table: {len(rows) - len(chosen):,}")
    return chosen


def _numbered(file: Path, lines: list[str]) -> dict[str, str]:
    """Return what follows the number in each line of a file."""
    pairs = dict[str, str]()
    for place, line in enumerate(lines, 1):
        number, *rest = line.split(maxsplit=1) or [""]
        if line.strip() and (not rest or number in pairs):
            raise ZooError(f"{file}, line {place}: {shown(line)!r} is not a new number and a word", "Correct it.")
        pairs |= {number: rest[0].strip()} if rest else {}
    return pairs


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
    for name in (images, labels):
        refuse_name(name, "--folders:")
    names = names_of_classes(folder)
    if not any(name.endswith(".txt") and labels in name.split("/")[:-1] for name in names_below(folder)):
        raise ZooError(f"{folder} has no label files, .txt, in folders named {labels}", "Name the folder of labels.")
    for row in of_names(folder):
        *folders, _ = row["image"].split("/")
        if images in folders:
            place = folders[: folders.index(images)], folders[folders.index(images) + 1 :]
            file = folder.joinpath(*place[0], labels, *place[1], f"{set_parts.stem_of(row['image'])}.txt")
            boxes = list[str]()
            for number, line in enumerate(text_of(file, "utf-8").split("\n") if os.path.lexists(file) else [], 1):
                kind = (line.split() or [""])[0]
                if kind and not (re.fullmatch("[0-9]{1,9}", kind) and (not names or int(kind) in names)):
                    known = f"of {len(names):,} named classes" if names else "of a class"
                    message = f"{file}, line {number}: {shown(kind)!r} is not the number {known}"
                    raise ZooError(message, "Correct it, or the names in data.yaml or classes.txt.")
                boxes += [names.get(int(kind), str(int(kind)))] if kind else []
            yield row | {"label": next(iter(boxes), "none"), "labels": "|".join(sorted({*boxes}))}


def names_of_classes(folder: Path) -> dict[int, str]:
    """Return the names of YOLO's classes by number, of data.yaml or classes.txt; nothing without such a file."""
    for file in below(folder, ".yaml", deep=False):
        if not isinstance(content := schema.read_yaml(file), dict):
            raise ZooError(f"{file} has no settings, such as names: [cat, dog]", "Correct it, or move it elsewhere.")
        if "names" not in content:
            continue
        names = content["names"]
        numbered = dict(enumerate(names)) if isinstance(names, list) else names
        classes = [*numbered.values()] if isinstance(numbered, dict) else []
        if not classes or not all(map(_is_whole, numbered)) or any(isinstance(name, list | dict) for name in classes):
            shape = "a list of words, or a word for each number"
            raise ZooError(f"{file}: names must be {shape}, got {shown(names)!r}", "Correct it.")
        return {number: str(each) for number, each in numbered.items()}
    for file in below(folder, "classes.txt"):
        return {number: each.strip() for number, each in enumerate(text_files.lines(text_of(file, "utf-8")))}
    return {}


def of_matlab(source: Path) -> Iterable[Row]:
    """Return a row for each image that .mat files label: by its name, or by its number in the order of the names.

    Oxford Flowers has an array of labels and arrays of the numbers of the images of each part, Stanford Dogs arrays of
    names and of labels, Stanford Cars records of names and classes.
    """
    folder, rows, vectors = source if source.is_dir() else source.parent, list[Row](), dict[str, list[Any]]()
    for file in below(source, ".mat") if source.is_dir() else [source]:
        arrays = dict[str, list[Any]]()
        part = next(filter(None, map(set_parts.role_of, re.split("[^A-Za-z]+", file.stem))), "")
        with reading(file, "Is it complete? MATLAB's version 5 is read."):
            conversions.require_harmless(scipy.io.loadmat, file)
            content = scipy.io.loadmat(file, simplify_cells=True)
        for key, value in content.items():
            if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
                rows += _of_columns({title: [each.get(title) for each in value] for title in value[0]}, part)
            elif isinstance(value, np.ndarray) and value.ndim == 1:
                arrays[key] = value.tolist()
        names = next((each for each in arrays.values() if each and all(map(_is_image, each))), [])
        rows += _of_columns({key: each for key, each in arrays.items() if len(each) == len(names)}, part)
        vectors |= {f"{part} {key}" if key in vectors else key: each for key, each in arrays.items()}
    images, places = sorted(images_below(folder), key=in_order), defaultdict[tuple[str, str], list[str]](list)
    for image in images:
        places[Path(image).name, set_parts.role_of(image.partition("/")[0])].append(image)
    titles = dict.fromkeys(title for row in rows for title in row)
    for row, title in itertools.product(rows, titles):  # both parts of Stanford Cars have an image 00001.jpg
        name, part = Path(str(row.get(title))).name, row.get("part", "")
        own = places.get((name, part)) or places.get((name, "")) or []
        row |= {title: own[0]} if len(own) == 1 else {}
    if not rows:
        rows = _of_numbers(source, images, {key: each for key, each in vectors.items() if all(map(_is_whole, each))})
    lists = [each for each in vectors.values() if all(isinstance(cell, str) for cell in each)]
    for title in titles:
        values = [row[title] for row in rows if title in row]
        if all(map(_is_whole, values)) and min(values) == 1:
            classes = next((each for each in lists if len(each) == max(values) and not any(map(_is_image, each))), [])
            for row in rows if classes else ():
                row |= {f"name of {title}": classes[row[title] - 1]} if title in row else {}
    named = next((title for title in [*titles, "image"] if all(_is_image(row.get(title)) for row in rows)), "")
    if not named:
        raise ZooError(f"{source} has no names of images, but {columns_of(rows)}", "Name the file that lists them.")
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
    return [int(piece) if place % 2 else piece for place, piece in enumerate(re.split("([0-9]+)", str(name)))]


def _is_image(value: Any) -> bool:
    return isinstance(value, str) and Path(value).suffix.lower() in decode.SUFFIXES


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict) or np.ndim(value) > 0


def _of_columns(columns: dict[str, list[Any]], part: str) -> list[Row]:
    """Return rows of the columns that hold one value each; 0 and 1 in a column test tell the part."""
    plain = {title: values for title, values in columns.items() if not any(map(_is_nested, values))}
    if {*plain.get("test", [""])} <= {0, 1}:
        plain["part"] = ["test" if each else "train" for each in plain.pop("test")]
    rows = [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
    return [row | ({"part": part} if part else {}) for row in rows]


def of_coco(source: Path) -> Iterable[Row]:
    """Return the rows of a file, or of the files in the folders of parts, which are next to their images."""
    if source.is_file():
        return of_coco_file(source)
    rows = list[Row]()
    for name in filter(set_parts.role_of, sorted(path.name for path in source.iterdir() if path.is_dir())):
        for file in below(source / name, "coco.json"):
            folder = file.parent.relative_to(source).as_posix()
            of_part = {"part": set_parts.role_of(name)}
            rows += [row | of_part | {"image": f"{folder}/{row['image']}"} for row in of_coco_file(file)]
    return rows


def of_coco_file(file: Path) -> Iterable[Row]:
    """Yield a row for each image and category of COCO's JSON, and of camera traps in the same format."""
    content = json_of(file)
    content = content if isinstance(content, dict) else {}
    lacking = [key for key in _COCO if not isinstance(content.get(key), list)]
    if lacking:
        raise ZooError(f"{file} lacks {listed(lacking)}", "COCO's JSON has these lists.")
    for key, needed in _COCO.items():
        for each, either in itertools.product(content[key], needed):
            values = [each[title] for title in either if title in each] if isinstance(each, dict) else []
            if not values:
                has = columns_of([each]) if isinstance(each, dict) else shown(each)
                what = f"{file}: an entry of {key} has no {' or '.join(either)}, but {has}"
                raise ZooError(what, "COCO's JSON has this key in each entry. Rename the key that means it.")
            if not isinstance(values[0], str if either == ("file_name",) else str | int | float):
                what = f"{file}: an entry of {key} has the {either[0]} {shown(values[0])!r}"
                raise ZooError(what, "It must be a word, or a number if it is an id.")
    images = {_id_of(image, "image"): image for image in content["images"]}
    categories = {_id_of(category, "category"): category for category in content["categories"]}
    names = {number: category.get("name", number) for number, category in categories.items()}
    several: dict[Any, set[str]] = defaultdict(set)
    for each in content["annotations"]:
        if each["category_id"] not in names:
            what = f"{file}: annotations name category {shown(each['category_id'])!r}, which is not in categories"
            raise ZooError(what, "Add it.")
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
    """Return the rows of the second table, each with those of the first that have the same ``key``."""
    by_key = defaultdict(list)
    for row in require(labels, rows_of(labels), key):
        by_key[row.get(key)].append(row)
    rows = require(images, rows_of(images), key)
    joined = [{**label, **row} for row in rows if row.get(key) for label in by_key.get(row[key], ())]
    alone = sum(not row.get(key) or row[key] not in by_key for row in rows)
    console.say(f"Rows of {images} without one of the same {shown(key)} in {labels}, and not in the table: {alone:,}")
    return joined


def of_both_in(source: Path, first: str, second: str) -> Iterable[Row] | Parts:
    """Return the rows of :func:`of_both` of a table, or of each table in a folder."""
    if source.is_file():
        return of_both(source, first, second)
    parts: Parts = {}
    for file in below(source, *TABLES, deep=False):
        if file.stem in parts:
            raise ZooError(f"{source} has two tables called {file.stem}, such as {file.name}", "Rename one of them.")
        parts[file.stem] = list(of_both(file, first, second))
    if not parts:
        raise ZooError(f"{source} has no tables ({listed(TABLES)})", "Name the folder that directly contains them.")
    return parts


def of_both(file: Path, first: str, second: str) -> Iterable[Row]:
    """Yield rows in which two columns are one, text."""
    for row in of_any(file):
        if not {first, second} <= row.keys():
            what = f"{file} has no columns {shown(first)} and {shown(second)}, but {columns_of([row])}"
            raise ZooError(what, "Name two of them.")
        yield {"text": f"{row[first]} {row[second]}"} | {key: row[key] for key in row if key not in (first, second)}


def of_paired(*files: Path) -> Parts:
    """Return rows of the lines of a file of texts and of the next file, of their labels, for each part."""
    parts: Parts = {}
    if len(files) % 2:
        raise ZooError(f"{files[-1]} has no file of labels", "Give two files for each part, then the new folder.")
    for texts, labels in zip(files[::2], files[1::2], strict=True):
        columns = [text_files.lines(text_of(file)) for file in (texts, labels)]
        if len(columns[0]) != len(columns[1]):
            raise ZooError(
                f"{texts} has {len(columns[0]):,} lines, and {labels} {len(columns[1]):,}", "Give two files."
            )
        part = set_parts.role_of(texts.stem) or set_parts.role_of(texts.parent.name) or "all"
        if part in parts:
            raise ZooError(f"{texts} is a second file of the {part} part", "Join them, or rename one of them.")
        parts[part] = [{"text": text, "label": label} for text, label in zip(*columns, strict=True)]
    return parts


def of_files(folder: Path) -> Iterable[Row]:
    """Yield the rows of all tables in a folder, with their names as the class."""
    for file in below(folder, ".csv", deep=False):
        yield from (row | {"class": file.stem} for row in rows_of(file))


def of_folders(folder: Path) -> Iterable[Row]:
    """Yield each text with the names of its folders: folder1 is the outermost one below ``folder``."""
    for file in below(folder, ".txt"):
        folders = file.relative_to(folder).parts[:-1]
        if folders:
            yield {"text": text_of(file)} | levels(folders)


def of_labels(file: Path, column: str) -> Iterable[Row]:
    """Yield a row for each image of a table with rows such as ID_1_epidural and 0 or 1."""
    images: dict[str, Row] = {}
    for row in require(file, rows_of(file), column):
        name, _, kind = row.get(column, "").rpartition("_")
        values = [cell for title, cell in row.items() if title != column]
        if not name or len(values) != 1:
            what = f"{file}: a row is not such as ID_1_epidural and 0, but {shown(listed(row.values()))}"
            raise ZooError(what, "Give a table of two columns, and name the first one.")
        images.setdefault(name, {})[kind] = values[0]
    kinds = sorted({kind for row in images.values() for kind in row})
    yield from ({"image": name} | {kind: row.get(kind, "0") for kind in kinds} for name, row in images.items())


def of_split(file: Path, column: str) -> Parts:
    """Return the rows of each part, by the name of the part that a column has."""
    parts: Parts = defaultdict(list)
    for row in require(file, of_any(file), column):
        cell = str(row.pop(column, "")).strip()
        parts[set_parts.role_of(cell) or cell] += [row]
    return parts


def of_voc(folder: Path) -> Iterable[Row]:
    """Yield the row of each image with the objects in its file of Pascal VOC, and its part in ImageSets/Main."""
    find, parts = finder(images_below(folder)), dict[str, str]()
    for file in below(folder, *(f"ImageSets/Main/{part}.txt" for part in ("train", "val", "test"))):
        parts |= dict.fromkeys(text_of(file).split(), set_parts.role_of(file.stem))
    for file in below(folder, ".xml"):
        with reading(file):
            content = ElementTree.parse(file).getroot()  # noqa: S314  (a file of the user's own)
        names = list(filter(None, (each.findtext("name", "").strip() for each in content.iter("object"))))
        image = find(content.findtext("filename") or file.stem) or find(file.stem)
        if content.tag == "annotation" and names and image and (not parts or file.stem in parts):
            part = {"part": parts[file.stem]} if parts else {}
            yield {"image": image, "label": names[0], "labels": "|".join(dict.fromkeys(names))} | part


def of_cvat(file: Path) -> Iterable[Row]:
    with reading(file):
        content = ElementTree.parse(file)  # noqa: S314  (a file of the user's own)
    for image in content.iter("image"):
        for tag in image.findall("tag"):
            yield {"image": image.get("name"), "label": tag.get("label")}


def of_named(file: Path, text: str, label: str) -> Iterable[Row]:
    """Yield the text of each file that column number ``text`` names, without XML's tags, and the label."""
    if not all(re.fullmatch("[0-9]{1,6}", column) for column in (text, label)):
        raise ZooError(f"--columns {shown(text)} {shown(label)}: these are not two numbers", "The first column is 0.")
    content, _, dialect, _ = tables.load(file, LabelledData(name="text_table", root=str(file)), [text, label], label)
    known = {name: file.parent / name for name in names_below(file.parent)}
    stems = {Path(name).with_suffix("").as_posix(): path for name, path in known.items()}
    ends = {key.rpartition("/")[2]: path for key, path in {**stems, **known}.items()}
    rows = list[tuple[str, Path, str]]()
    missing = 0
    for place, record in enumerate(dialect.records(content)):
        if record.problem or len(record.cells) <= max(int(text), int(label)):
            continue
        name = record.cells[int(text)].strip()
        near = file.parent / name
        if path := near if os.path.isfile(near) else stems.get(name) or ends.get(name.rpartition("/")[2]):
            rows.append((name, path, record.cells[int(label)].strip()))
        else:
            missing += place > 0  # the first one is the header
    folder = _folder_of(file, [name for name, _, _ in rows])
    for name, path, value in rows:
        if not path.resolve().is_relative_to(folder):
            what = f"{file} names {shown(name)!r}, which is outside of its folder {file.parent}"
            raise ZooError(what, "Correct the table, or move the file into the folder.")
        words = text_of(path)
        if path.suffix in (".xml", ".html"):
            words = " ".join(re.sub(r"<!\[CDATA\[|\]\]>|<[^>]*>", " ", words).split())
        yield {"text": words, "label": value}
    if missing:
        console.say(f"Rows of {file} that name no file below {folder}, and not in the table: {missing:,}")


def _folder_of(table: Path, names: list[str]) -> Path:
    """Return the folder of the files of a table: its own, or the one next to it that all names begin with, as in TREC.

    A link is not followed, because its files are those of another folder.
    """
    folder, beside = table.parent.resolve(), {"".join(re.findall(r"^\.\./([^./][^/]*)/", name)) for name in names}
    return folder.parent / beside.pop() if len(beside) == 1 and "" not in beside else folder


def of_begins(folder: Path) -> Iterable[Row]:
    """Yield each text with the letters that its name begins with: those that names of the same first letter share."""
    files, kinds = below(folder, ".txt"), defaultdict[str, list[str]](list)
    words = [re.sub(r"[\W\d_].*", "", file.stem) for file in files]
    for word in words:
        kinds[word[:1]].append(word)
    shared = {kind: os.path.commonprefix(each) for kind, each in kinds.items()}  # noqa: RUF071  (letters, not paths)
    for file, word in zip(files, words, strict=True):
        yield {"text": text_of(file), "label": shared[word[:1]] or "other"}


def of_fasttext(file: Path) -> Iterable[Row]:
    """Yield texts and their labels, joined by |."""
    text = text_of(file)
    if "__label__" not in text:
        raise ZooError(f"{file} has no labels such as __label__good", "Labels are at either end of a line.")
    for line in text.splitlines():
        labels = re.findall(r"(?:^|(?<=\s))__label__(\S+)", line)
        yield {"text": re.sub(r"(?:^|(?<=\s))__label__\S+\s*", "", line).strip(), "label": "|".join(labels)}


def chapters(folder: Path, suffix: str) -> Iterable[str]:
    yield from map(text_of, sorted(below(folder, suffix), key=in_order))


def of_any(file: Path) -> list[Row]:
    """Return the rows of a table or of JSON."""
    return of_json(file) if file.suffix in (".json", ".jsonl", ".ndjson") else rows_of(file)


def rows_of(file: Path) -> list[Row]:
    """Return the rows of a table with a header, read as data=text_table reads it."""
    text, _, dialect, _ = tables.load(file, LabelledData(name="text_table", root=str(file)), ["0"], "0")
    rows = [record.cells for record in dialect.records(text) if not record.problem]
    titles = [title.strip() for title in rows[0]] if rows else []
    if twice := sorted(title for title, count in Counter(titles).items() if title and count > 1):
        raise ZooError(f"{file} has several columns with the name {twice[0]!r}", "Rename all but one of them.")
    return [dict(zip(titles, row, strict=False)) for row in rows[1:]]


def of_texts(source: Path) -> Iterable[Row] | Parts:
    """Return the rows of a Parquet, ARFF or JSON file, or of each part: of several files, or lists in JSON."""
    parts: Parts = defaultdict(list)
    readers: dict[str, Callable[[Path], Iterable[Row]]] = {".parquet": of_parquet, ".arff": of_arff}
    for file in below(source, *readers, deep=False) if source.is_dir() else []:
        parts[set_parts.role_of(file.stem) or "train"] += _flat(readers[file.suffix](file))
    if source.is_dir() and not parts:
        raise ZooError(f"{source} has no Parquet or ARFF files", "Name the folder that directly contains them.")
    content = json_of(source) if source.suffix == ".json" else None
    for name, values in content.items() if isinstance(content, dict) else ():
        if (part := set_parts.role_of(name)) and isinstance(values, list):
            parts[part] += _of_lists(values)
    return parts or _flat(readers.get(source.suffix, of_json)(source))


def of_arff(file: Path) -> Iterable[Row]:
    """Yield the rows of a table as Weka writes it, https://waikato.github.io/weka-wiki/formats_and_processing/arff/."""
    head, *body = re.split(r"^@data.*$", text_of(file), maxsplit=1, flags=re.IGNORECASE | re.MULTILINE)
    names = re.findall(r"^@attribute\s+('[^']*'|\"[^\"]*\"|\S+)", head, re.IGNORECASE | re.MULTILINE)
    lines = [line for line in "".join(body).splitlines() if line.strip() and not line.startswith("%")]
    if any(line.lstrip().startswith("{") for line in lines):
        raise ZooError(f"{file} has only the values that are not zero (sparse ARFF)", "Convert it with Weka first.")
    sign = re.search(r"(?:^|,)\s*(['\"])", "\n".join(lines), re.MULTILINE)
    plain = (re.sub(r"\\[ntr]", " ", line) for line in lines)
    for row in csv.reader(plain, quotechar=sign[1] if sign else "'", escapechar="\\", skipinitialspace=True):
        yield dict(zip((name.strip("'\"") for name in names), row, strict=False))


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
    text, values = text_of(file), list[Any]()
    with reading(file):
        try:
            return json.loads(text)
        except ValueError as whole:
            for number, line in enumerate(text.splitlines(), 1):
                try:
                    values += [json.loads(line)] if line.strip() else []
                except ValueError as error:
                    raise (ValueError(f"line {number}: {error}") if values else whole) from error
    return values


def of_json(file: Path) -> list[Row]:
    """Return the objects of a list, which may be inside of other objects, or of lines."""
    value = foreign_formats.innermost(json_of(file))
    if not isinstance(value, list):
        raise ZooError(f"{file} has no list, or several side by side in one object", "Write one list into a file.")
    return [row for row in value if isinstance(row, dict)]


def plain(file: Path) -> Iterable[str]:
    """Return the texts in the column of a table, or below the key of JSON, that has the most letters."""
    text = text_of(file)
    if text.lstrip()[:1] not in ("{", "["):
        return _longest(_columns(file, text))
    values: dict[str, list[str]] = defaultdict(list)

    def keep(each: Any) -> None:
        for inner in each.values() if isinstance(each, dict) else each if isinstance(each, list) else ():
            keep(inner)
        for key, value in each.items() if isinstance(each, dict) else ():
            parts = value if isinstance(value, list) else [value]
            values[key].append("".join(part for part in parts if isinstance(part, str)))

    content = json_of(file)
    with reading(file):
        keep(content)
    # Telegram writes a message twice, whole and in parts.
    return [text for text, _ in itertools.groupby(_longest(values.values()))]


def _longest(columns: Iterable[Sequence[str]]) -> Sequence[str]:
    return max(columns, key=lambda column: sum(map(str.isalpha, "".join(column))), default=[])


def _columns(file: Path, text: str) -> list[tuple[str, ...]]:
    """Return the columns of a table; in a small one, all rows have the same number of cells."""
    sign, _ = foreign_formats.table(text, 2)
    for delimiter in sign or ",\t;|":
        with reading(file):
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
        same = [row for row in rows if len(row) == len(rows[0])]
        if len(rows) > 1 and len(rows[0]) > 1 and (sign or same == rows):
            return list(zip(*same, strict=True))
    raise ZooError(f"{file} is neither a table nor JSON", "A text can be used as it is: data=text_file data.root=FILE.")


def of_parquet(file: Path) -> list[Row]:
    try:
        import pyarrow.parquet as parquet  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise ZooError("pyarrow is not installed", f"{sys.executable} -m pip install pyarrow") from error
    with reading(file):
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
        wanted: what it reads, with the options as {0} and {1}, for the message about sources without it.
        between: what separates texts.
        sources: their number.
    """

    make: Callable[..., Iterable[Any]]
    wanted: str
    option: str = ""
    values: int | str = 1
    between: str = "\n"
    sources: int | str = 1


KINDS = {
    "names": Kind(of_names, "images"),
    "lists": Kind(of_lists, "images that {0} lists", "--files", "+"),
    "matlab": Kind(of_matlab, "records or labels of images in .mat files"),
    "yolo": Kind(of_yolo, "images in folders named {0}", "--folders", 2),
    "voc": Kind(of_voc, "files of Pascal VOC, .xml, for its images"),
    "coco": Kind(of_coco, "annotations of its images"),
    "join": Kind(of_two, "rows with the same {0}", "--on", sources=2),
    "paired": Kind(of_paired, "lines", sources="+"),
    "texts": Kind(of_texts, "objects or rows"),
    "both": Kind(of_both_in, "rows with {0} and {1}", "--columns", 2),
    "files": Kind(of_files, "rows in .csv tables"),
    "folders": Kind(of_folders, "texts, .txt, in folders"),
    "split": Kind(of_split, "rows with {0}", "--column"),
    "labels": Kind(of_labels, "rows with {0}", "--column"),
    "cvat": Kind(of_cvat, "images with tags"),
    "named": Kind(of_named, "rows whose column {0} names a file below its folder", "--columns", 2),
    "begins": Kind(of_begins, "files whose names end in .txt"),
    "fasttext": Kind(of_fasttext, "lines"),
    "chapters": Kind(chapters, "files whose names end in {0}", "--suffix", between="\n\n"),
    "plain": Kind(plain, "texts"),
}

if __name__ == "__main__":
    sys.exit(main())

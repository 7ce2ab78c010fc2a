"""Find the class names of weights: in the user's file, in a file next to the weights, or from ImageNet."""

import json
import re
from pathlib import Path
from typing import Any

from zoo.core import console, paths
from zoo.core.errors import ZooError, listed, nearest
from zoo.core.files import storage_errors
from zoo.core.paths import existing_input

CLASS_INDEX = paths.CONFIGS / "weights" / "imagenet_class_index.json"
# Files to search for next to weights, in this order.
BESIDE = (
    "class_names.txt", "class_names.json", "labels.txt", "labels.json", "classes.txt", "classes.json",
    "class_indices.json",
)  # fmt: skip
KINDS = "Give a text file with a name per line, or JSON: a list of names, or an object of names and numbers from 0."
MOST_BYTES = 16 << 20


def choose(source: str | None, weights: Path, count: int, published: bool = False) -> list[str]:
    """Return the class names of a network.

    Args:
        source: the file in ``classes=``, or None.
        weights: file of the weights; its folder is searched for names.
        published: whether the weights are the published ones of ImageNet.
    """
    if source:
        return _checked(existing_input(source, KINDS), count)
    beside = [] if published else [weights.parent / name for name in BESIDE if (weights.parent / name).is_file()]
    for path in beside:
        try:
            names = _checked(path, count)
        except ZooError as error:
            console.warn(f"{error.message}: it is not used")
            continue
        console.say(f"Names of the classes: {path}")
        return names
    if count == 1000:
        return of_imagenet()
    console.say(f"The {count:,} classes have no names. To give them: classes=FILE, with a name in each line")
    return [f"class {number}" for number in range(count)]


def of_imagenet(column: int = 1) -> list[str]:
    """Return the names of ImageNet's classes or, in column 0, their synsets."""
    index = json.loads(CLASS_INDEX.read_text(encoding="utf-8"))
    return [index[str(number)][column] for number in range(len(index))]


def _checked(path: Path, count: int) -> list[str]:
    names = read(path)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1] if len(names) < 10_000 else []
    if len(names) != count:
        raise ZooError(f"{path} names {len(names):,} classes, but the network has {count:,}", KINDS)
    if twice:
        console.warn(f"{path} has duplicate class names: {listed(twice)}")
    return names


def read(path: Path) -> list[str]:
    try:
        with storage_errors("read", path):
            if path.stat().st_size > MOST_BYTES:
                raise ZooError(f"{path} is too long for class names", KINDS)
            text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ZooError(f"{path} is not text in UTF-8", KINDS) from error
    if path.suffix.lower() != ".json":
        return lines(text)
    try:
        names = _of_json(json.loads(text))
    except (ValueError, RecursionError):
        names = None
    if names is None:
        raise ZooError(f"{path} does not contain class names in a known order", KINDS)
    return names


def lines(text: str) -> list[str]:
    """Return a name per line; if every line has a number, as in ``0 cat``, remove it."""
    rows = [line.strip() for line in text.splitlines() if line.strip()]
    parts = [re.fullmatch(r"(\d+)[\s:,]+(.+)", row) for row in rows]
    numbered = [int(part[1]) for part in parts if part] == list(range(len(rows)))
    return [part[2] for part in parts if part] if numbered else rows


def _of_json(content: Any) -> list[str] | None:
    """Return the names in a list, or in an object of number: name, name: number, or number: [id, name].

    The object may be ``id2label`` of another.
    """
    if isinstance(content, list):
        return content if all(isinstance(name, str) for name in content) else None
    if not isinstance(content, dict):
        return None
    if isinstance(content.get("id2label"), dict):  # config.json of Hugging Face
        content = content["id2label"]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in content.values()):
        content = {str(number): name for name, number in content.items()}
    rows = [content.get(str(number)) for number in range(len(content))]
    names = [row[-1] if isinstance(row, list) and row else row for row in rows]
    return names if all(isinstance(name, str) for name in names) else None


def labels_of(names: list[str], classes: list[str], what: str, by_number: bool = False) -> list[int]:
    """Return the number of the class that each name refers to: a class name, an ImageNet synset or a number.

    Classes without names are assigned in the order of the names.

    Args:
        names: names of folders, or of the classes of a data set, in order.
        what: origin of the names, for messages.
        by_number: whether numeric names may be numbers of classes that have names.
    """
    for table, keys in _readings(names, classes):
        if all(len(table.get(key, ())) == 1 for key in keys):
            return [table[key][0] for key in keys]
    numbers = by_number or _is_unnamed(classes)
    if numbers and all(re.fullmatch(r"\d{1,6}", name) and int(name) < len(classes) for name in names):
        console.say(f"{what}: {listed(names)} are used as class numbers, counted from 0")
        return [int(name) for name in names]
    if _is_unnamed(classes) and len(names) == len(classes):
        console.say(f"{what} name the classes of the network in their order: {listed(names)}")
        return list(range(len(names)))
    table, keys = max(_readings(names, classes), key=lambda pair: sum(key in pair[0] for key in pair[1]))
    named = dict(zip(names, keys, strict=True))
    unknown = [name for name in names if named[name] not in table]
    several = [name for name in names if len(table.get(named[name], ())) > 1]
    problems = [f"no class of the network is called {listed(map(repr, unknown))}"] if unknown else []
    problems += [f"several classes are called {listed(map(repr, several))}"] if several else []
    remedy = "Rename or remove these. If a saved model has no names of classes, give them in order: classes=FILE."
    if several and len(classes) == 1000:
        remedy = "Name the folders by synset, such as n02012849."
    near = nearest(unknown[0], classes) if unknown else ""
    raise ZooError(f"{what} are not those of the network: {'; '.join(problems)}{near}", remedy)


def named_after(classes: list[str], names: list[str], labels: list[int]) -> list[str]:
    """Return the class names; classes without names get the names that refer to them."""
    if not _is_unnamed(classes):
        return classes
    names_by_label = dict(zip(labels, names, strict=True))
    return [names_by_label.get(number, name) for number, name in enumerate(classes)]


def _readings(names: list[str], classes: list[str]) -> list[tuple[dict[str, list[int]], list[str]]]:
    simple = [_simple(name) for name in names]
    readings = [(_numbers_by(classes), names), (_numbers_by([_simple(name) for name in classes]), simple)]
    return [*readings, (_numbers_by(of_imagenet(0)), names)] if classes == of_imagenet() else readings


def _numbers_by(names: list[str]) -> dict[str, list[int]]:
    table: dict[str, list[int]] = {}
    for number, name in enumerate(names):
        table.setdefault(name, []).append(number)
    return table


def _simple(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def _is_unnamed(classes: list[str]) -> bool:
    return classes == [f"class {number}" for number in range(len(classes))]

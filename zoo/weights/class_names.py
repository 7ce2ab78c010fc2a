"""Name the classes that weights tell apart: by a file of the user's, by one beside the weights, or as ImageNet."""

import json
import re
from pathlib import Path
from typing import Any

from zoo.core import console, paths
from zoo.core.errors import ZooError, listed
from zoo.core.files import storage_error
from zoo.core.paths import existing_input

CLASS_INDEX = paths.CONFIGS / "weights" / "imagenet_class_index.json"
# Files that are looked for beside weights, in this order.
BESIDE = (
    "class_names.txt", "class_names.json", "labels.txt", "labels.json", "classes.txt", "classes.json",
    "class_indices.json",
)  # fmt: skip
KINDS = "Give a text file with a name a line, or JSON: a list of names, or an object of names and numbers from 0 on."
MOST_BYTES = 16 << 20


def choose(source: str | None, weights: Path, count: int, published: bool = False) -> list[str]:
    """Name the classes of a network.

    Args:
        source: the file that ``classes=`` names, or None.
        weights: the file of its weights, beside which names are looked for.
        count: how many classes it has.
        published: the weights are those of ImageNet.

    Raises:
        ZooError: the file of ``classes=`` cannot be read, or does not name so many classes.
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
    return _imagenet() if count == 1000 else [f"class {number}" for number in range(count)]


def _imagenet() -> list[str]:
    index = json.loads(CLASS_INDEX.read_text(encoding="utf-8"))
    return [index[str(number)][1] for number in range(len(index))]


def _checked(path: Path, count: int) -> list[str]:
    names = read(path)
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1] if len(names) < 10_000 else []
    if len(names) != count:
        raise ZooError(f"{path} names {len(names):,} classes, and the network tells {count:,} apart", KINDS)
    if twice:
        console.warn(f"{path} names several classes alike: {listed(twice)}")
    return names


def read(path: Path) -> list[str]:
    """Read the names of classes in order, from text or JSON.

    Raises:
        ZooError: the file cannot be read, or is neither.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ZooError(f"{path} is far too long for names of classes", KINDS)
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise storage_error("read", path, error) from error
    except UnicodeDecodeError as error:
        raise ZooError(f"{path} is not text in UTF-8", KINDS) from error
    if path.suffix.lower() != ".json":
        return _lines(text)
    try:
        names = _of_json(json.loads(text))
    except (ValueError, RecursionError):
        names = None
    if names is None:
        raise ZooError(f"{path} holds no names of classes that can be put in order", KINDS)
    return names


def _lines(text: str) -> list[str]:
    """Return a name a line; numbers before all of them, as in ``0 cat``, are left out."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    parts = [re.fullmatch(r"(\d+)[\s:,]+(.+)", line) for line in lines]
    numbered = [int(part[1]) for part in parts if part] == list(range(len(lines)))
    return [part[2] for part in parts if part] if numbered else lines


def _of_json(content: Any) -> list[str] | None:
    """Return names from a list, from number -> name, from name -> number, or from number -> [id, name]."""
    if isinstance(content, list):
        return content if all(isinstance(name, str) for name in content) else None
    if not isinstance(content, dict):
        return None
    if all(isinstance(value, int) and not isinstance(value, bool) for value in content.values()):
        content = {str(number): name for name, number in content.items()}
    rows = [content.get(str(number)) for number in range(len(content))]
    names = [row[-1] if isinstance(row, list) and row else row for row in rows]
    return names if all(isinstance(name, str) for name in names) else None

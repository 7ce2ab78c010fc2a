"""How recipes are known to work: ``recipes/MODEL/BACKEND.validated.json``, and figures that others published.

A file holds a list of rows. Each is one training, in one of three grades that are never mixed up:

- ``measured``: the zoo ran it on that platform and device;
- ``stand-in``: the zoo ran it on a build that stands in for the GPU build of the same Keras generation;
- ``reported``: a named source says so.
"""

import json
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo import paths
from zoo.errors import ZooError, nearest
from zoo.stacks import GRADES

Row = dict[str, Any]
Kinds = dict[str, tuple[type, ...]]

SUFFIX = ".validated.json"
REPORTED = "reported.yaml"

_NONE = type(None)
_NUMBER = (int, float, _NONE)
_TEXT = (str, _NONE)
# Every row has these; a value that nobody knows is null.
KEYS: Kinds = {
    "grade": (str,),
    "stack": (str,),
    "platform": (str,),
    "machine": (str,),
    "os_build": _TEXT,
    "device": (dict,),
    "data": (dict,),
    "metric": _TEXT,
    "value": _NUMBER,
    "expected": _NUMBER,
    "seconds": (dict,),
    "versions": (dict,),
    "date": (str,),
    "commit": _TEXT,
    "command": _TEXT,
    "source": _TEXT,
    "preset": _TEXT,
}
# What differs from the recipe, in words of the command line; and what else is worth knowing.
OPTIONAL: Kinds = {
    "changed": (list,),
    "differences": (list,),
    "lock_sha256": _TEXT,
    "note": (str,),
    "probes": (dict,),
}
REPORTED_KEYS: Kinds = {
    "what": (str,),
    "machine": (str,),
    "platform": _TEXT,
    "stack": (str,),
    "figure": _NUMBER,
    "unit": _TEXT,
    "date": (str,),
    "source": (str,),
}
_INSIDE: dict[str, Kinds] = {
    "device": {"name": (str,), "kind": (str,), "proof": _TEXT},
    "data": {"name": (str,), "sha256": _TEXT},
}
_MORE_INSIDE: dict[str, Kinds] = {
    "device": {"description": (str,)},
    "data": {"train_items": (int,), "validation_items": (int,), "test_items": (int,)},
}
_MACHINE_PATH = re.compile(
    r"(?<![\w.:/-])(?:/(?:home|Users|root|tmp|var|private|work|mnt|media|srv|opt|Volumes)/|~/|[A-Za-z]:\\)"
)


def file(model: str, backend: str) -> Path:
    """Where the rows of a recipe are kept; the file need not exist."""
    return paths.RECIPES / model / f"{backend}{SUFFIX}"


def recorded() -> list[tuple[str, str]]:
    """Model and backend of every file of rows, sorted."""
    found = paths.RECIPES.rglob(f"*{SUFFIX}")
    return sorted((_inside(path.parent), path.name.removesuffix(SUFFIX)) for path in found)


def _inside(folder: Path) -> str:
    return folder.relative_to(paths.RECIPES).as_posix()


def read(model: str, backend: str) -> list[Row]:
    """The rows of a recipe, best grade first; none where nothing is recorded.

    Raises:
        ZooError: the file is damaged or a row is wrong; every problem of every row is listed.
    """
    return read_file(file(model, backend))


def read_file(path: Path) -> list[Row]:
    """As :func:`read`, of any file."""
    if not path.is_file():
        return []
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ZooError(f"{path} cannot be read: {error}", "Restore the file, or remove it.") from error
    if not isinstance(rows, list):
        raise ZooError(f"{path} must hold a list of rows, not {type(rows).__name__}", "Restore the file.")
    _check(path, rows, problems)
    return rows


def add(path: Path, row: Row) -> list[Row]:
    """Put a row into a file, in the place of an older one of the same :func:`key`; all or nothing is written.

    Returns:
        What the file holds now.

    Raises:
        ZooError: the row, or one that is there already, is wrong; or the place cannot be written.
    """
    wrong = problems(row)
    if wrong:
        listed = "\n".join(f"  - {problem}" for problem in wrong)
        raise ZooError(f"This is no evidence:\n{listed}", "Nothing was written.")
    rows = [*(other for other in read_file(path) if key(other) != key(row)), row]
    rows.sort(key=lambda each: (GRADES.index(each["grade"]), *map(str, key(each))))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"{path.name}.{os.getpid()}.part")
        aside.write_text(json.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(aside, path)
    except OSError as error:
        raise ZooError(f"Cannot write {path}: {error.strerror or error}", "Make its folder writable.") from error
    return rows


def key(row: Row) -> tuple[str, str, str, str, str, str, tuple[str, ...]]:
    """What one row stands for: two devices of a platform, or two variants of a recipe, are two rows."""
    changed = tuple(sorted(row.get("changed", [])))
    where = row["grade"], row["stack"], row["platform"], device(row)
    return *where, row["data"]["name"], str(row["preset"]), changed


def problems(row: Any) -> list[str]:
    """Everything that is wrong with a row, one sentence each."""
    found = list(_shape(row, KEYS, OPTIONAL, ""))
    if found:
        return found
    for part, required in _INSIDE.items():
        found += _shape(row[part], required, _MORE_INSIDE[part], f"{part}.")
    found += [f"seconds.{phase} must be a number, got {value!r}" for phase, value in _odd_seconds(row["seconds"])]
    if row["grade"] not in GRADES:
        found.append(f"grade {row['grade']!r} is not one of {', '.join(GRADES)}{nearest(row['grade'], list(GRADES))}")
    elif row["grade"] == "reported":
        found += _reported_problems(row)
    else:
        found += _own_problems(row)
    found += [] if re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", row["date"]) else [f"date {row['date']!r} is no ISO date"]
    return [*found, *(f"{where} names a path of one machine: {text!r}" for where, text in _machine_paths(row))]


def _shape(row: Any, required: Kinds, optional: Kinds, where: str) -> Iterator[str]:
    if not isinstance(row, dict):
        yield f"{where.rstrip('.') or 'a row'} must be keys and values, got {row!r}"
        return
    valid = required | optional
    yield from (f"{where}{name} is missing" for name in required if name not in row)
    for name, value in row.items():
        if name not in valid:
            yield f"{where}{name} is an unknown key{nearest(str(name), list(valid))}"
        elif type(value) not in valid[name] or (isinstance(value, float) and not math.isfinite(value)):
            yield f"{where}{name} must be {_kinds(valid[name])}, got {value!r}"


_KIND_WORDS = {str: "text", int: "a number", dict: "keys and values", list: "a list", _NONE: "null"}


def _kinds(kinds: tuple[type, ...]) -> str:
    return " or ".join(_KIND_WORDS[kind] for kind in kinds if kind in _KIND_WORDS)


def _odd_seconds(seconds: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(phase, value) for phase, value in seconds.items() if type(value) not in (int, float)]


def _reported_problems(row: Row) -> Iterator[str]:
    if not row["source"]:
        yield "a reported row needs a source: an address or a publication"
    if row["value"] is None and not row["seconds"] and not row.get("note"):
        yield "a reported row needs a value, seconds, or a note that says what was reported"
    if row["commit"] or row["command"]:
        yield "a reported row has neither commit nor command: the zoo did not run it"


def _own_problems(row: Row) -> Iterator[str]:
    grade = row["grade"]
    for name in ("commit", "versions", "command", "metric", "preset", "seconds"):
        if not row[name]:
            yield f"a {grade} row needs {name}"
    if row["value"] is None:
        yield f"a {grade} row needs value"
    if not row["device"].get("proof"):
        yield f"a {grade} row needs device.proof: what was run to find out where"
    if not row["data"].get("sha256"):
        yield f"a {grade} row needs data.sha256"
    if row["preset"] != "full" and row["expected"] is not None:
        yield f"preset {row['preset']!r} is never held against an expectation, got expected {row['expected']!r}"


def _machine_paths(value: Any, where: str = "the row") -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and names_a_place(value):
        yield where, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in pairs:
        yield from _machine_paths(part, str(name))


def names_a_place(text: str) -> bool:
    """True for text with a path of one machine in it."""
    return _MACHINE_PATH.search(text) is not None


def verdict(row: Row) -> str:
    """``reached``, ``missed``, or an empty string where there is nothing to hold the value against."""
    if row["expected"] is None or row["value"] is None:
        return ""
    return "reached" if row["value"] >= row["expected"] else "missed"


def origin(row: Row) -> str:
    """Where a row comes from: the publication, or the command that anybody can repeat."""
    return str(row["source"] or row["command"])


def device(row: Row) -> str:
    """The device as people call it: ``Apple M1``, ``CPU:0``, ``llvm_cpu.0``."""
    name = str(row["device"].get("description") or row["device"]["name"])
    return name.rpartition("device:")[2]


def figure(row: Row) -> str:
    """What came out, and what was expected: ``test_accuracy 0.9917 (at least 0.99: reached)``."""
    told = f"{row['metric']} {row['value']:.4g}" if row["value"] is not None else ""
    if row["expected"] is not None:
        told += f" (at least {row['expected']:g}: {verdict(row)})"
    trained = row["seconds"].get("train_s")
    parts = [told, f"{trained:.1f} s of training" if trained is not None else ""]
    return ", ".join(part for part in parts if part) or str(row.get("note", ""))


def words(row: Row) -> str:
    """A row in one line."""
    data, stack = row["data"]["name"], row["stack"]
    short = "" if row["preset"] in ("full", None) else f" (preset {row['preset']}: shows only that it trains)"
    changed = f", with {' '.join(row['changed'])}" if row.get("changed") else ""
    return f"{row['grade']}{short}: {figure(row)} on {data}, {stack} on {row['platform']}, {device(row)}{changed}"


def reported() -> list[Row]:
    """Published figures about other networks than the zoo's recipes: ``recipes/reported.yaml``.

    Raises:
        ZooError: the file or a row is wrong; every problem is listed.
    """
    import yaml

    path = paths.RECIPES / REPORTED
    if not path.is_file():
        return []
    try:
        rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ZooError(f"{path} cannot be read: {error}", "Correct the file.") from error
    figures = rows.get("figures") if isinstance(rows, dict) else None
    if not isinstance(figures, list):
        raise ZooError(f"{path} must hold a list called figures", "Correct the file.")
    _check(path, figures, _figure_problems)
    return figures


def _figure_problems(row: Any) -> list[str]:
    found = list(_shape(row, REPORTED_KEYS, {"note": (str,)}, ""))
    if not found and row["figure"] is None and not row.get("note"):
        found.append("a row without a figure needs a note that says what was reported")
    if not found and row["figure"] is not None and not row["unit"]:
        found.append("a figure needs a unit")
    return found


def _check(path: Path, rows: list[Any], of_row: Any) -> None:
    found = [f"row {number}: {problem}" for number, row in enumerate(rows, 1) for problem in of_row(row)]
    if found:
        listed = "\n".join(f"  - {problem}" for problem in found)
        raise ZooError(f"{path} is wrong:\n{listed}", "Correct the rows; every problem is listed.")

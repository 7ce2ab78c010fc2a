"""Read and write the evidence that recipes work: ``recipes/MODEL/BACKEND.validated.json``, and published figures.

A file is a list of rows. Each row is a training run with one of three grades:

- ``measured``: the zoo ran it on this platform and device.
- ``stand-in``: the zoo ran it on a build that replaces the GPU build of the same Keras generation.
- ``reported``: a named source reports it.
"""

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from zoo.config import bounds
from zoo.core import paths, schema
from zoo.core.errors import ZooError, bulleted, nearest
from zoo.core.files import atomic_write, read_json
from zoo.environments.stacks import GRADES
from zoo.protocol.events import short_device

Row = dict[str, Any]

SUFFIX = ".validated.json"


@dataclasses.dataclass
class Device:
    """The device: its name in the framework, its kind, the operation that proved it, and the name of the GPU."""

    name: str
    device_kind: str
    proof: str | None
    description: str = ""


@dataclasses.dataclass
class Data:
    """The training data; ``sha256`` covers the source files."""

    name: str
    sha256: str | None
    train_items: int | None = None
    validation_items: int | None = None
    test_items: int | None = None


@dataclasses.dataclass
class EvidenceRow:
    """A row; every key without a default is required, and null if unknown.

    Attributes:
        machine: description in one line.
        hardware: from :func:`zoo.environments.machine.hardware`; empty for reported rows.
        metric: name of ``value``, such as ``test_accuracy``.
        expected: expected value of the recipe; null if it does not apply to the run.
        direction: whether ``value`` must be ``at_least`` (default) or ``at_most`` the expected value.
        seconds: seconds by phase.
        commit: commit of the zoo, with ``-dirty`` for changed files, or its version.
        command: command to repeat the run, without paths of one machine.
        source: address or publication of a reported figure.
        changed: settings that differ from the recipe.
        differences: differences of a user's environment from the lock.
        recipe_sha256: checksum of everything that affects the result of the recipe on the data.
        probes: result of each numeric probe.
    """

    grade: str
    stack: str
    platform: str
    machine: str
    os_build: str | None
    device: Device
    data: Data
    metric: str | None
    value: float | None
    expected: float | None
    seconds: dict[str, float]
    versions: dict[str, str]
    date: str
    commit: str | None
    command: str | None
    source: str | None
    preset: str | None
    direction: str = "at_least"
    changed: list[str] = dataclasses.field(default_factory=list)
    differences: list[str] = dataclasses.field(default_factory=list)
    lock_sha256: str | None = None
    recipe_sha256: str | None = None
    note: str = ""
    hardware: str = ""
    probes: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)


_MACHINE_PATH = re.compile(
    r"(?<![\w.:/-])(?:/(?:home|Users|root|tmp|var|private|work|mnt|media|srv|opt|Volumes)/|~/|[A-Za-z]:\\)"
)


def file(model: str, backend: str) -> Path:
    """Return the path of the file with a recipe's rows; it may not exist."""
    return paths.RECIPES / model / f"{backend}{SUFFIX}"


def own_file(model: str, backend: str) -> Path:
    """Return the path of the file with the user's own rows for a recipe; it may not exist."""
    return paths.user_dir() / "validated" / model / f"{backend}{SUFFIX}"


def read(model: str, backend: str) -> list[Row]:
    """Return the rows of a recipe, best grade first, or an empty list."""
    return read_file(file(model, backend))


def read_file(path: Path) -> list[Row]:
    """Return the rows of a file, best grade first, or an empty list."""
    if not path.is_file():
        return []
    rows = read_json(path, "Restore the file, or remove it.")
    if not isinstance(rows, list):
        raise ZooError(f"{path} must contain a list of rows, not {type(rows).__name__}", "Restore the file.")
    refuse_wrong_rows(path, rows, problems)
    return rows


def add(path: Path, row: Row) -> list[Row]:
    """Add a row to a file atomically, or replace the row with the same :func:`key`; return all rows."""
    wrong = problems(row)
    if wrong:
        raise ZooError(f"Invalid evidence:\n{bulleted(wrong)}", "Nothing was written.")
    rows = [*(other for other in read_file(path) if key(other) != key(row)), row]
    rows.sort(key=lambda each: (GRADES.index(each["grade"]), *map(str, key(each))))
    content = json.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    atomic_write(path, content, "Make its folder writable.", parents=True)
    return rows


def key(row: Row) -> tuple[str | tuple[str, ...], ...]:
    """Return the identity of a row, which includes the machine, the device and changes to the recipe."""
    changed = tuple(sorted(row.get("changed", [])))
    where = row["grade"], row["stack"], row["platform"], row.get("hardware", ""), device(row)
    return *where, row["data"]["name"], str(row["preset"]), changed


def problems(row: Any) -> list[str]:
    violations = schema.violations(row, EvidenceRow)
    if violations:
        return violations
    figures = {"value": row["value"], "expected": row["expected"], **row["seconds"]}
    violations = [
        f"{name} is {value}" for name, value in figures.items() if value is not None and not math.isfinite(value)
    ]
    if row["grade"] not in GRADES:
        violations.append(
            f"grade {row['grade']!r} is not one of {', '.join(GRADES)}{nearest(row['grade'], list(GRADES))}"
        )
    elif row["grade"] == "reported":
        violations += _reported_problems(row)
    else:
        violations += _own_problems(row)
    if row.get("direction", bounds.DIRECTIONS[0]) not in bounds.DIRECTIONS:
        violations.append(f"direction {row['direction']!r} is not one of {', '.join(bounds.DIRECTIONS)}")
    if not re.fullmatch(r"\d{4}(-\d\d(-\d\d)?)?", row["date"]):
        violations.append(f"date {row['date']!r} is not an ISO date")
    return [*violations, *(f"{where} names a path of one machine: {text!r}" for where, text in _machine_paths(row))]


def _reported_problems(row: Row) -> Iterator[str]:
    if not row["source"]:
        yield "a reported row needs a source: an address or a publication"
    if row["value"] is None and not row["seconds"] and not row.get("note"):
        yield "a reported row needs a value, seconds, or a note that says what was reported"
    if row["commit"] or row["command"]:
        yield "a reported row must not have a commit or command: the zoo did not run it"


def _own_problems(row: Row) -> Iterator[str]:
    grade = row["grade"]
    for name in ("commit", "versions", "command", "metric", "preset", "seconds", "hardware"):
        if not row.get(name):
            yield f"a {grade} row needs {name}"
    if row["value"] is None:
        yield f"a {grade} row needs value"
    if not row["device"].get("proof"):
        yield f"a {grade} row needs device.proof: the operation that proved the device"
    if not row["data"].get("sha256"):
        yield f"a {grade} row needs data.sha256"
    if row["preset"] != "full" and row["expected"] is not None:
        yield f"preset {row['preset']!r} has no expectation, but expected is {row['expected']!r}"


def _machine_paths(value: Any, where: str = "the row") -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and names_a_place(value):
        yield where, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in pairs:
        yield from _machine_paths(part, str(name))


def names_a_place(text: str) -> bool:
    """Return True if a text contains a path of one machine."""
    return _MACHINE_PATH.search(text) is not None


def verdict(row: Row) -> str:
    """Return ``reached``, ``missed``, or an empty string without an expectation."""
    if row["expected"] is None or row["value"] is None:
        return ""
    return "reached" if bounds.is_met(_bound(row), row["value"]) else "missed"


def expectation(row: Row) -> str:
    return "" if row["expected"] is None else bounds.words(_bound(row))


def _bound(row: Row) -> dict[str, float]:
    return {row.get("direction", bounds.DIRECTIONS[0]): row["expected"]}


def device(row: Row) -> str:
    """Return the common name of the device: ``Apple M1``, ``CPU:0``, ``llvm_cpu.0``."""
    return short_device(str(row["device"].get("description") or row["device"]["name"]))


def place(row: Row) -> str:
    """Return the device and its hardware: ``CPU:0 of amd-epyc-24gb``."""
    return f"{device(row)} of {row['hardware']}" if row.get("hardware") else device(row)


def figure(row: Row) -> str:
    """Return the value and the expectation: ``test_accuracy 0.9917 (at least 0.99: reached)``."""
    result = f"{row['metric']} {row['value']:.4g}" if row["value"] is not None else ""
    if row["expected"] is not None:
        result += f" ({expectation(row)}: {verdict(row)})"
    trained = row["seconds"].get("train_s")
    parts = [result, f"{trained:.1f} s of training" if trained is not None else ""]
    return ", ".join(part for part in parts if part) or str(row.get("note", ""))


def words(row: Row) -> str:
    data, stack = row["data"]["name"], row["stack"]
    short = "" if row["preset"] in ("full", None) else f" (preset {row['preset']}: only shows that it trains)"
    changed = f", with {' '.join(row['changed'])}" if row.get("changed") else ""
    return f"{row['grade']}{short}: {figure(row)} on {data}, {stack} on {row['platform']}, {place(row)}{changed}"


def refuse_wrong_rows(path: Path, rows: list[Any], of_row: Callable[[Any], list[str]]) -> None:
    listed = [
        f"row {number}: {problem.removeprefix('the file: ')}"
        for number, row in enumerate(rows, 1)
        for problem in of_row(row)
    ]
    schema.refuse("file", path, listed)


def published_file() -> Path:
    """Return the path of the published results of networks that differ from those of the recipes."""
    return paths.RECIPES / "reported.yaml"


def published() -> list[Row]:
    path = published_file()
    content = schema.read_yaml(path) if path.is_file() else {"figures": []}
    figures = content.get("figures") if isinstance(content, dict) else None
    if not isinstance(figures, list):
        raise ZooError(f"{path} must contain a list called figures", "Correct the file.")
    return figures


def published_about(name: str) -> list[Row]:
    """Return the published results about a model, or a benchmark without a model."""
    return [row for row in published() if name in row.get("about", [])]

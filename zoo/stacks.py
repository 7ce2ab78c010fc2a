"""The stacks: pinned sets of libraries, one folder each under ``recipes/stacks``.

A folder holds ``stack.yaml`` and one hashed lock file for each platform. The folders are the registry.
"""

import dataclasses
import datetime
import re
import types
import typing
from pathlib import Path
from typing import Any

import yaml

from zoo import paths
from zoo.errors import ZooError, nearest, unknown

PLATFORMS = ("linux-x86_64", "macos-arm64", "macos-x86_64")
FRAMEWORKS = ("tensorflow", "plaidml", "torch", "jax", "openvino")
KERASES = ("keras", "tf.keras")
GRADES = ("measured", "stand-in", "reported")


@dataclasses.dataclass(frozen=True)
class Evidence:
    """How a version set is known to work, and who says so. Resolving is not evidence."""

    grade: str
    platform: str
    device: str
    what: str
    source: str


@dataclasses.dataclass(frozen=True)
class Platform:
    """What a stack is made of on one platform.

    ``devices`` names what it can drive there; ``stand_in_for`` the GPU build whose Keras generation it brings
    to the CPU; ``minimum_os`` the oldest macOS on which everything in the lock loads.
    """

    requirements: list[str]
    devices: list[str]
    stand_in_for: str | None = None
    minimum_os: str | None = None
    note: str | None = None


@dataclasses.dataclass(frozen=True)
class Stack:
    """One row: a Python, libraries as of a date (UTC, that day included), and where they serve.

    ``size_mb`` is the space of a built environment; ``source_builds`` allows packages that were published as
    source only; ``omit`` names packages that are asked for by others and must stay out.
    """

    name: str
    folder: Path
    about: str
    framework: str
    keras: str
    python: str
    exclude_newer: str
    trains: bool
    size_mb: int
    env: dict[str, str]
    platforms: dict[str, Platform]
    evidence: list[Evidence]
    source_builds: bool = False
    omit: list[str] = dataclasses.field(default_factory=list)


def names(root: Path | None = None) -> list[str]:
    """The names of all stacks, sorted. ``root`` is the folder that holds theirs."""
    return sorted(row.parent.name for row in (root or paths.STACKS).glob("*/stack.yaml"))


def load_all(root: Path | None = None) -> list[Stack]:
    """Every stack, sorted by name.

    Raises:
        ZooError: a row is malformed.
    """
    return [load(name, root) for name in names(root)]


def load(name: str, root: Path | None = None) -> Stack:
    """Read and check one stack.

    Raises:
        ZooError: there is no such stack (the valid names are listed), or its row is malformed (all problems
            are listed at once).
    """
    valid = names(root)
    if name not in valid:
        raise unknown("stack", name, valid)
    folder = (root or paths.STACKS) / name
    row = _read(folder / "stack.yaml")
    problems = _problems(row)
    if problems:
        listed = "\n".join(f"  - {problem}" for problem in problems)
        raise ZooError(
            f"{folder / 'stack.yaml'} is malformed:\n{listed}", "Correct the file; every problem is listed."
        )
    platforms = {key: Platform(**value) for key, value in row.pop("platforms").items()}
    evidence = [Evidence(**value) for value in row.pop("evidence")]
    return Stack(name=name, folder=folder, platforms=platforms, evidence=evidence, **row)


def lock_file(stack: Stack, platform: str) -> Path:
    """The hashed lock of a stack on a platform such as ``"macos-arm64"``.

    Raises:
        ZooError: the stack does not exist there, or its lock is missing.
    """
    if platform not in stack.platforms:
        raise ZooError(
            f"Stack {stack.name} is not made for {platform}, but for {', '.join(sorted(stack.platforms))}",
            "Choose another stack for this machine; `python -m zoo list stacks` shows which serve where.",
        )
    lock = stack.folder / f"{platform}.lock"
    if not lock.is_file():
        raise ZooError(
            f"The lock file {lock} is missing",
            f"Rebuild it with: python scripts/lock.py {stack.name} --platform {platform}",
        )
    return lock


def pins(lock: Path) -> dict[str, str]:
    """The versions a lock names: normalised package name -> version."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return {normal(name): version for name, version in found}


def normal(name: str) -> str:
    """A package's name as registries compare it: lower case, ``-`` for every run of ``-_.``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _read(path: Path) -> dict[str, Any]:
    try:
        row = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ZooError(f"{path} is not readable as YAML: {error}", "Correct the file.") from error
    if not isinstance(row, dict):
        raise ZooError(f"{path} must hold keys and values, not {type(row).__name__}", "Correct the file.")
    return row


def _problems(row: dict[str, Any]) -> list[str]:
    problems = _shape(row, Stack, "", given=("name", "folder"))
    for key, value in _items(row.get("platforms")):
        problems += _shape(value, Platform, f"platforms.{key}.")
    evidence = row.get("evidence")
    for number, value in enumerate(evidence if isinstance(evidence, list) else []):
        problems += _shape(value, Evidence, f"evidence.{number}.")
    return problems or _meaning(row)


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _shape(row: Any, kind: type, where: str, given: tuple[str, ...] = ()) -> list[str]:
    """Missing keys, unknown keys and wrong types of one mapping, by the dataclass it will become."""
    if not isinstance(row, dict):
        return [f"{where.rstrip('.')}: expected keys and values, received {row!r}"]
    hints = {key: hint for key, hint in typing.get_type_hints(kind).items() if key not in given}
    optional = {
        field.name
        for field in dataclasses.fields(kind)
        if field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
    }
    problems = [f"{where}{key}: missing" for key in hints if key not in row and key not in optional]
    for key, value in row.items():
        if key not in hints:
            problems.append(f"{where}{key}: unknown key{nearest(str(key), list(hints))}")
        elif not _fits(value, hints[key]):
            problems.append(f"{where}{key}: expected {_words(hints[key])}, received {value!r}")
    return problems


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return any(_fits(value, part) for part in parts)
    if dataclasses.is_dataclass(hint):
        return True  # checked on its own, key by key
    if origin is list:
        return isinstance(value, list) and all(_fits(item, parts[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(key, parts[0]) and _fits(item, parts[1]) for key, item in value.items()
        )
    return type(value) is hint


def _words(hint: Any) -> str:
    simple = {str: "text (in quotes)", bool: "true or false", int: "a whole number"}
    if hint in simple:
        return simple[hint]
    origin = typing.get_origin(hint)
    if origin is types.UnionType:
        return "text (in quotes)"
    return "a list" if origin is list else "keys and values, both text (in quotes)"


def _meaning(row: dict[str, Any]) -> list[str]:
    """What is wrong with a row whose keys and types are right."""
    problems = _one_of(row["framework"], FRAMEWORKS, "framework") + _one_of(row["keras"], KERASES, "keras")
    if not re.fullmatch(r"3\.\d{1,2}", row["python"]):
        problems.append(f'python: expected a version like "3.8", received {row["python"]!r}')
    if row["size_mb"] <= 0:
        problems.append(f"size_mb: must be positive, received {row['size_mb']}")
    try:
        datetime.date.fromisoformat(row["exclude_newer"])
    except ValueError:
        problems.append(f'exclude_newer: expected a date like "2021-07-01", received {row["exclude_newer"]!r}')
    if not row["platforms"]:
        problems.append("platforms: at least one is needed")
    for key, value in row["platforms"].items():
        problems += _platform_meaning(key, value)
    for number, value in enumerate(row["evidence"]):
        problems += _one_of(value["grade"], GRADES, f"evidence.{number}.grade")
        problems += _one_of(value["platform"], tuple(row["platforms"]), f"evidence.{number}.platform")
    return problems


def _platform_meaning(name: str, value: dict[str, Any]) -> list[str]:
    where = f"platforms.{name}"
    problems = _one_of(name, PLATFORMS, where)
    problems += [f"{where}.{key}: must not be empty" for key in ("requirements", "devices") if not value[key]]
    minimum = value.get("minimum_os")
    if name.startswith("macos") and not re.fullmatch(r"\d+\.\d+", minimum or ""):
        problems.append(f'{where}.minimum_os: expected a macOS version like "12.0", received {minimum!r}')
    return problems


def _one_of(value: str, valid: tuple[str, ...], where: str) -> list[str]:
    if value in valid:
        return []
    return [f"{where}: {value!r} is not one of {', '.join(valid)}{nearest(value, list(valid))}"]

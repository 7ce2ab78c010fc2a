"""Read the stacks: pinned sets of libraries, one folder each under ``recipes/stacks``.

A folder contains ``stack.yaml`` and a hashed lock file per platform. The folders are the registry.
"""

import dataclasses
import datetime
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from zoo.core import paths, schema
from zoo.core.errors import NoLockError, ZooError, nearest, require_known
from zoo.core.files import file_sha256
from zoo.environments.platforms import version_numbers
from zoo.protocol.request import StackPart

PLATFORMS = ("linux-x86_64", "linux-arm64", "macos-arm64", "macos-x86_64")
FRAMEWORKS = tuple(paths.worker_modules("devices"))
KERASES = ("keras", "tf.keras", "none")
GRADES = ("measured", "stand-in", "reported")
# Results of `scripts/link_check.py` for a lock; they are stale after a change of the lock.
LINKED, LINKED_STALE, LINKED_FILE = "linked", "linked (stale)", "linked.json"


@dataclasses.dataclass(frozen=True)
class Evidence:
    """Evidence that a set of versions works, with its source. A successful resolution is not evidence."""

    grade: str
    platform: str
    device: str
    what: str
    source: str


@dataclasses.dataclass(frozen=True)
class LinkedLock:
    """A row of ``linked.json``: the result of checking a lock's files, and the hash of the lock."""

    lock_sha256: str
    device: str
    what: str
    source: str


@dataclasses.dataclass(frozen=True)
class Platform:
    """The content of a stack on one platform.

    Attributes:
        devices: devices that it supports.
        stand_in_for: the GPU build that this CPU build replaces, with the same generation of Keras.
        minimum_os: oldest macOS on which all libraries of the lock load.
        minimum_glibc: oldest supported C library of Linux.
        minimum_driver, minimum_compute: NVIDIA driver and compute capability that its CUDA and cuDNN require.
        maximum_compute: newest compute capability with kernels.
        cpu_features: CPU instructions that the import requires.
    """

    requirements: list[str]
    devices: list[str]
    stand_in_for: str | None = None
    minimum_os: str | None = None
    note: str | None = None
    minimum_glibc: str | None = None
    minimum_driver: str | None = None
    minimum_compute: str | None = None
    maximum_compute: str | None = None
    cpu_features: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Stack:
    """A stack: a Python version, libraries as of ``exclude_newer`` (UTC, inclusive), and their platforms.

    ``size_mb`` is the size of a built environment; ``source_builds`` allows packages without wheels; ``omit`` lists
    dependencies that must not be installed.
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

    @property
    def requested(self) -> StackPart:
        return StackPart(framework=self.framework, keras=self.keras)


def names(root: Path | None = None) -> list[str]:
    return sorted(row.parent.name for row in (root or paths.STACKS).glob("*/stack.yaml"))


def load_all(root: Path | None = None) -> list[Stack]:
    return [load(name, root) for name in names(root)]


def by_name() -> dict[str, Stack]:
    return {row.name: row for row in load_all()}


def load(name: str, root: Path | None = None) -> Stack:
    require_known("stack", [name], names(root))
    folder = (root or paths.STACKS) / name
    path = folder / "stack.yaml"
    row = schema.read_yaml(path)
    schema.refuse("stack", path, schema.violations(row, Stack, given=("name", "folder")) or _meaning(row))
    platforms = {key: Platform(**value) for key, value in row.pop("platforms").items()}
    evidence = [*(Evidence(**value) for value in row.pop("evidence")), *_linked(folder, tuple(platforms))]
    return Stack(name=name, folder=folder, platforms=platforms, evidence=evidence, **row)


def _linked(folder: Path, platforms: tuple[str, ...]) -> Iterator[Evidence]:
    path = folder / LINKED_FILE
    if not path.is_file():
        return
    rows = schema.read_yaml(path)
    problems = [] if isinstance(rows, dict) else [f"expected keys and values, got {rows!r}"]
    for platform, row in rows.items() if not problems else ():
        problems += _one_of(platform, platforms, "platform")
        problems += schema.violations(row, LinkedLock, f"{platform}.")
    schema.refuse("file", path, problems)
    for platform, value in sorted(rows.items()):
        row = LinkedLock(**value)
        lock = folder / f"{platform}.lock"
        same = lock.is_file() and file_sha256(lock) == row.lock_sha256
        yield Evidence(LINKED if same else LINKED_STALE, platform, row.device, row.what, row.source)


def lock_file(stack: Stack, platform: str) -> Path:
    """Return the hashed lock of a stack on a platform such as ``"macos-arm64"``."""
    if platform not in stack.platforms:
        raise NoLockError(
            f"Stack {stack.name} does not support {platform}, only {', '.join(sorted(stack.platforms))}",
            "Choose another stack for this machine; `python -m zoo list stacks` shows the platforms of each.",
        )
    lock = stack.folder / f"{platform}.lock"
    if not lock.is_file():
        raise ZooError(  # every platform has one, so the checkout is damaged
            f"The lock file {lock} is missing",
            f"Rebuild it with: python scripts/lock.py {stack.name} --platform {platform}",
        )
    return lock


def pins(lock: Path) -> dict[str, str]:
    """Return the pinned versions in a lock by normalized package name."""
    lines = re.findall(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


def _meaning(row: dict[str, Any]) -> list[str]:
    problems = _one_of(row["framework"], FRAMEWORKS, "framework") + _one_of(row["keras"], KERASES, "keras")
    if not re.fullmatch(r"3\.\d{1,2}", row["python"]):
        problems.append(f'python: expected a version like "3.8", received {row["python"]!r}')
    if row["keras"] == "none" and row["trains"]:
        problems.append("trains: training requires Keras")
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
    problems += [f"{where}.requirements: {text}" for text in _bad_pairs(value["requirements"])]
    minimum = value.get("minimum_os")
    if name.startswith("macos") and not re.fullmatch(r"\d+\.\d+", minimum or ""):
        problems.append(f'{where}.minimum_os: expected a macOS version like "12.0", received {minimum!r}')
    return problems


# tensorflow-metal requires no specific TensorFlow, so the installer accepts pairs that cannot work. Its last version
# uses symbols that TensorFlow 2.20 removed (tensorflow/tensorflow#126360). Keras 3.7 and newer add biases in a way
# that the plug-in silently fuses wrongly with ReLU (keras-team/keras#21668).
METAL_BEFORE = {"tensorflow": (2, 20), "tensorflow-macos": (2, 20), "keras": (3, 7)}


def _bad_pairs(requirements: list[str]) -> list[str]:
    """List packages that conflict with tensorflow-metal, and packages that must be pinned with it."""
    pinned = dict(text.split("==", 1) for text in requirements if "==" in text)
    names = {re.split(r"[=<>!~\[; ]", text)[0] for text in requirements}
    if "tensorflow-metal" not in names:
        return []
    unpinned = sorted(names & METAL_BEFORE.keys() - pinned.keys())
    problems = [f"{name} must be pinned together with tensorflow-metal" for name in unpinned]
    for name, first_bad in METAL_BEFORE.items():
        if version_numbers(pinned.get(name, "0"))[:2] >= first_bad:
            limit = f"it must be older than {'.'.join(map(str, first_bad))}"
            problems.append(f"{name} {pinned[name]} does not work with tensorflow-metal; {limit}")
    return problems


def _one_of(value: str, valid: tuple[str, ...], where: str) -> list[str]:
    if value in valid:
        return []
    return [f"{where}: {value!r} is not one of {', '.join(valid)}{nearest(value, list(valid))}"]

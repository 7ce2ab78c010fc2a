"""Read the stacks: pinned sets of libraries, one folder each under ``recipes/stacks``.

A folder contains ``stack.yaml`` and a hashed lock file per platform. The folders are the registry.
"""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from zoo.core import paths, schema
from zoo.core.errors import NoLockError, ZooError, require_known
from zoo.core.files import file_sha256
from zoo.protocol.request import StackPart

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
        size_mb: size of the environment, or 0 if it is the stack's.
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
    size_mb: int = 0


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
    schema.refuse("stack", path, schema.violations(row, Stack, given=("name", "folder")))
    platforms = {key: Platform(**value) for key, value in row.pop("platforms").items()}
    evidence = [*(Evidence(**value) for value in row.pop("evidence")), *_linked(folder)]
    return Stack(name=name, folder=folder, platforms=platforms, evidence=evidence, **row)


def _linked(folder: Path) -> Iterator[Evidence]:
    path = folder / LINKED_FILE
    if not path.is_file():
        return
    rows = schema.read_yaml(path)
    schema.refuse("file", path, schema.misfits(rows, dict[str, LinkedLock], "the file"))
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

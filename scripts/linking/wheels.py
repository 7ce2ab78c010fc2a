"""Unpack the wheels of a lock for another platform, each checked against the hashes of the lock."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from scripts.linking import macho
from zoo.core import download
from zoo.core.errors import ZooError
from zoo.environments import uv_client

TRIPLES = {"macos-arm64": "aarch64-apple-darwin", "macos-x86_64": "x86_64-apple-darwin"}
# The slices of each file, or what is wrong with it.
Images = dict[Path, dict[str, macho.Image] | str]
_MEMORY: dict[tuple[int, ...], dict[str, macho.Image] | str] = {}


@dataclass(frozen=True)
class Source:
    """A package of a lock that was published as source only."""

    name: str
    version: str
    file: Path


def unpack(
    lock: Path, triple: str, python: str, variables: Mapping[str, str], folder: Path, sources: Path
) -> list[Source]:
    """Unpack the wheels that a user would get into a folder; what is there already is used.

    Args:
        lock: requirements with hashes.
        triple: uv's name of the platform.
        python: such as ``"3.12"``.
        variables: for uv, such as the version of macOS.
        folder: one environment.
        sources: where archives of sources are kept.

    Returns:
        The packages without a wheel, which were downloaded and not built.
    """
    place = ["--python-platform", triple, "--python-version", python]
    with_files = folder.with_name(f"pylock.{folder.name.replace('.', '-')}.toml")  # uv insists on the form
    rows, text = locked_packages(lock, place, with_files, variables), lock.read_text(encoding="utf-8")
    missing = [_source(row, text, sources) for row in rows if not row.get("wheels")]
    wanted = folder.with_name(f"{folder.name}.txt")
    wanted.write_text(without(text, {each.name for each in missing}), encoding="utf-8")
    safely = ["--only-binary", ":all:", "--require-hashes"]
    _uv(["pip", "sync", "-q", "--target", str(folder), *safely, *place, str(wanted)], variables)
    return missing


def locked_packages(
    lock: Path, place: list[str], table: Path, variables: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the packages of a lock with the addresses and hashes of their files, most suitable wheels first.

    Args:
        place: uv's options for platform and Python.
        table: the ``pylock.NAME.toml`` to write.
        variables: for uv.
    """
    table.parent.mkdir(parents=True, exist_ok=True)
    arguments = ["pip", "compile", "-q", "--format", "pylock.toml", "--no-deps", "-o", str(table), *place, str(lock)]
    _uv(arguments, variables or {})
    rows: list[dict[str, Any]] = tomllib.loads(table.read_text(encoding="utf-8"))["packages"]
    return rows


def _uv(arguments: list[str], variables: Mapping[str, str]) -> None:
    outcome = uv_client.run(arguments, extra=variables)
    if outcome.code:
        why, remedy = uv_client.reason(outcome)
        raise ZooError(f"{why}\n{outcome.tail()}", remedy)


def _source(row: Mapping[str, object], lock: str, folder: Path) -> Source:
    """Download the archive of sources of one package."""
    archive = row.get("sdist")
    if not isinstance(archive, dict):
        raise ZooError(f"{row['name']} {row['version']} has neither a wheel for this platform nor sources", "")
    sha256 = archive["hashes"]["sha256"]
    if sha256 not in lock:
        raise ZooError(f"The sources of {row['name']} are not those of the lock: sha256 {sha256}", "")
    name = str(archive["url"]).rpartition("/")[2]
    file = download.fetch(name, [archive["url"]], sha256, folder, archive.get("size"))
    return Source(str(row["name"]), str(row["version"]), file)


def without(lock: str, names: set[str]) -> str:
    """Return the text of a lock without some packages."""
    return "\n".join(entry for entry in _entries(lock) if canonicalize_name(entry.partition("==")[0]) not in names)


def only(lock: str, name: str) -> str:
    """Return the part of a lock about one package."""
    return "\n".join(entry for entry in _entries(lock) if canonicalize_name(entry.partition("==")[0]) == name) + "\n"


def _entries(lock: str) -> list[str]:
    return re.split(r"\n(?=\S)", lock)


def images(folder: Path) -> Images:
    """Return the Mach-O files of a folder; a file that was hard-linked into another folder is read once."""
    whole: Images = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or not macho.is_macho(path):
            continue
        status = path.stat()
        key = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        if key not in _MEMORY:
            try:
                _MEMORY[key] = macho.read(path)
            except macho.MalformedError as error:
                _MEMORY[key] = str(error)
        whole[path] = _MEMORY[key]
    return whole

"""Check an environment folder: its marker, its contents, and missing files.

A folder without a marker is unfinished and can be removed. The marker lists the contents of the finished folder, so
that missing files are detected within milliseconds, before a worker fails.
"""

import base64
import csv
import dataclasses
import datetime
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.core.files import file_sha256

MARKER = "zoo-environment.json"
# Suffixes of the files that Python imports from the libraries folder.
MODULES = (".pth", ".py", ".so")
IMPORTED = (*MODULES, ".dist-info", ".egg-info", ".egg-link")

# Runs on every Python from 3.6; reads the metadata folders of installed packages.
INVENTORY = """
import glob, json, os, platform, sys
versions = {}
for folder in reversed(sys.path):
    for kind, name in (("*.dist-info", "METADATA"), ("*.egg-info", "PKG-INFO"), ("*.egg-info", "")):
        for path in glob.glob(os.path.join(glob.escape(folder), kind)):
            path = os.path.join(path, name) if name else path
            if os.path.isfile(path):
                head = open(path, encoding="utf-8", errors="replace").read().split("\\n\\n")[0]
                fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
                if "Name" in fields and "Version" in fields:
                    versions[fields["Name"]] = fields["Version"].strip()
print(json.dumps({"python": platform.python_version(), "system": sys.platform, "machine": platform.machine(),
                  "versions": versions}))
"""


def python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def site_of(folder: Path) -> Path:
    folders = sorted(folder.glob("lib/python3.*/site-packages"))
    return folders[0] if folders else folder / "lib"


@dataclasses.dataclass(frozen=True)
class Inventory:
    """An interpreter's version, ``sys.platform``, processor, and package versions by name."""

    python: str
    system: str
    machine: str
    versions: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Marker:
    """Facts about a finished environment, stored in it.

    Attributes:
        lock_sha256: checksum of the lock that it was built from.
        python: ``version`` and ``path`` of the base interpreter.
        versions: installed version of each package.
        contents: see :func:`contents`.
        created: time in UTC.
    """

    lock_sha256: str
    python: dict[str, str]
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    contents: dict[str, list[int]] = dataclasses.field(default_factory=dict)
    stack: str = ""
    platform: str = ""
    uv: str = ""
    created: str = ""
    build_s: float = 0.0


def read_marker(folder: Path) -> Marker | None:
    """Read the marker of an environment; None if it is unfinished, or the marker is unreadable."""
    try:
        content = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError, UnicodeDecodeError):
        return None
    if not isinstance(content, dict) or not content.keys() >= {"lock_sha256", "python", "versions", "contents"}:
        return None
    names = [field.name for field in dataclasses.fields(Marker)]
    return Marker(**{name: content[name] for name in names if name in content})


def defect(folder: Path) -> str | None:
    """Return why an environment is not usable, or None."""
    if not folder.is_dir():
        return "it does not exist"
    marker = read_marker(folder)
    if marker is None:
        return "its build was never finished"
    if not os.access(python_of(folder), os.X_OK):
        return f"its Python ({python_of(folder)}) is missing"
    return _loss(marker.contents, contents(folder))


def damage(folder: Path) -> str | None:
    """Return why an environment is not usable, or None; unlike :func:`defect`, check every file (up to 0.5 s)."""
    reason = defect(folder)
    lost = [] if reason else [name for _, name in lost_files(folder)]
    count = "a file of its packages is" if len(lost) == 1 else f"{len(lost):,} files of its packages are"
    return f"{count} missing or truncated: {lost[0]}" if lost else reason


def lost_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (package, file) of missing or truncated files, except byte code, which may change."""
    site = site_of(folder)
    for package, name, _, size in _recorded(site):
        if size.isdecimal() and "__pycache__" not in name:
            status = _status(site / name)
            if status is None or status.st_size < int(size):
                yield package, name


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def contents(folder: Path) -> dict[str, list[int]]:
    """Return the number of files and bytes in each entry of the folder and of its libraries, one level deep."""
    libraries = {f"site-packages/{entry.name}": _weigh(entry) for entry in _entries(site_of(folder))}
    return {**libraries, **{entry.name: _weigh(entry) for entry in _entries(folder)}}


def _entries(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            # Byte code may change.
            return [entry for entry in entries if entry.name != "__pycache__"]
    except FileNotFoundError:
        return []


def _weigh(entry: os.DirEntry[str]) -> list[int]:
    inside = _entries(entry) if entry.is_dir() else [entry]
    return [len(inside), sum(item.stat().st_size for item in inside if item.is_file())]


def _loss(recorded: dict[str, list[int]], present: dict[str, list[int]]) -> str | None:
    """Describe a removed or added file, or return None. Growth is allowed: some packages write into their folders."""
    for name, (count, size) in recorded.items():
        if name not in present:
            return f"{name} is missing"
        if present[name][0] < count or present[name][1] < size:
            return f"files are missing from its {name}"
    added = sorted(name for name in present.keys() - recorded.keys() if name.endswith(IMPORTED))
    return f"a package was added after the build ({added[0]})" if added else None


def changed(folder: Path, every: bool) -> list[str]:
    """Return the files of a finished environment that differ from its wheels, or are in no wheel.

    ``every`` hashes every file; without it, only files with another size or a later time than the build.
    """
    site, marker = site_of(folder), read_marker(folder)
    known = {name.partition("/")[2] for name in (marker.contents if marker else {})}
    built = 0.0 if every or not marker else datetime.datetime.fromisoformat(marker.created).timestamp()
    result = []
    for _, name, checksum, size in _recorded(site):
        known.add(name)
        if "__pycache__" in name:  # Python may write byte code again
            continue
        status = _status(site / name)
        is_suspect = status is None or status.st_mtime >= built or str(status.st_size) != size
        if checksum and is_suspect:
            actual = bytes.fromhex(file_sha256(site / name)) if status else b""
            if base64.urlsafe_b64encode(actual).decode().rstrip("=") != checksum:
                result.append(name)
    files = (os.path.join(place, name) for place, _, names in os.walk(site) for name in names)
    names = (os.path.relpath(file, site) for file in files if file.endswith(MODULES))
    return result + [name for name in names if name not in known]


def _recorded(site: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield package, relative path, sha256 (Base64, may be empty) and size of each file that a wheel lists."""
    for record in sorted(site.glob("*.dist-info/RECORD")):
        package = record.parent.name.partition("-")[0]
        with record.open(newline="", encoding="utf-8", errors="surrogateescape") as rows:
            for name, checksum, size in (row[:3] for row in csv.reader(rows) if len(row) > 2):
                yield package, name, checksum.removeprefix("sha256="), size


def inventory(python: Path) -> Inventory:
    """Return an interpreter's properties and installed packages."""
    command = [str(python), "-I", "-c", INVENTORY]  # -I also ignores PYTHON* variables
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return Inventory(**json.loads(process.stdout))
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError, TypeError) as error:
        # Another program may repeat the code in its error.
        words = (getattr(error, "stderr", None) or str(error)).replace(INVENTORY, "...").strip().splitlines()
        complaint = words[-1][:200] if words else "no output"
        raise ZooError(f"{python} does not work as a Python: {complaint}", "Name another interpreter.") from error

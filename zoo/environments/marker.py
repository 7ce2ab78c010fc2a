"""What is inside an environment folder: its marker, its contents, and whether anything is amiss.

A folder without a marker is garbage. The marker also tells what the folder held when it was finished, so that a
loss of files is noticed, in milliseconds, before a worker stumbles over it.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from zoo.core.errors import ZooError

MARKER = "zoo-environment.json"

# Runs on every Python from 3.6: what is installed, read from the metadata folders themselves.
INVENTORY = """
import glob, json, os, platform, sys
found = {}
for folder in reversed(sys.path):
    for kind, name in (("*.dist-info", "METADATA"), ("*.egg-info", "PKG-INFO"), ("*.egg-info", "")):
        for path in glob.glob(os.path.join(glob.escape(folder), kind)):
            path = os.path.join(path, name) if name else path
            if os.path.isfile(path):
                head = open(path, encoding="utf-8", errors="replace").read().split("\\n\\n")[0]
                fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
                if "Name" in fields and "Version" in fields:
                    found[fields["Name"]] = fields["Version"].strip()
print(json.dumps({"python": platform.python_version(), "system": sys.platform, "machine": platform.machine(),
                  "versions": found}))
"""


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"


def site_of(folder: Path) -> Path:
    """The folder that holds an environment's libraries."""
    folders = sorted(folder.glob("lib/python3.*/site-packages"))
    return folders[0] if folders else folder / "lib"


def read_marker(folder: Path) -> dict[str, Any] | None:
    """What was written down when the environment was finished; None where it never was, or is unreadable."""
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError, UnicodeDecodeError):
        return None
    return (
        marker
        if isinstance(marker, dict) and {"lock_sha256", "python", "versions", "contents"} <= marker.keys()
        else None
    )


def write_marker(folder: Path, facts: dict[str, Any]) -> None:
    """Declare an environment finished. Adds its installed versions and its contents to ``facts``."""
    marker = {**facts, "versions": inventory(python_of(folder))["versions"], "contents": contents(folder)}
    fresh = folder / f"{MARKER}.new"
    fresh.write_text(json.dumps(marker, indent=1), encoding="utf-8")
    os.replace(fresh, folder / MARKER)


def defect(folder: Path) -> str | None:
    """None where an environment can be used, else the reason why not."""
    if not folder.is_dir():
        return "it does not exist"
    marker = read_marker(folder)
    if marker is None:
        return "its building was never finished"
    if not os.access(python_of(folder), os.X_OK):
        return f"its Python ({python_of(folder)}) is gone"
    return _loss(marker["contents"], contents(folder))


def contents(folder: Path) -> dict[str, list[int]]:
    """Entries of the folder and of its libraries -> how many entries each holds one level down, their bytes."""
    libraries = {f"site-packages/{entry.name}": _weigh(entry) for entry in _entries(site_of(folder))}
    return {**libraries, **{entry.name: _weigh(entry) for entry in _entries(folder)}}


def _entries(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            # Byte code may come and go.
            return [entry for entry in entries if entry.name != "__pycache__"]
    except FileNotFoundError:
        return []


def _weigh(entry: os.DirEntry[str]) -> list[int]:
    inside = _entries(entry) if entry.is_dir() else [entry]
    return [len(inside), sum(item.stat().st_size for item in inside if item.is_file())]


def _loss(recorded: dict[str, list[int]], present: dict[str, list[int]]) -> str | None:
    """What is gone, or was put in later. Mere growth is neither: some packages write beside themselves."""
    for name, (count, size) in recorded.items():
        if name not in present:
            return f"{name} is gone from it"
        if present[name][0] < count or present[name][1] < size:
            return f"files are gone from its {name}"
    added = sorted(name for name in present.keys() - recorded.keys() if name.endswith(".dist-info"))
    return f"something was installed into it later ({added[0]})" if added else None


def inventory(python: Path) -> dict[str, Any]:
    """Ask an interpreter for ``python`` (version), ``system``, ``machine``, ``versions`` (package -> version).

    Raises:
        ZooError: it does not run.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(python), "-I", "-c", INVENTORY]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=True)
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
        # Another program may repeat the whole question in its complaint.
        words = (getattr(error, "stderr", None) or str(error)).replace(INVENTORY, "...").strip().splitlines()
        complaint = words[-1][:200] if words else "it says nothing"
        raise ZooError(f"{python} does not work as a Python: {complaint}", "Name another interpreter.") from error
    return answer

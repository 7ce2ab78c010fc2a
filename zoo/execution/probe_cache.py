"""Cache the results of CPU probes, because the same libraries on the same machine give the same results.

A GPU is probed in each run, because a change of its driver is not visible in the environment. Every run proves its
device, and ``doctor`` always probes.
"""

import dataclasses
import hashlib
import json
from pathlib import Path

from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.core.files import write_json
from zoo.environments import machine as machines
from zoo.environments import variables
from zoo.environments.machine import Machine
from zoo.environments.store import Environment
from zoo.protocol.events import StartEvent
from zoo.protocol.part import Json
from zoo.protocol.request import DevicePart
from zoo.runs import records

# Packages of the zoo whose code affects the results.
SOURCES = ("worker/probes", "worker/devices", "models/compat")


@dataclasses.dataclass(frozen=True)
class Probed:
    """Rows of :func:`zoo.worker.probes.run.run`, their UTC date, and the variables that selected the device."""

    rows: list[Json]
    date: str
    variables: dict[str, str]

    @classmethod
    def of(cls, start: StartEvent) -> "Probed":
        return cls(start.probes or [], records.today(), start.variables or {})


def known(environment: Environment, machine: Machine, device: DevicePart) -> Probed | None:
    """Return cached probe results for this device in one of the zoo's own environments, or None."""
    stored = content(_file(environment, machine, device), ("rows", "date", "variables"))
    return Probed(**stored) if stored else None


def content(path: Path | None, needed: tuple[str, ...]) -> Json | None:
    """Return the values of the ``needed`` keys in a cached file, or None if it is missing or damaged."""
    if path is None or not path.is_file():
        return None
    try:
        stored = json.loads(path.read_bytes())
        return {name: stored[name] for name in needed}
    except (OSError, ValueError, KeyError, TypeError) as error:
        console.warn(f"{path} is damaged ({error}); measuring again")
        return None


def keep(environment: Environment, machine: Machine, device: DevicePart, probed: Probed) -> None:
    """Cache a worker's results if all are correct; warn if they cannot be written."""
    path = _file(environment, machine, device)
    if path and probed.rows and all(row["ok"] for row in probed.rows):
        write(path, dataclasses.asdict(probed))


def write(path: Path, stored: Json) -> None:
    """Cache results; warn if they cannot be written."""
    try:
        write_json(path, stored, parents=True)
    except ZooError as error:
        console.warn(f"The results could not be cached: {error.message}")


def _file(environment: Environment, machine: Machine, device: DevicePart) -> Path | None:
    """Return the path for the probe results of a CPU, or None for other devices."""
    if device.device_kind != "cpu":
        return None
    return place("probes", environment, machine, device, {name: sources_sha256(name) for name in SOURCES})


def place(group: str, environment: Environment, machine: Machine, device: DevicePart, more: object) -> Path:
    """Return the path in a cache group for JSON results that depend on all of the remaining arguments."""
    system = [machines.describe(machine), machine.os_build]
    built = (environment.lock_sha256, environment.python_version)
    parts = [*built, *system, device.to_json(), more, variables.computing()]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return paths.cache_dir() / group / f"{environment.folder.name}-{key[:16]}.json"


def sources_sha256(name: str) -> str:
    """Hash the names and contents of all modules in one of the zoo's packages."""
    folder, summed = paths.PACKAGE / name, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        summed.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return summed.hexdigest()

"""Cache the results of probes on a CPU: the same libraries on the same machine compute the same.

A GPU is probed in each run, because its driver can change without a trace in the environment. The device of each run
is always proven, and ``doctor`` always probes.
"""

import dataclasses
import datetime
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

# Packages whose code, next to the libraries, determines the results.
SOURCES = ("worker/probes", "worker/devices", "models/compat")


@dataclasses.dataclass(frozen=True)
class Probed:
    """Rows of :func:`zoo.worker.probes.run.run`, their UTC date, and the variables that chose the device."""

    rows: list[Json]
    date: str
    variables: dict[str, str]

    @classmethod
    def of(cls, start: StartEvent) -> "Probed":
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        return cls(start.probes or [], date, start.variables or {})


def known(environment: Environment, machine: Machine, device: DevicePart) -> Probed | None:
    """Return cached probe results for this device in one of the zoo's own environments, or None."""
    path = _file(environment, machine, device)
    if path is None or not path.is_file():
        return None
    try:
        content = json.loads(path.read_bytes())
        return Probed(content["rows"], content["date"], content["variables"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        console.warn(f"{path} is damaged ({error}); the probes run again")
        return None


def keep(environment: Environment, machine: Machine, device: DevicePart, probed: Probed) -> None:
    """Cache the rows of a worker if all are right; a failure to write is only a warning."""
    path = _file(environment, machine, device)
    if path is None or not probed.rows or not all(row["ok"] for row in probed.rows):
        return
    try:
        write_json(path, dataclasses.asdict(probed), parents=True)
    except ZooError as error:
        console.warn(f"The results of the probes could not be cached: {error.message}")


def _file(environment: Environment, machine: Machine, device: DevicePart) -> Path | None:
    """Return the path for these rows, or None if another device may be computing."""
    if device.device_kind != "cpu":
        return None
    sources = {name: _sources_sha256(paths.PACKAGE / name) for name in SOURCES}
    system = [machines.describe(machine), machine.os_build]
    parts = [
        environment.lock_sha256,
        environment.python_version,
        *system,
        device.to_json(),
        sources,
        variables.computing(),
    ]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return paths.cache_dir() / "probes" / f"{environment.folder.name}-{key[:16]}.json"


def _sources_sha256(folder: Path) -> str:
    summed = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        summed.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return summed.hexdigest()

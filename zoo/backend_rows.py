"""The rows of the backends: ``configs/backend/NAME.yaml``, read and checked. The folder is the registry."""

import dataclasses
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from zoo import paths
from zoo.errors import ZooError, nearest

SYSTEMS = {"macos": "macOS", "linux": "Linux", "windows": "Windows"}
VENDORS = {"apple": "Apple", "amd": "AMD", "nvidia": "NVIDIA", "intel": "Intel"}
KINDS = ("cpu", "gpu")


@dataclasses.dataclass(frozen=True)
class Serves:
    """One kind of machine that a backend serves.

    Attributes:
        os: ``macos``, ``linux``, ``windows`` or ``any``.
        arch: ``x86_64``, ``arm64`` or ``any``: of the machine, not of this Python.
        drives: what does the work there, ``cpu`` or ``gpu``. A promise: a run that finds otherwise stops.
        device: the name by which a stack says, for a platform, that it drives this; ``any``: it need not.
        vendors: whose GPUs serve, best first; empty: no GPU is needed.
        driver: the GPU must have a working driver (NVIDIA on Linux).
        minimum_os: oldest version, such as ``"12.3"``.
        maximum_os: newest version; ``"10.13"`` takes in 10.13.6.
        device_id: the device's id in the framework's own words, where it is sure beforehand.
        auto_rank: place in the order of ``backend=auto``, over all backends, lowest first; none:
            never by itself.
        by_hand: stacks that have no lock there and can be had otherwise: stack name -> commands.
    """

    os: str
    arch: str
    drives: str
    device: str
    vendors: list[str] = dataclasses.field(default_factory=list)
    driver: bool = False
    minimum_os: str | None = None
    maximum_os: str | None = None
    device_id: str | None = None
    auto_rank: int | None = None
    by_hand: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Backend:
    """One row.

    Attributes:
        promise: the best it can do anywhere, ``cpu`` or ``gpu``; ``serves`` says it for one machine.
        stacks: names, best first; one may belong to a later release.
        needs: in a sentence, after "it needs".
        trains: false where it can only predict.
        runnable: false keeps a name on the list, with the ``reason`` why it does not run yet.
        python: the user's own setting, empty in a row; so is ``device``.
    """

    name: str
    about: str
    promise: str
    stacks: list[str]
    serves: list[Serves]
    needs: str
    trains: bool
    runnable: bool
    reason: str
    python: str | None
    device: str | None


def names(root: Path | None = None) -> list[str]:
    """The names of all backends, sorted."""
    return sorted(path.stem for path in (root or paths.CONFIGS / "backend").glob("*.yaml"))


def load_all(root: Path | None = None) -> list[Backend]:
    """Every backend, sorted by name.

    Raises:
        ZooError: rows are malformed; every problem of every row is listed at once.
    """
    folder = root or paths.CONFIGS / "backend"
    rows = {name: _read(folder / f"{name}.yaml") for name in names(root)}
    problems = [problem for name, row in rows.items() for problem in _problems(name, row)]
    if problems:
        listed = "\n".join(f"  - {problem}" for problem in problems)
        raise ZooError(f"Backends under {folder} are malformed:\n{listed}", "Correct them; every problem is listed.")
    return [_backend(row) for row in rows.values()]


def _read(path: Path) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506  (both are safe loaders)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ZooError(f"{path} is not readable as YAML: {error}", "Correct the file.") from error


def _backend(row: dict[str, Any]) -> Backend:
    return Backend(**{**row, "serves": [Serves(**entry) for entry in row["serves"]]})


def _problems(name: str, row: Any) -> list[str]:
    problems = list(_shape(row, Backend, name))
    if problems:
        return problems
    for number, entry in enumerate(row["serves"]):
        problems += _shape(entry, Serves, f"{name}.serves.{number}")
    return problems or list(_meaning(name, _backend(row)))


def _shape(row: Any, kind: type, where: str) -> Iterator[str]:
    """Missing keys, unknown keys and wrong types of one mapping, by the dataclass it will become."""
    if not isinstance(row, dict):
        yield f"{where}: expected keys and values, got {row!r}"
        return
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        absent = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if absent and field.name not in row:
            yield f"{where}.{field.name}: missing"
    for key, value in row.items():
        if key not in hints:
            yield f"{where}.{key}: unknown key{nearest(str(key), list(hints))}"
        elif not _fits(value, hints[key]):
            yield f"{where}.{key}: expected {hints[key]}, got {value!r}"


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, parts[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(item, str) for pair in value.items() for item in pair)
    # Entries of "serves" are checked key by key on their own.
    return dataclasses.is_dataclass(hint) or type(value) is hint


def _meaning(name: str, row: Backend) -> Iterator[str]:
    """What is wrong with a row whose keys and types are right."""
    if row.name != name:
        yield f"{name}.name: must be the file's name, got {row.name!r}"
    if row.promise not in KINDS:
        yield f"{name}.promise: must be cpu or gpu, got {row.promise!r}"
    if not row.runnable and not row.reason:
        yield f"{name}.reason: a backend that is not runnable must say why"
    if row.runnable and not row.stacks:
        yield f"{name}.stacks: at least one is needed"
    for number, entry in enumerate(row.serves):
        where = f"{name}.serves.{number}"
        checks: list[tuple[str, str, tuple[str, ...]]] = [
            ("os", entry.os, (*SYSTEMS, "any")),
            ("arch", entry.arch, ("x86_64", "arm64", "any")),
            ("drives", entry.drives, KINDS),
            *(("vendors", vendor, tuple(VENDORS)) for vendor in entry.vendors),
        ]
        for key, value, valid in checks:
            if value not in valid:
                yield f"{where}.{key}: must be one of {', '.join(valid)}, got {value!r}"
        if entry.drives == "gpu" and not entry.vendors:
            yield f"{where}.vendors: an entry that drives a GPU must say whose"

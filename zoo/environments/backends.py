"""Read and check the backends, ``configs/backend/NAME.yaml``. The folder is the registry."""

import dataclasses
from pathlib import Path
from typing import Any

from zoo.core import paths, schema

VENDORS = {"apple": "Apple", "amd": "AMD", "nvidia": "NVIDIA", "intel": "Intel"}
PRECISIONS = ["float32", "float64", "mixed_bfloat16", "mixed_float16"]


@dataclasses.dataclass(frozen=True)
class Support:
    """One kind of machine that a backend supports.

    Attributes:
        os: ``macos``, ``linux``, ``windows`` or ``any``.
        arch: processor of the machine, not of this Python: ``x86_64``, ``arm64`` or ``any``.
        device_kind: ``cpu`` or ``gpu``; a run that gets another kind stops.
        device: name of the device in the stack's ``devices``; ``any`` accepts every stack.
        vendors: vendors of suitable GPUs, best first; empty if no GPU is needed.
        driver: whether the GPU must have a working driver (NVIDIA on Linux).
        minimum_os: oldest version, such as ``"12.3"``.
        maximum_os: newest version; ``"10.13"`` includes 10.13.6.
        device_id: the framework's id of the device, if known in advance.
        auto_rank: position among all backends in ``backend=auto``, lowest first; None is never selected.
        env: variables for the worker.
        caveats: known problems, by a pattern of ``GPU, SYSTEM VERSION``.
        by_hand: commands for a manual installation, by stack without a lock for the machine.
    """

    os: str
    arch: str
    device_kind: str
    device: str
    vendors: list[str] = dataclasses.field(default_factory=list)
    driver: bool = False
    minimum_os: str | None = None
    maximum_os: str | None = None
    device_id: str | None = None
    auto_rank: int | None = None
    env: dict[str, str] = dataclasses.field(default_factory=dict)
    by_hand: dict[str, str] = dataclasses.field(default_factory=dict)
    caveats: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Fact:
    """A known property of a device, and its source."""

    value: Any
    source: str


@dataclasses.dataclass(frozen=True)
class Known:
    """Facts about the devices of a backend. The values of mappings are the sources.

    Attributes:
        precisions: trusted values of ``trainer.precision``.
        untrusted: the remaining values.
        compiles: whether ``trainer.jit`` is possible.
        shares_memory: vendors whose GPUs use the memory of the host.
        operations: operations that are wrong, slow or missing.
    """

    precisions: dict[str, str]
    untrusted: dict[str, str]
    compiles: Fact
    shares_memory: Fact
    operations: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Backend:
    """One row of ``configs/backend``.

    Attributes:
        device_kind: the best device on any machine, ``cpu`` or ``gpu``; ``serves`` has the kind for each machine.
        stacks: names, best first; may include stacks of a later release.
        needs: completes "it needs".
        trains: False if it can only predict.
        runnable: False for a backend that does not run yet; ``reason`` explains why.
        python, device: set by the user; empty in a row.
    """

    name: str
    about: str
    device_kind: str
    stacks: list[str]
    serves: list[Support]
    needs: str
    known: Known
    trains: bool
    runnable: bool
    reason: str
    python: str | None
    device: str | None


def names(root: Path | None = None) -> list[str]:
    return sorted(path.stem for path in (root or paths.CONFIGS / "backend").glob("*.yaml"))


def load_all(root: Path | None = None) -> list[Backend]:
    folder = root or paths.CONFIGS / "backend"
    rows = {name: schema.read_yaml(folder / f"{name}.yaml") for name in names(root)}
    problems = [text for name, row in rows.items() for text in schema.violations(row, Backend, f"{name}.")]
    schema.refuse("folder of backends", folder, problems)
    return [_backend(row) for row in rows.values()]


def load(name: str) -> Backend:
    return next(row for row in load_all() if row.name == name)


def _backend(row: dict[str, Any]) -> Backend:
    facts = {name: Fact(**value) for name, value in row["known"].items() if name in ("compiles", "shares_memory")}
    serves = [Support(**entry) for entry in row["serves"]]
    return Backend(**{**row, "serves": serves, "known": Known(**{**row["known"], **facts})})

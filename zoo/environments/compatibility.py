"""Compare the requirements of backends and stacks with a machine: system, GPU, driver and CPU."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping

from zoo.environments.backends import VENDORS, Backend, Support
from zoo.environments.gpus import Gpu
from zoo.environments.machine import Machine
from zoo.environments.platforms import SYSTEMS, version_numbers
from zoo.environments.stacks import Platform, Stack

Way = tuple[Support, str, Gpu | None]  # an entry of a backend, the name of a stack, the GPU to use


def ways(backend: Backend, machine: Machine, names: list[str]) -> tuple[list[Way], str]:
    """Return every way to use a backend with the given stacks here, best first, or why there is none."""
    obstacles = [(0, f"it needs {backend.needs}")]
    usable: list[Way] = []
    no_gpu: list[Gpu | None] = [None]
    for entry in backend.serves:
        if entry not in serving(backend, machine):
            if entry.os == machine.os:
                locks = f"its stacks have locks for {entry.os}-{entry.arch}, none for {machine.platform}"
                obstacles.append((1, locks))
            continue
        obstacle = _version_obstacle(entry, machine)
        if obstacle:
            obstacles.append((2, obstacle))
            continue
        gpus = [gpu for gpu in machine.gpus if gpu.vendor in entry.vendors]
        working = [gpu for gpu in gpus if gpu.driver or not entry.driver]
        working.sort(key=lambda gpu: (not gpu.external, entry.vendors.index(gpu.vendor), -(gpu.memory_bytes or 0)))
        if working or not entry.vendors:
            usable += itertools.product([entry], names, working or no_gpu)
        else:
            obstacles.append((3, _gpu_obstacle(entry, machine, gpus)))
    # Report the most specific obstacle: "needs macOS 12" rather than "needs a Mac".
    return usable, max(obstacles, key=lambda pair: pair[0])[1]


def serving(backend: Backend, machine: Machine) -> list[Support]:
    """Return the entries of a backend for the system and processor of this machine."""
    return [row for row in backend.serves if row.os in (machine.os, "any") and row.arch in (machine.arch, "any")]


def stack_problem(
    backend: Backend, way: Way, machine: Machine, available: Mapping[str, Stack], python: str | None = None
) -> str | None:
    """Return why a stack cannot be used in this way on a machine, or None. A user's ``python`` needs no lock."""
    support, name, gpu = way
    if name not in available:
        return "not in this release"
    if support.device != "any" and name not in backend.stacks:
        return f"backend {backend.name} does not use it"
    if python:
        return None
    stack, where = available[name], machine.platform
    platform = stack.platforms.get(where)
    if platform is None or not (stack.folder / f"{where}.lock").is_file():
        return f"no lock for {where}" + ("; it can be installed by hand" if name in support.by_hand else "")
    if support.device not in ("any", *platform.devices):
        more = f" ({platform.note})" if platform.note else ""
        return f"its lock for {where} supports {' and '.join(platform.devices)}, not {support.device}{more}"
    return next(_lacking(platform, machine, gpu), None)


def updates(backend: Backend, machine: Machine, available: Mapping[str, Stack]) -> Iterator[tuple[str, str, Machine]]:
    """Yield kind, version and updated machine for each newer macOS and NVIDIA driver that a backend requires."""
    rows = [available[name].platforms.get(machine.platform) for name in backend.stacks if name in available]
    locked = [row for row in rows if row]
    if machine.os == "macos":
        asked = [entry.minimum_os for entry in serving(backend, machine)] + [row.minimum_os for row in locked]
        for version in _newer(machine.os_version, asked):
            yield "macOS", version, dataclasses.replace(machine, os_version=version)
    drivers = [gpu.driver for gpu in machine.gpus if gpu.driver]
    for version in _newer(min(drivers, default="9999"), [row.minimum_driver for row in locked]):
        gpus = [dataclasses.replace(gpu, driver=gpu.driver and version) for gpu in machine.gpus]
        yield "NVIDIA's driver", version, dataclasses.replace(machine, gpus=gpus)


def _newer(present: str, versions: list[str | None]) -> list[str]:
    newer = {version for version in versions if version and version_numbers(version) > version_numbers(present)}
    return sorted(newer, key=version_numbers)


def _lacking(platform: Platform, machine: Machine, gpu: Gpu | None) -> Iterator[str]:
    """Yield requirements of a lock that this machine does not meet. Unknown properties are assumed to match."""
    if _older(machine.os_version, platform.minimum_os):
        yield f"needs {SYSTEMS[machine.os]} {platform.minimum_os} or newer, this is {machine.os_version}"
    if _older(machine.glibc, platform.minimum_glibc):
        yield f"needs glibc {platform.minimum_glibc} or newer, this system has {machine.glibc}"
    missing = set(platform.cpu_features) - set(machine.cpu_features or platform.cpu_features)
    if missing or (platform.cpu_features and machine.cpu_features == []):
        names = " and ".join(name.upper() for name in sorted(missing or platform.cpu_features))
        yield f"needs a processor with {names}, which {machine.chip} does not have"
    if gpu and _older(gpu.driver or "", platform.minimum_driver):
        yield f"needs NVIDIA's driver {platform.minimum_driver} or newer, this is {gpu.driver}"
    if gpu and _older(gpu.compute or "", platform.minimum_compute):
        yield f"needs compute capability {platform.minimum_compute} or newer, {gpu.name} has {gpu.compute}"
    if gpu and platform.maximum_compute and _older(platform.maximum_compute, gpu.compute):
        yield f"has kernels up to compute capability {platform.maximum_compute}, {gpu.name} has {gpu.compute}"


def _older(present: str, minimum: str | None) -> bool:
    return bool(present and minimum) and version_numbers(present) < version_numbers(minimum or "")


def _version_obstacle(entry: Support, machine: Machine) -> str | None:
    have = version_numbers(machine.os_version)
    system = SYSTEMS.get(entry.os, entry.os)
    if entry.minimum_os and have < version_numbers(entry.minimum_os):
        return f"it needs {system} {entry.minimum_os} or newer, this is {machine.os_version or 'unknown'}"
    newest = version_numbers(entry.maximum_os or "")
    if newest and have[: len(newest)] > newest:
        return f"it needs {system} {entry.maximum_os} or older, this is {machine.os_version}"
    return None


def _gpu_obstacle(entry: Support, machine: Machine, matching: list[Gpu]) -> str:
    if matching:
        return f"{matching[0].name} has no working driver (`nvidia-smi` does not list it)"
    wanted = " or ".join(VENDORS[vendor] for vendor in entry.vendors)
    present = " and ".join(gpu.name for gpu in machine.gpus) or "none"
    return f"it needs a GPU made by {wanted}, this machine has {present}"

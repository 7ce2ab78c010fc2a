"""Select a backend and its stack for a machine, and explain why."""

import dataclasses
from collections.abc import Mapping

from zoo.core.errors import ZooError, unknown
from zoo.environments import machine as machines
from zoo.environments import stacks
from zoo.environments.backends import VENDORS, Backend, Support, load_all, names
from zoo.environments.gpus import Gpu
from zoo.environments.machine import Machine
from zoo.environments.platforms import SYSTEMS, version_numbers
from zoo.environments.stacks import Stack

__all__ = ["Backend", "Candidate", "Selection", "Support", "evaluate", "load_all", "names", "select", "works_here"]

COMMAND = "python -m zoo train model=mnist backend="


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A backend evaluated for a machine. With ``stack`` it can be used; ``why`` says why, or why not.

    ``notes`` name better stacks that were skipped, and why.
    """

    backend: Backend
    why: str
    support: Support | None = None
    stack: Stack | None = None
    gpu: Gpu | None = None
    notes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Selection:
    """The backend, stack and device that a run will use.

    ``device_hint`` is an id that the framework certainly has (None: the worker picks one), ``gpu`` the GPU
    that should do the work, ``env`` the variables that the worker gets for it.
    """

    backend: Backend
    stack: Stack
    required_device: str
    device_hint: str | None
    reasons: list[str]
    gpu: Gpu | None = None
    env: dict[str, str] = dataclasses.field(default_factory=dict)


def select(wanted: str | None, machine: Machine, stack: str | None = None, python: str | None = None) -> Selection:
    """Select the backend and the stack for a machine, and explain why.

    Args:
        wanted: a backend's name; None or ``auto``: the best for this machine.
        machine: from :func:`zoo.environments.machine.probe`.
        stack: the name of a stack that must be used.
        python: interpreter of an environment of the user's own: then a stack needs no lock here, and its
            device is left for the worker to prove.

    Raises:
        ZooError: no such backend or stack, or it does not work here; the message says what it needs, what
            this machine is and what would work.
    """
    available = {row.name: row for row in stacks.load_all()}
    rows = {row.name: row for row in load_all()}
    if stack is not None and stack not in available:
        raise _no_such_stack(stack, rows, available)
    if wanted is not None and wanted != "auto" and wanted not in rows:
        raise unknown("backend", wanted, ["auto", *rows])
    candidates = {name: evaluate(row, machine, available, stack, python) for name, row in rows.items()}
    if wanted in (None, "auto"):
        return _automatic(candidates, machine, stack)
    candidate = candidates[str(wanted)]
    if candidate.stack is None:
        raise _refusal(candidate, machine, available, stack)
    return _selection(candidate, machine, [])


def evaluate(
    backend: Backend,
    machine: Machine,
    available: Mapping[str, Stack],
    stack: str | None = None,
    python: str | None = None,
) -> Candidate:
    """Evaluate whether a backend works on a machine, and with which stack; arguments as in :func:`select`."""
    if not backend.runnable:
        return Candidate(backend, f"not runnable yet: {backend.reason}")
    support, gpu, obstacle = _supporting(backend, machine)
    if support is None:
        return Candidate(backend, obstacle)
    problems: dict[str, str] = {}
    for name in [stack] if stack else backend.stacks:
        problem = _stack_problem(backend, support, machine, available, name, python)
        if problem is None:
            why = _strength(backend, support, gpu)
            return Candidate(backend, why, support, available[name], gpu, _grouped(problems))
        problems[name] = problem
    return Candidate(backend, "; ".join(_grouped(problems)), support, None, gpu)


def works_here(candidates: Mapping[str, Candidate]) -> list[Candidate]:
    """Return the usable backends, best first."""
    usable = [candidate for candidate in candidates.values() if candidate.stack]
    return sorted(usable, key=lambda candidate: (_rank(candidate), candidate.backend.name))


# -- selection


def _rank(candidate: Candidate) -> int:
    rank = candidate.support.auto_rank if candidate.support else None
    return 1000 if rank is None else rank


def _best_rank(candidate: Candidate, machine: Machine) -> int:
    """Return the best rank that a refused backend could have on this kind of machine."""
    entries = [entry for entry in candidate.backend.serves if (entry.os, entry.arch) in _names_of(machine)]
    return min((entry.auto_rank for entry in entries if entry.auto_rank is not None), default=1000)


def _automatic(candidates: Mapping[str, Candidate], machine: Machine, stack: str | None) -> Selection:
    usable = [candidate for candidate in works_here(candidates) if _rank(candidate) < 1000]
    if not usable:
        what = f"stack {stack!r}" if stack else "any backend"
        reasons = "\n".join(f"  {name}: {candidate.why}" for name, candidate in candidates.items())
        raise ZooError(
            f"Nothing here can run {what}\nThis machine: {machines.describe(machine)}\n{reasons}",
            _elsewhere(candidates),
        )
    best = usable[0]
    refused = [other for other in candidates.values() if not other.stack and _best_rank(other, machine) < _rank(best)]
    refused.sort(key=lambda other: (_best_rank(other, machine), other.backend.name))
    return _selection(best, machine, [f"passed over {other.backend.name}: {other.why}" for other in refused])


def _selection(candidate: Candidate, machine: Machine, passed: list[str]) -> Selection:
    assert candidate.stack is not None  # noqa: S101  (only usable ones come here)
    assert candidate.support is not None  # noqa: S101
    reasons = [f"{candidate.why}, with stack {candidate.stack.name}"]
    reasons += [f"passed over stack {note}" for note in candidate.notes]
    platform = candidate.stack.platforms.get(machine.platform)
    if platform and platform.stand_in_for:
        reasons.append(f"on this system stack {candidate.stack.name} stands in for {platform.stand_in_for}")
    reasons += passed
    if machine.rosetta:
        reasons.append("this Python is an x86_64 build that Rosetta translates; the stack gets a native arm64 one")
    device = candidate.support.device_id
    device_kind, env = candidate.support.device_kind, candidate.support.env
    return Selection(candidate.backend, candidate.stack, device_kind, device, reasons, candidate.gpu, env)


def _refusal(candidate: Candidate, machine: Machine, available: Mapping[str, Stack], stack: str | None) -> ZooError:
    name = candidate.backend.name
    what = f"Backend {name!r} with stack {stack!r}" if stack else f"Backend {name!r}"
    others = {row.name: evaluate(row, machine, available) for row in load_all()}
    needs = candidate.backend.needs
    lines = (
        []
        if candidate.support or needs in candidate.why or not candidate.backend.runnable
        else [f"It needs {needs}."]
    )
    if stack and candidate.support:
        lines += _by_hand(candidate.support, [stack])
        candidates = dict.fromkeys([*candidate.backend.stacks, *available])
        fitting = [
            other
            for other in candidates
            if not _stack_problem(candidate.backend, candidate.support, machine, available, other, None)
        ]
        if fitting:
            lines.append("Stacks that fit here: " + ", ".join(fitting))
            lines.append(f"  {COMMAND}{name} stack={fitting[0]}")
            return _error(what, candidate, machine, lines)
    elif candidate.support:
        lines += _by_hand(candidate.support, candidate.backend.stacks)
    return _error(what, candidate, machine, [*lines, _elsewhere(others)])


def _no_such_stack(name: str, rows: Mapping[str, Backend], available: Mapping[str, Stack]) -> ZooError:
    if any(name in row.stacks for row in rows.values()):
        return ZooError(f"Stack {name!r} is not in this release", f"Choose one of: {', '.join(sorted(available))}")
    return unknown("stack", name, list(available))


def _error(what: str, candidate: Candidate, machine: Machine, remedy: list[str]) -> ZooError:
    message = f"{what} does not work here: {candidate.why}\nThis machine: {machines.describe(machine)}"
    return ZooError(message, "\n".join(remedy))


def _by_hand(support: Support, wanted: list[str]) -> list[str]:
    return [support.by_hand[name] for name in wanted if name in support.by_hand]


def _elsewhere(candidates: Mapping[str, Candidate]) -> str:
    """List what works on this machine, as commands to type."""
    usable = works_here(candidates)
    if not usable:
        return "Nothing of the zoo runs on this machine yet; it has stacks for x86_64 Linux and for macOS."
    lines = [
        f"  {COMMAND}{candidate.backend.name:<9} # {candidate.why}"
        for candidate in usable
        if candidate.backend.trains
    ]  # fmt: skip
    return "\n".join(["What works on this machine:", *lines])


# -- evaluation


def _supporting(backend: Backend, machine: Machine) -> tuple[Support | None, Gpu | None, str]:
    """Return the entry that supports this machine and its GPU, or the nearest reason why none does."""
    obstacles = [(0, f"it needs {backend.needs}")]
    for entry in backend.serves:
        if (entry.os, entry.arch) not in _names_of(machine):
            continue
        obstacle = _version_obstacle(entry, machine)
        if obstacle:
            obstacles.append((1, obstacle))
            continue
        gpus = [gpu for gpu in machine.gpus if gpu.vendor in entry.vendors]
        working = [gpu for gpu in gpus if gpu.driver or not entry.driver]
        if working or not entry.vendors:
            return entry, min(working, key=lambda gpu: _preference(gpu, entry), default=None), ""
        obstacles.append((2, _gpu_obstacle(entry, machine, gpus)))
    # An entry that got further says more: "needs macOS 12" rather than "needs a Mac".
    return None, None, max(obstacles, key=lambda pair: pair[0])[1]


def _names_of(machine: Machine) -> list[tuple[str, str]]:
    return [(system, arch) for system in (machine.os, "any") for arch in (machine.arch, "any")]


def _preference(gpu: Gpu, entry: Support) -> tuple[bool, int, int]:
    return not gpu.external, entry.vendors.index(gpu.vendor), -(gpu.memory_bytes or 0)


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
    present = " and ".join(gpu.name for gpu in machine.gpus)
    return f"it needs a GPU made by {wanted}, " + (
        f"this machine has {present}" if present else "this machine has none"
    )


def _stack_problem(
    backend: Backend,
    support: Support,
    machine: Machine,
    available: Mapping[str, Stack],
    name: str,
    python: str | None,
) -> str | None:
    """Return why a stack cannot serve this backend on this machine, or None."""
    if name not in available:
        return "not in this release"
    if support.device != "any" and name not in backend.stacks:
        return f"backend {backend.name} does not use it"
    if python:
        return None
    stack, where = available[name], machine.platform
    platform = stack.platforms.get(where)
    if platform is None or not (stack.folder / f"{where}.lock").is_file():
        return f"no lock for {where}" + ("; by hand it can be had" if name in support.by_hand else "")
    if support.device not in ("any", *platform.devices):
        more = f" ({platform.note})" if platform.note else ""
        return f"its lock for {where} drives {' and '.join(platform.devices)}, not {support.device}{more}"
    if platform.minimum_os and version_numbers(machine.os_version) < version_numbers(platform.minimum_os):
        return f"needs {SYSTEMS[machine.os]} {platform.minimum_os} or newer, this is {machine.os_version}"
    return None


def _grouped(problems: Mapping[str, str]) -> list[str]:
    """One sentence for all stacks with the same problem."""
    texts = dict.fromkeys(problems.values())
    return [", ".join(name for name in problems if problems[name] == text) + f": {text}" for text in texts]


def _strength(backend: Backend, support: Support, gpu: Gpu | None) -> str:
    if support.device_kind == "gpu" and gpu:
        return f"{backend.name} computes on the GPU {gpu.name}"
    return f"{backend.name} computes on the processor"

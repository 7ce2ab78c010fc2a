"""Choosing a backend and its stack for a machine, and saying why."""

import dataclasses
from collections.abc import Mapping

from zoo.core.errors import ZooError, unknown
from zoo.environments import machine as machines
from zoo.environments import stacks
from zoo.environments.backends import SYSTEMS, VENDORS, Backend, Serves, load_all, names
from zoo.environments.gpus import Gpu
from zoo.environments.machine import Machine
from zoo.environments.stacks import Stack

__all__ = ["Backend", "Choice", "Serves", "Verdict", "choose", "judge", "load_all", "names", "works_here"]

COMMAND = "python -m zoo train model=mnist backend="


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether a backend can be used on a machine. With ``stack`` it can; ``why`` says why, or why not.

    ``notes`` tell which better stacks were passed over, and why.
    """

    backend: Backend
    why: str
    serves: Serves | None = None
    stack: Stack | None = None
    gpu: Gpu | None = None
    notes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Choice:
    """What a run will use.

    ``device_hint`` is an id that the framework certainly has (None: the worker picks one), ``gpu`` the GPU
    that should do the work, ``env`` the variables that the worker gets for it.
    """

    backend: Backend
    stack: Stack
    promise: str
    device_hint: str | None
    reasons: list[str]
    gpu: Gpu | None = None
    env: dict[str, str] = dataclasses.field(default_factory=dict)


def choose(wanted: str | None, machine: Machine, stack: str | None = None, python: str | None = None) -> Choice:
    """Choose the backend and the stack for a machine, and say why.

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
    available = {found.name: found for found in stacks.load_all()}
    rows = {row.name: row for row in load_all()}
    if stack is not None and stack not in available:
        raise _no_such_stack(stack, rows, available)
    if wanted is not None and wanted != "auto" and wanted not in rows:
        raise unknown("backend", wanted, ["auto", *rows])
    verdicts = {name: judge(row, machine, available, stack, python) for name, row in rows.items()}
    if wanted in (None, "auto"):
        return _automatic(verdicts, machine, stack)
    verdict = verdicts[str(wanted)]
    if verdict.stack is None:
        raise _refusal(verdict, machine, available, stack)
    return _choice(verdict, machine, [])


def judge(
    backend: Backend,
    machine: Machine,
    available: Mapping[str, Stack],
    stack: str | None = None,
    python: str | None = None,
) -> Verdict:
    """Say whether a backend works on a machine, and with which stack; arguments as in :func:`choose`."""
    if not backend.runnable:
        return Verdict(backend, f"not runnable yet: {backend.reason}")
    serves, gpu, obstacle = _serving(backend, machine)
    if serves is None:
        return Verdict(backend, obstacle)
    problems: dict[str, str] = {}
    for name in [stack] if stack else backend.stacks:
        problem = _stack_problem(backend, serves, machine, available, name, python)
        if problem is None:
            praise = _praise(backend, serves, gpu)
            return Verdict(backend, praise, serves, available[name], gpu, _grouped(problems))
        problems[name] = problem
    return Verdict(backend, "; ".join(_grouped(problems)), serves, None, gpu)


def works_here(verdicts: Mapping[str, Verdict]) -> list[Verdict]:
    """The usable backends, best first."""
    usable = [verdict for verdict in verdicts.values() if verdict.stack]
    return sorted(usable, key=lambda verdict: (_rank(verdict), verdict.backend.name))


# -- choosing


def _rank(verdict: Verdict) -> int:
    rank = verdict.serves.auto_rank if verdict.serves else None
    return 1000 if rank is None else rank


def _best_rank(verdict: Verdict, machine: Machine) -> int:
    """The best place a refused backend could have had on this kind of machine."""
    entries = [entry for entry in verdict.backend.serves if (entry.os, entry.arch) in _names_of(machine)]
    return min((entry.auto_rank for entry in entries if entry.auto_rank is not None), default=1000)


def _automatic(verdicts: Mapping[str, Verdict], machine: Machine, stack: str | None) -> Choice:
    usable = [verdict for verdict in works_here(verdicts) if _rank(verdict) < 1000]
    if not usable:
        what = f"stack {stack!r}" if stack else "any backend"
        whys = "\n".join(f"  {name}: {verdict.why}" for name, verdict in verdicts.items())
        raise ZooError(
            f"Nothing here can run {what}\nThis machine: {machines.describe(machine)}\n{whys}",
            _elsewhere(verdicts),
        )
    best = usable[0]
    refused = [found for found in verdicts.values() if not found.stack and _best_rank(found, machine) < _rank(best)]
    refused.sort(key=lambda found: (_best_rank(found, machine), found.backend.name))
    return _choice(best, machine, [f"passed over {found.backend.name}: {found.why}" for found in refused])


def _choice(verdict: Verdict, machine: Machine, passed: list[str]) -> Choice:
    assert verdict.stack is not None  # noqa: S101  (only usable ones come here)
    assert verdict.serves is not None  # noqa: S101
    reasons = [f"{verdict.why}, with stack {verdict.stack.name}"]
    reasons += [f"passed over stack {note}" for note in verdict.notes]
    platform = verdict.stack.platforms.get(machine.platform)
    if platform and platform.stand_in_for:
        reasons.append(f"on this system stack {verdict.stack.name} stands in for {platform.stand_in_for}")
    reasons += passed
    if machine.rosetta:
        reasons.append("this Python is an x86_64 build that Rosetta translates; the stack gets a native arm64 one")
    device = verdict.serves.device_id
    drives, env = verdict.serves.drives, verdict.serves.env
    return Choice(verdict.backend, verdict.stack, drives, device, reasons, verdict.gpu, env)


def _refusal(verdict: Verdict, machine: Machine, available: Mapping[str, Stack], stack: str | None) -> ZooError:
    name = verdict.backend.name
    what = f"Backend {name!r} with stack {stack!r}" if stack else f"Backend {name!r}"
    others = {row.name: judge(row, machine, available) for row in load_all()}
    needs = verdict.backend.needs
    lines = [] if verdict.serves or needs in verdict.why or not verdict.backend.runnable else [f"It needs {needs}."]
    if stack and verdict.serves:
        lines += _by_hand(verdict.serves, [stack])
        candidates = dict.fromkeys([*verdict.backend.stacks, *available])
        fitting = [
            found
            for found in candidates
            if not _stack_problem(verdict.backend, verdict.serves, machine, available, found, None)
        ]
        if fitting:
            lines.append("Stacks that fit here: " + ", ".join(fitting))
            lines.append(f"  {COMMAND}{name} stack={fitting[0]}")
            return _error(what, verdict, machine, lines)
    elif verdict.serves:
        lines += _by_hand(verdict.serves, verdict.backend.stacks)
    return _error(what, verdict, machine, [*lines, _elsewhere(others)])


def _no_such_stack(name: str, rows: Mapping[str, Backend], available: Mapping[str, Stack]) -> ZooError:
    if any(name in row.stacks for row in rows.values()):
        return ZooError(f"Stack {name!r} is not in this release", f"Choose one of: {', '.join(sorted(available))}")
    return unknown("stack", name, list(available))


def _error(what: str, verdict: Verdict, machine: Machine, remedy: list[str]) -> ZooError:
    message = f"{what} does not work here: {verdict.why}\nThis machine: {machines.describe(machine)}"
    return ZooError(message, "\n".join(remedy))


def _by_hand(serves: Serves, wanted: list[str]) -> list[str]:
    return [serves.by_hand[name] for name in wanted if name in serves.by_hand]


def _elsewhere(verdicts: Mapping[str, Verdict]) -> str:
    """What works on this machine, as commands to type."""
    usable = works_here(verdicts)
    if not usable:
        return "Nothing of the zoo runs on this machine yet; it has stacks for x86_64 Linux and for macOS."
    lines = [
        f"  {COMMAND}{found.backend.name:<9} # {found.why}"
        for found in usable
        if found.backend.trains
    ]  # fmt: skip
    return "\n".join(["What works on this machine:", *lines])


# -- judging


def _serving(backend: Backend, machine: Machine) -> tuple[Serves | None, Gpu | None, str]:
    """The entry that serves this machine and the GPU it would use, or the nearest reason why none does."""
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


def _preference(gpu: Gpu, entry: Serves) -> tuple[bool, int, int]:
    return not gpu.external, entry.vendors.index(gpu.vendor), -(gpu.memory_bytes or 0)


def _version_obstacle(entry: Serves, machine: Machine) -> str | None:
    have = machines.version(machine.os_version)
    system = SYSTEMS.get(entry.os, entry.os)
    if entry.minimum_os and have < machines.version(entry.minimum_os):
        return f"it needs {system} {entry.minimum_os} or newer, this is {machine.os_version or 'unknown'}"
    newest = machines.version(entry.maximum_os or "")
    if newest and have[: len(newest)] > newest:
        return f"it needs {system} {entry.maximum_os} or older, this is {machine.os_version}"
    return None


def _gpu_obstacle(entry: Serves, machine: Machine, matching: list[Gpu]) -> str:
    if matching:
        return f"{matching[0].name} has no working driver (`nvidia-smi` does not list it)"
    wanted = " or ".join(VENDORS[vendor] for vendor in entry.vendors)
    found = " and ".join(gpu.name for gpu in machine.gpus)
    return f"it needs a GPU made by {wanted}, " + (f"this machine has {found}" if found else "this machine has none")


def _stack_problem(
    backend: Backend,
    serves: Serves,
    machine: Machine,
    available: Mapping[str, Stack],
    name: str,
    python: str | None,
) -> str | None:
    """Why a stack cannot serve this backend on this machine, or None."""
    if name not in available:
        return "not in this release"
    if serves.device != "any" and name not in backend.stacks:
        return f"backend {backend.name} does not use it"
    if python:
        return None
    stack, where = available[name], machine.platform
    platform = stack.platforms.get(where)
    if platform is None or not (stack.folder / f"{where}.lock").is_file():
        return f"no lock for {where}" + ("; by hand it can be had" if name in serves.by_hand else "")
    if serves.device not in ("any", *platform.devices):
        more = f" ({platform.note})" if platform.note else ""
        return f"its lock for {where} drives {' and '.join(platform.devices)}, not {serves.device}{more}"
    if platform.minimum_os and machines.version(machine.os_version) < machines.version(platform.minimum_os):
        return f"needs {SYSTEMS[machine.os]} {platform.minimum_os} or newer, this is {machine.os_version}"
    return None


def _grouped(problems: Mapping[str, str]) -> list[str]:
    """One sentence for all stacks with the same problem."""
    texts = dict.fromkeys(problems.values())
    return [", ".join(name for name in problems if problems[name] == text) + f": {text}" for text in texts]


def _praise(backend: Backend, serves: Serves, gpu: Gpu | None) -> str:
    if serves.drives == "gpu" and gpu:
        return f"{backend.name} computes on the GPU {gpu.name}"
    return f"{backend.name} computes on the processor"

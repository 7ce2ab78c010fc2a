"""Select a backend and its stack for a machine, and explain why."""

import dataclasses
import re
from collections.abc import Mapping

from zoo.core.errors import ZooError, listed, unknown
from zoo.environments import compatibility, stacks
from zoo.environments import machine as machines
from zoo.environments.backends import Backend, Support, load_all
from zoo.environments.gpus import Gpu
from zoo.environments.machine import Machine
from zoo.environments.platforms import SYSTEMS, version_numbers
from zoo.environments.stacks import Stack
from zoo.protocol.request import DevicePart

COMMAND = "python -m zoo train model=mnist backend="


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A backend evaluated for a machine: usable if it has a ``stack``; ``why`` explains either result.

    ``notes`` explain why better stacks were skipped.
    """

    backend: Backend
    why: str
    support: Support | None = None
    stack: Stack | None = None
    gpu: Gpu | None = None
    notes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Update:
    """A version of macOS or NVIDIA's driver that would make a candidate usable."""

    what: str
    version: str
    candidate: Candidate

    def __str__(self) -> str:
        return f"Update {self.what} to {self.version} or newer, if it can be: then {self.candidate.why}"


@dataclasses.dataclass(frozen=True)
class Selection:
    """The backend, stack and device of a run.

    ``device_hint`` is a known id of the device in the framework; if None, the worker selects a device. ``gpu`` is the
    intended GPU, and ``env`` has the worker's variables for it.
    """

    backend: Backend
    stack: Stack
    device_kind: str
    device_hint: str | None
    reasons: list[str]
    gpu: Gpu | None = None
    env: dict[str, str] = dataclasses.field(default_factory=dict)

    def device(self, chosen: str | None = None) -> DevicePart:
        """Return the device part of a request; ``chosen`` is an id from the user."""
        hint = chosen or self.device_hint
        return DevicePart(
            backend=self.backend.name, framework=self.stack.framework, device_kind=self.device_kind, id=hint
        )


def select(wanted: str | None, machine: Machine, stack: str | None = None, python: str | None = None) -> Selection:
    """Select the backend and the stack for a machine, and explain why.

    Args:
        wanted: a backend's name; None or ``auto`` means the best for this machine.
        stack: the name of a required stack.
        python: a user's own interpreter; the stack then needs no lock, and the worker checks its device.
    """
    available = stacks.by_name()
    rows = {row.name: row for row in load_all()}
    if stack is not None and stack not in available:
        if any(stack in row.stacks for row in rows.values()):
            raise ZooError(f"Stack {stack!r} is not in this release", f"Choose one of: {listed(sorted(available))}")
        raise unknown("stack", stack, list(available))
    if wanted is not None and wanted != "auto" and wanted not in rows:
        raise unknown("backend", wanted, ["auto", *rows])
    candidates = {name: evaluate(row, machine, available, stack, python) for name, row in rows.items()}
    if wanted in (None, "auto"):
        return _automatic(candidates, machine, stack)
    candidate = candidates[str(wanted)]
    if candidate.stack is None:
        raise _refusal(candidate, machine, available, stack)
    return _selection(candidate, machine, [])


def gpu(machine: Machine, stack: str | None = None) -> str:
    """Return the name of the backend for the best GPU of a machine."""
    choice = select(None, machine, stack)
    if choice.device_kind != "gpu":
        raise ZooError(
            f"backend=gpu: no GPU of this machine can be used; {choice.backend.name} is the best backend",
            "`python -m zoo doctor` gives the reasons.",
        )
    return choice.backend.name


def evaluate(
    backend: Backend, machine: Machine, available: Mapping[str, Stack], stack: str | None = None,
    python: str | None = None,
) -> Candidate:  # fmt: skip
    """Evaluate whether a backend works on a machine, and with which stack; arguments as in :func:`select`."""
    if not backend.runnable:
        return Candidate(backend, f"not runnable yet: {backend.reason}")
    ways, obstacle = compatibility.ways(backend, machine, [stack] if stack else backend.stacks)
    if not ways:
        return Candidate(backend, obstacle)
    problems: dict[str, str] = {}
    for way in ways:
        support, name, gpu = way
        problem = compatibility.stack_problem(backend, way, machine, available, python)
        if problem is None:
            problems.pop(name, None)
            where = f"GPU {gpu.name}" if support.device_kind == "gpu" and gpu else "processor"
            why = f"{backend.name} computes on the {where}"
            return Candidate(backend, why, support, available[name], gpu, _grouped(problems))
        problems.setdefault(name, problem)
    support, _, gpu = ways[0]
    return Candidate(backend, "; ".join(_grouped(problems)), support, None, gpu)


def survey(machine: Machine, available: Mapping[str, Stack]) -> dict[str, Candidate]:
    """Evaluate every backend on a machine, with its best stack of those available."""
    return {row.name: evaluate(row, machine, available) for row in load_all()}


def caveats(candidate: Candidate, machine: Machine) -> list[str]:
    if not candidate.support or not candidate.gpu:
        return []
    where = f"{candidate.gpu.name}, {SYSTEMS[machine.os]} {machine.os_version}"
    return [text for pattern, text in candidate.support.caveats.items() if re.search(pattern, where)]


def after_update(backend: Backend, machine: Machine, available: Mapping[str, Stack]) -> Update | None:
    """Return the smallest update that makes a rejected backend usable, with its best stack, or None."""
    updates = compatibility.updates(backend, machine, available)
    tried = [Update(what, version, evaluate(backend, updated, available)) for what, version, updated in updates]
    working = {update.candidate.stack.name: update for update in reversed(tried) if update.candidate.stack}
    return next((working[name] for name in backend.stacks if name in working), None)


def best_update(machine: Machine, available: Mapping[str, Stack]) -> Update | None:
    """Return the smallest update that makes a backend usable, preferably on a GPU, or None."""
    updates = [after_update(row, machine, available) for row in load_all() if row.trains]
    return min(filter(None, updates), key=_effort, default=None)


def _effort(update: Update) -> tuple[bool, tuple[int, ...], int]:
    support = update.candidate.support
    return not support or support.device_kind != "gpu", version_numbers(update.version), _rank(update.candidate)


def works_here(candidates: Mapping[str, Candidate]) -> list[Candidate]:
    usable = [candidate for candidate in candidates.values() if candidate.stack]
    return sorted(usable, key=lambda candidate: (_rank(candidate), candidate.backend.name))


# -- selection


def _rank(candidate: Candidate) -> int:
    rank = candidate.support.auto_rank if candidate.support else None
    return 1000 if rank is None else rank


def _best_rank(candidate: Candidate, machine: Machine) -> int:
    ranks = [entry.auto_rank for entry in compatibility.serving(candidate.backend, machine)]
    return min((rank for rank in ranks if rank is not None), default=1000)


def _automatic(candidates: Mapping[str, Candidate], machine: Machine, stack: str | None) -> Selection:
    usable = [candidate for candidate in works_here(candidates) if _rank(candidate) < 1000]
    if not usable:
        what = f"stack {stack!r}" if stack else "any backend"
        reasons = "\n".join(f"  {name}: {candidate.why}" for name, candidate in candidates.items())
        raise ZooError(
            f"This machine cannot run {what}\nThis machine: {machines.describe(machine)}\n{reasons}",
            _elsewhere(candidates, machine),
        )
    best = usable[0]
    refused = [other for other in candidates.values() if not other.stack and _best_rank(other, machine) < _rank(best)]
    refused.sort(key=lambda other: (_best_rank(other, machine), other.backend.name))
    return _selection(best, machine, [f"skipped {other.backend.name}: {other.why}" for other in refused])


def _selection(candidate: Candidate, machine: Machine, passed: list[str]) -> Selection:
    assert candidate.stack is not None  # noqa: S101  (only called with usable ones)
    assert candidate.support is not None  # noqa: S101
    reasons = [f"{candidate.why}, with stack {candidate.stack.name}"]
    reasons += [f"skipped stack {note}" for note in candidate.notes]
    reasons += [f"caveat: {text}" for text in caveats(candidate, machine)]
    platform = candidate.stack.platforms.get(machine.platform)
    if platform and platform.stand_in_for:
        reasons.append(f"on this system stack {candidate.stack.name} stands in for {platform.stand_in_for}")
    reasons += passed
    if machine.rosetta:
        reasons.append("this Python is an x86_64 build that Rosetta translates; the stack uses a native arm64 Python")
    device = candidate.support.device_id
    device_kind, env = candidate.support.device_kind, candidate.support.env
    return Selection(candidate.backend, candidate.stack, device_kind, device, reasons, candidate.gpu, env)


def _refusal(candidate: Candidate, machine: Machine, available: Mapping[str, Stack], stack: str | None) -> ZooError:
    name = candidate.backend.name
    what = f"Backend {name!r} with stack {stack!r}" if stack else f"Backend {name!r}"
    updated = after_update(candidate.backend, machine, available)
    needs = candidate.backend.needs
    is_clear = candidate.support or needs in candidate.why or not candidate.backend.runnable
    lines = [] if is_clear else [f"It needs {needs}."]
    by_hand = candidate.support.by_hand if candidate.support else {}
    lines += [by_hand[each] for each in ([stack] if stack else candidate.backend.stacks) if each in by_hand]
    present = dict.fromkeys([*candidate.backend.stacks, *available]) if stack and candidate.support else {}
    fitting = [other for other in present if evaluate(candidate.backend, machine, available, other).stack]
    if fitting:
        lines += ["Stacks that fit here: " + ", ".join(fitting), f"  {COMMAND}{name} stack={fitting[0]}"]
    else:
        lines += [*([f"{updated}."] if updated else []), _elsewhere(survey(machine, available), machine)]
    message = f"{what} does not work here: {candidate.why}\nThis machine: {machines.describe(machine)}"
    return ZooError(message, "\n".join(lines))


def _elsewhere(candidates: Mapping[str, Candidate], machine: Machine) -> str:
    usable = works_here(candidates)
    if not usable:
        nothing = "The zoo does not support this machine yet; it has stacks for Linux and macOS."
        return str(best_update(machine, stacks.by_name()) or nothing)
    lines = [f"  {COMMAND}{each.backend.name:<9} # {each.why}" for each in usable if each.backend.trains]
    return "\n".join(["What works on this machine:", *lines])


def _grouped(problems: Mapping[str, str]) -> list[str]:
    texts = dict.fromkeys(problems.values())
    return [", ".join(name for name in problems if problems[name] == text) + f": {text}" for text in texts]

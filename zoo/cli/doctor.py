"""Examine this machine, list what works on it, and name the command to run next."""

import dataclasses
import platform
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.core.files import folder_size
from zoo.environments import interpreters, machine, package_index, selection, stacks, store, surroundings
from zoo.environments.interpreters import Broken, Interpreter
from zoo.environments.machine import Machine
from zoo.environments.platforms import version_numbers
from zoo.environments.selection import Candidate
from zoo.environments.stacks import Stack

MB = 10**6
# Downloads and byte code need space on top of the built environment.
ROOM = 2


@dataclasses.dataclass(frozen=True)
class BackendRow:
    """A backend on this machine. ``stack`` is None if it is not usable; ``why`` explains either result."""

    name: str
    usable: bool
    why: str
    stack: str | None
    promise: str | None
    trains: bool
    passed_over: list[str]
    caveats: list[str]
    update: str | None
    evidence: list[stacks.Evidence]


@dataclasses.dataclass(frozen=True)
class Report:
    """This machine, and what works on it. ``network`` is None if no package registry is configured."""

    machine: Machine
    python: Interpreter
    interpreters: list[Interpreter]
    broken: list[Broken]
    backends: list[BackendRow]
    environments: list[store.EnvironmentInfo]
    data: dict[str, int]
    cache: Path
    free_bytes: int
    network: package_index.Reachability | None
    checks: list[surroundings.Check]
    advice: str

    def to_json(self) -> dict[str, object]:
        return {
            "machine": _machine(self.machine),
            "python": _fields(self.python),
            "interpreters": {"working": [_fields(row) for row in self.interpreters],
                             "broken": [_fields(row) for row in self.broken]},
            "backends": [dataclasses.asdict(row) for row in self.backends],
            "environments": [{"folder": str(row.folder), "stack": row.stack, "state": row.state,
                              "created": row.created, "last_used": row.last_used} for row in self.environments],
            "data": [{"name": name, "bytes": size} for name, size in self.data.items()],
            "cache": {"folder": str(self.cache), "free_bytes": self.free_bytes},
            "network": {"checked": self.network is not None} | (vars(self.network) if self.network else {}),
            "checks": [dataclasses.asdict(row) for row in self.checks],
            "advice": self.advice,
        }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Elsewhere:
    """A captured machine, its backends, and ``choice``, the automatic selection with its reasons."""

    machine: Machine
    backends: list[BackendRow]
    choice: list[str]

    def to_json(self) -> dict[str, object]:
        return {**dataclasses.asdict(self), "machine": _machine(self.machine)}


def _machine(here: Machine) -> dict[str, object]:
    return {**dataclasses.asdict(here), "platform": here.platform, "rosetta": here.rosetta,
            "text": machine.describe(here)}  # fmt: skip


def _fields(row: Interpreter | Broken) -> dict[str, str]:
    return {name: str(value) for name, value in row._asdict().items()}


def examine() -> Report:
    """Examine everything that a run depends on, without building, downloading or changing anything."""
    here = machine.probe()
    available = {stack.name: stack for stack in stacks.load_all()}
    usable, rows = _backends(here, available)
    working, broken = interpreters.survey()
    free = paths.free_bytes()
    return Report(
        machine=here,
        python=Interpreter(platform.python_version(), Path(sys.executable), here.python_arch),
        interpreters=working,
        broken=broken,
        backends=rows,
        environments=store.list_environments(thorough=False, verify="new"),
        data=_data(),
        cache=paths.cache_dir(),
        free_bytes=free,
        network=_network(),
        checks=surroundings.examine(surroundings.collect(), here),
        advice=_advice(here, available, usable, working, free),
    )


def examine_capture(path: Path) -> Elsewhere:
    """Examine a captured machine; see :func:`zoo.environments.machine.from_capture`."""
    here = machine.from_capture(path)
    try:
        selected = selection.select(None, here)
        choice = [f"backend={selected.backend.name} stack={selected.stack.name}", *selected.reasons]
    except ZooError as error:
        choice = str(error).splitlines()
    return Elsewhere(here, _backends(here, {stack.name: stack for stack in stacks.load_all()})[1], choice)


def render(report: Report | Elsewhere) -> str:
    sections = [
        ("Machine", [machine.describe(report.machine), *(f"note: {note}" for note in report.machine.notes)]),
        ("Backends", [_backend_line(row) for row in report.backends]),
    ]
    if isinstance(report, Elsewhere):
        return _joined([*sections, ("Choice", report.choice)])
    data = [f"{name}: {_mb(size)}" for name, size in report.data.items() if size]
    sections[1:1] = [("Python", _python_lines(report))]
    sections += [
        ("Environments", _environment_lines(report.environments) or ["none built yet"]),
        ("Data", data or ["nothing downloaded yet"]),
        ("Disk", [f"{_mb(report.free_bytes)} free for {report.cache}"]),
        ("Surroundings", _check_lines(report.checks)),
        ("Network", [_network_line(report.network)]),
        ("Advice", report.advice.splitlines()),
    ]
    return _joined(sections)


def _joined(sections: list[tuple[str, list[str]]]) -> str:
    return "\n".join(line for title, body in sections for line in (title, *(f"  {row}" for row in body)))


# -- examining


def _backends(here: Machine, available: Mapping[str, Stack]) -> tuple[list[Candidate], list[BackendRow]]:
    """Return the usable candidates, best first, and the rows of all backends."""
    candidates = {row.name: selection.evaluate(row, here, available) for row in selection.load_all()}
    usable = selection.works_here(candidates)
    unusable = [candidate for candidate in candidates.values() if not candidate.stack]
    return usable, [_backend(candidate, here, available) for candidate in (*usable, *unusable)]


def _backend(candidate: Candidate, here: Machine, available: Mapping[str, Stack]) -> BackendRow:
    stack = candidate.stack
    updated = None if stack else selection.after_update(candidate.backend, here, available)
    return BackendRow(
        name=candidate.backend.name,
        usable=stack is not None,
        why=candidate.why,
        stack=stack.name if stack else None,
        promise=candidate.support.device_kind if stack and candidate.support else None,
        trains=candidate.backend.trains,
        passed_over=candidate.notes,
        caveats=selection.caveats(candidate, here),
        update=str(updated) if updated else None,
        evidence=[row for row in stack.evidence if row.platform == here.platform] if stack else [],
    )


def _data() -> dict[str, int]:
    sizes = Counter[str]()
    for group, kind in (("downloads", ""), ("data", ", prepared"), ("texts", ", prepared")):
        for folder in sorted((paths.cache_dir() / group).glob("[!.]*/")):
            sizes[f"{folder.name.rpartition('-')[0] if kind else folder.name}{kind}"] += folder_size(folder)
    return dict(sizes)


def _network() -> package_index.Reachability | None:
    url = package_index.address()
    return package_index.reachable(url) if url else None


def _advice(
    here: Machine, available: Mapping[str, Stack], usable: list[Candidate], working: list[Interpreter], free: int
) -> str:
    training = [candidate for candidate in usable if candidate.backend.trains]
    if not training:
        nothing = "no backend works here yet: use zoo on Linux or on a Mac"
        return str(selection.best_update(here, available) or nothing)
    stack = training[0].stack
    assert stack is not None  # noqa: S101  (a usable backend has a stack)
    if free < ROOM * stack.size_mb * MB:
        need = _mb(ROOM * stack.size_mb * MB)
        return f"free some space: stack {stack.name} needs up to {need}; or use another disk: export ZOO_CACHE=FOLDER"
    if not _has_python(stack.python, here.arch, working):
        ways = interpreters.how_to_get(stack.python, here.arch)
        return f"stack {stack.name} runs on Python {stack.python}. {ways}"
    return f"python -m zoo train model=mnist backend={training[0].backend.name}"


def _has_python(version: str, arch: str, working: list[Interpreter]) -> bool:
    number = version_numbers(version)
    if number[:2] >= interpreters.UV_OLDEST:  # downloaded when needed
        return True
    return any(version_numbers(row.version)[:2] == number[:2] and row.arch == arch for row in working)


# -- formatting


def _mb(count: int) -> str:
    return f"{count / MB:,.0f} MB" if count < 10_000 * MB else f"{count / 1000 / MB:,.0f} GB"


def _python_lines(report: Report) -> list[str]:
    lines = [f"running zoo: {report.python.version} ({report.python.arch}), {report.python.path}"]
    versions = {(row.version, row.arch) for row in report.interpreters}
    in_order = sorted(versions, key=lambda pair: (version_numbers(pair[0]), pair[1]))
    listing = ", ".join(f"{version} ({arch})" for version, arch in in_order)
    return [*lines, f"available for stacks: {listing or 'none'}",
            *(f"does not work: {row.path}: {row.reason}" for row in report.broken)]  # fmt: skip


def _backend_line(row: BackendRow) -> str:
    if not row.usable:
        return f"{row.name:<9} no: {row.why}" + (f". {row.update}" if row.update else "")
    grades = sorted({entry.grade for entry in row.evidence})
    proof = f"evidence on this system: {', '.join(grades)}" if grades else "no evidence on this system yet"
    trains = "" if row.trains else "; inference only"
    known = "".join(f"; caveat: {text}" for text in row.caveats)
    return f"{row.name:<9} yes: {row.why}, with stack {row.stack} ({proof}){trains}{known}"


def _environment_lines(rows: list[store.EnvironmentInfo]) -> list[str]:
    folders: dict[str, list[str]] = {}
    for row in rows:  # a stack has an environment for each lock, Python and uv
        folders.setdefault(f"{row.stack}: {row.state}", []).append(str(row.folder))
    return [f"{state}, {' and '.join(several)}" for state, several in folders.items()]


def _check_lines(checks: list[surroundings.Check]) -> list[str]:
    lines = [f"{row.name}: {row.seen}: {row.meaning}" for row in checks if row.meaning]
    well = ", ".join(f"{row.name} ({row.seen})" for row in checks if not row.meaning)
    return [*lines, f"OK: {well}"] if well else lines


def _network_line(network: package_index.Reachability | None) -> str:
    if network is None:
        return "not checked: no package registry is configured, and none is needed"
    return f"{network.host} answers" if network.ok else f"{network.host} does not answer: {network.why}"

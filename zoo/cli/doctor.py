"""The doctor: what this machine is, what of the zoo works on it, and what to type next."""

import dataclasses
import platform
import shutil
import sys
from typing import Any

from zoo.core import paths
from zoo.core.files import folder_size
from zoo.environments import interpreters, machine, package_index, selection, stacks, store
from zoo.environments.interpreters import Interpreter
from zoo.environments.machine import Machine
from zoo.environments.selection import Candidate

MB = 10**6
# Downloads and byte code come on top of what a built environment takes.
ROOM = 2


def examine() -> dict[str, Any]:
    """Look at everything a run depends on. Builds, downloads and changes nothing.

    Returns:
        What :func:`render` shows, as plain values: ``machine``, ``python``, ``interpreters``, ``backends``,
        ``environments``, ``data``, ``cache``, ``network`` and ``advice``.
    """
    here = machine.probe()
    available = {stack.name: stack for stack in stacks.load_all()}
    candidates = {row.name: selection.evaluate(row, here, available) for row in selection.load_all()}
    working, broken = interpreters.survey()
    cache = _cache()
    return {
        "machine": _machine(here),
        "python": {"version": platform.python_version(), "arch": here.python_arch, "path": sys.executable},
        "interpreters": {
            "working": [{**found._asdict(), "path": str(found.path)} for found in working],
            "broken": [{**found._asdict(), "path": str(found.path)} for found in broken],
        },
        "backends": [_backend(candidate, here) for candidate in _sorted(candidates)],
        "environments": [_environment(listed) for listed in store.list_environments()],
        "data": _data(),
        "cache": cache,
        "network": _network(),
        "advice": _advice(here, selection.works_here(candidates), working, cache["free_bytes"]),
    }


def render(report: dict[str, Any]) -> str:
    """The report of :func:`examine` as text for people."""
    sections = [
        ("Machine", _machine_lines(report)),
        ("Python", _python_lines(report)),
        ("Backends", [line for row in report["backends"] for line in _backend_lines(row)]),
        ("Environments", [_environment_line(row) for row in report["environments"]] or ["none built yet"]),
        (
            "Data",
            [f"{row['name']}: {_mb(row['bytes'])}" for row in report["data"]] or ["nothing fetched yet"],
        ),
        ("Disk", [f"{_mb(report['cache']['free_bytes'])} free for {report['cache']['folder']}"]),
        ("Network", [_network_line(report["network"])]),
        ("Advice", report["advice"].splitlines()),
    ]
    lines = [line for title, body in sections for line in (title, *(f"  {row}" for row in body))]
    return "\n".join(lines)


# -- looking


def _machine(here: Machine) -> dict[str, Any]:
    facts = dataclasses.asdict(here)
    return {**facts, "platform": here.platform, "rosetta": here.rosetta, "text": machine.describe(here)}


def _sorted(candidates: dict[str, Candidate]) -> list[Candidate]:
    usable = selection.works_here(candidates)
    return [*usable, *(candidate for candidate in candidates.values() if not candidate.stack)]


def _backend(candidate: Candidate, here: Machine) -> dict[str, Any]:
    stack = candidate.stack
    evidence = [dataclasses.asdict(row) for row in stack.evidence if row.platform == here.platform] if stack else []
    return {
        "name": candidate.backend.name,
        "usable": stack is not None,
        "why": candidate.why,
        "stack": stack.name if stack else None,
        "promise": candidate.support.device_kind if stack and candidate.support else None,
        "trains": candidate.backend.trains,
        "passed_over": candidate.notes,
        "evidence": evidence,
    }


def _environment(listed: store.EnvironmentInfo) -> dict[str, Any]:
    return {**dataclasses.asdict(listed), "folder": str(listed.folder)}


def _data() -> list[dict[str, Any]]:
    root = paths.cache_dir() / "downloads"
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return [{"name": folder.name, "bytes": folder_size(folder)} for folder in folders]


def _cache() -> dict[str, Any]:
    folder = paths.cache_dir()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return {"folder": str(folder), "free_bytes": shutil.disk_usage(existing).free}


def _network() -> dict[str, Any]:
    url = package_index.address()
    return {"checked": url is not None, **(package_index.reachable(url) if url else {})}


def _advice(here: Machine, usable: list[Candidate], working: list[Interpreter], free: int) -> str:
    """The one thing to type next."""
    training = [candidate for candidate in usable if candidate.backend.trains]
    if not training:
        return "nothing of the zoo runs here yet: use it on x86_64 Linux or on a Mac"
    stack = training[0].stack
    assert stack is not None  # noqa: S101  (usable means that there is one)
    if free < ROOM * stack.size_mb * MB:
        need = _mb(ROOM * stack.size_mb * MB)
        return f"make room, stack {stack.name} takes up to {need}; or keep it elsewhere: export ZOO_CACHE=FOLDER"
    if not _has_python(stack.python, here.arch, working):
        ways = interpreters.how_to_get(stack.python, here.arch)
        return f"stack {stack.name} runs on Python {stack.python}. {ways}"
    return f"python -m zoo train model=mnist backend={training[0].backend.name}"


def _has_python(version: str, arch: str, working: list[Interpreter]) -> bool:
    number = machine.version(version)
    if number[:2] >= interpreters.UV_OLDEST:  # fetched when it is needed
        return True
    return any(machine.version(found.version)[:2] == number[:2] and found.arch == arch for found in working)


# -- showing


def _mb(count: int) -> str:
    return f"{count / MB:,.0f} MB" if count < 10_000 * MB else f"{count / 1000 / MB:,.0f} GB"


def _machine_lines(report: dict[str, Any]) -> list[str]:
    return [report["machine"]["text"], *(f"note: {note}" for note in report["machine"]["notes"])]


def _python_lines(report: dict[str, Any]) -> list[str]:
    python, found = report["python"], report["interpreters"]
    lines = [f"this one: {python['version']} ({python['arch']}), {python['path']}"]
    if report["machine"]["rosetta"]:
        lines.append("it is an x86_64 build that Rosetta translates: GPU libraries for this Mac need an arm64 one")
    versions = sorted({(row["version"], row["arch"]) for row in found["working"]}, key=_version_key)
    listed = ", ".join(f"{version} ({arch})" for version, arch in versions)
    lines.append(f"found for stacks: {listed or 'none'}")
    return lines + [f"does not work: {row['path']}: {row['reason']}" for row in found["broken"]]


def _version_key(pair: tuple[str, str]) -> tuple[tuple[int, ...], str]:
    return machine.version(pair[0]), pair[1]


def _backend_lines(row: dict[str, Any]) -> list[str]:
    if not row["usable"]:
        return [f"{row['name']:<9} no: {row['why']}"]
    grades = sorted({entry["grade"] for entry in row["evidence"]})
    proof = f"evidence on this system: {', '.join(grades)}" if grades else "no evidence on this system yet"
    trains = "" if row["trains"] else "; it does not train"
    return [f"{row['name']:<9} yes: {row['why']}, with stack {row['stack']} ({proof}){trains}"]


def _environment_line(row: dict[str, Any]) -> str:
    return f"{row['stack']}: {row['state']}, {_mb(row['size_bytes'])}, {row['folder']}"


def _network_line(row: dict[str, Any]) -> str:
    if not row["checked"]:
        return "not checked: neither uv nor pip is told which package registry to use"
    return f"{row['host']} " + ("answers" if row["ok"] else f"does not answer: {row['why']}")

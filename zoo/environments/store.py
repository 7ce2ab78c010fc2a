"""Store environments: a folder with the libraries of each stack, built once from its lock and never repaired.

The name of a folder includes a hash of everything that it depends on, so a change builds a new folder.
"""

import dataclasses
import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from zoo.core import console, paths, planning, processes, uses
from zoo.core.errors import ZooError, counted, require_known
from zoo.core.files import file_sha256, folder_size, locked, write_json
from zoo.core.files import remove as remove_path
from zoo.environments import additions, build, stacks, uv_client, variables
from zoo.environments import marker as env_marker
from zoo.environments.build import HealthCheck
from zoo.environments.interpreters import Interpreter
from zoo.environments.platforms import PYTHON_SYSTEMS, architecture
from zoo.environments.stacks import Stack
from zoo.protocol.request import PROBE, DevicePart, ModelPart, Request

HEALTH_S = 600.0
ROOM_FOR_BYTE_CODE = 500 * 10**6  # free bytes; the byte code of a large stack has 200 MB


@dataclasses.dataclass(frozen=True)
class Environment:
    """A ready environment. ``build_s`` is 0.0 if it already existed."""

    python: Path
    folder: Path
    lock: Path
    lock_sha256: str
    versions: dict[str, str]
    build_s: float
    python_version: str


@dataclasses.dataclass(frozen=True)
class EnvironmentInfo:
    """An environment folder. ``state`` is ``"ready"`` or the problem; times are UTC; empty or 0 means unknown."""

    folder: Path
    stack: str
    size_bytes: int
    state: str
    created: str
    last_used: str


def ensure(
    stack: Stack, platform: str, healthy: HealthCheck | None = None, added: Sequence[Requirement] = (),
    thorough: bool = False,
) -> Environment:  # fmt: skip
    """Return the environment of a stack on a platform, built if it is missing.

    Args:
        healthy: checks a new environment; None means :func:`health_check`.
        added: packages in addition to the stack's; those that it already has are ignored.
        thorough: check every file of an existing environment.
    """
    paths.make_cache()
    added = additions.beyond(stack, platform, added)
    lock = additions.locked(stack, platform, added) if added else stacks.lock_file(stack, platform)
    python = uv_client.ensure_interpreter(stack.python, platform.partition("-")[2])
    label = additions.label(stack, added)
    folder = environments_dir() / _folder_name(label, platform, lock, python)
    check = env_marker.damage if thorough else env_marker.defect
    with uses.using(_wanted(folder)):
        if check(folder) is None:
            return _open(folder, lock, 0.0)
        planning.stop("the environment is not built yet")
        with locked(folder.with_name(f".{folder.name}.lock"), f"is working on the environment of {label}"):
            defect = check(folder)  # another process may have built it
            if defect is None:
                return _open(folder, lock, 0.0)
            if folder.exists():
                why = f"The environment {folder} cannot be used ({defect}), must be built again, and"
                with uses.unused(_used(folder), why):
                    console.say(f"The environment of {stack.name} cannot be used: {defect}. It is built again.")
                    _discard(folder)
            base = _base(stack, platform, python) if added else None
            plan = build.Plan(stack, platform, lock, file_sha256(lock), python, folder, healthy or health_check, base)
            return _open(folder, lock, build.build(plan))


def _base(stack: Stack, platform: str, python: Interpreter) -> Path | None:
    folder = environments_dir() / _folder_name(stack.name, platform, stacks.lock_file(stack, platform), python)
    return folder if env_marker.damage(folder) is None else None


def health_check(stack: Stack, python: Path) -> str | None:
    """Return None if the worker can import the stack and compute with it, or its output if it cannot."""
    try:
        answer = ask(stack, python)
    except subprocess.TimeoutExpired:
        return f"    it did not answer within {HEALTH_S:g} s"
    if answer.returncode == 0:
        return None
    words = [*(answer.stderr + answer.stdout).splitlines()[-20:], f"exit status {answer.returncode}"]
    return "\n".join(f"    {line}" for line in words)


def ask(
    stack: Stack, python: Path, verb: str = PROBE, job: str = "", model: ModelPart | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a job in a stack's worker on the CPU without a run folder; raise TimeoutExpired after :data:`HEALTH_S`."""
    device = DevicePart(backend="cpu", framework=stack.framework, device_kind="cpu")
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "request.json")
        request = Request(verb=verb, job=job, run_dir=scratch, stack=stack.requested, device=device)
        request.model = model or request.model
        write_json(path, request.to_json())
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        command, variables = worker_command(python, path), child_environment(stack)
        with processes.running(command, cwd=scratch, env=variables, **pipes) as process:
            output, errors = process.communicate(timeout=HEALTH_S)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def worker_command(python: Path, request: Path) -> list[str]:
    """Return the command that runs a request in the worker: isolated, saving byte code like this program.

    On a nearly full disk, no byte code is saved: Python could leave truncated files, which it never checks.
    """
    keeps = not sys.dont_write_bytecode and shutil.disk_usage(python.parent).free > ROOM_FOR_BYTE_CODE
    return [str(python), "-I", *([] if keeps else ["-B"]), str(paths.WORKER), str(request)]


def child_environment(stack: Stack, extra: dict[str, str] | None = None) -> dict[str, str]:
    """Return the variables for a worker of this stack.

    HOME is a folder of the zoo, because old libraries read settings there (``~/.keras/keras.json``, ``~/.plaidml``).
    Later variables override earlier ones: memory allocator, user, stack, and ``extra`` for the device.
    """
    home = paths.cache_dir() / "homes" / stack.name
    with suppress(OSError):  # a read-only cache
        home.mkdir(parents=True, exist_ok=True)
    own = {"PYTHONNOUSERSITE": "1", "HOME": str(home), "KERAS_HOME": str(home / ".keras")}
    return {**variables.ALLOCATOR, **variables.passed_on(), **own, **stack.env, **(extra or {})}


def environments_dir() -> Path:
    return paths.cache_dir() / "envs"


def _folder_name(label: str, platform: str, lock: Path, python: Interpreter) -> str:
    parts = [file_sha256(lock), str(python.path), python.version, uv_client.version(), platform]
    return f"{label}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:10]}"


def _open(folder: Path, lock: Path, build_s: float) -> Environment:
    marker = env_marker.read_marker(folder)
    if marker is None:
        raise _removed(folder)
    with suppress(OSError):  # a read-only cache cannot record the time of use
        os.utime(folder / env_marker.MARKER)
    return Environment(
        python=env_marker.python_of(folder), folder=folder, lock=lock, lock_sha256=marker.lock_sha256,
        versions=marker.versions, build_s=build_s, python_version=marker.python["version"],
    )  # fmt: skip


def _removed(folder: Path) -> ZooError:
    return ZooError(f"The environment {folder} was removed while it was opened", "Run the same command again.")


def _discard(folder: Path) -> None:
    # Remove the marker first, so that an interruption leaves an unfinished folder.
    remove_path(folder / env_marker.MARKER)
    remove_path(folder)


def _wanted(folder: Path) -> Path:
    """Return the lock of processes that build an environment or wait for it."""
    return folder.with_name(f".{folder.name}.wanted")


def _used(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.used")


@contextmanager
def in_use(environment: Environment) -> Iterator[None]:
    """Prevent the removal of an environment inside the block; do nothing for a user's environment."""
    if environment.folder.parent != environments_dir():
        yield
        return
    with uses.using(_used(environment.folder)):
        if env_marker.read_marker(environment.folder) is None:
            raise _removed(environment.folder)
        yield


def list_environments(thorough: bool = True, verify: str = "") -> list[EnvironmentInfo]:
    """List every environment in the cache by name; with ``thorough``, check all files, which takes seconds."""
    root = environments_dir()
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return [_listed(folder, thorough, verify) for folder in folders]


def _listed(folder: Path, thorough: bool, verify: str) -> EnvironmentInfo:
    marker = env_marker.read_marker(folder)
    created = used = ""
    if marker:
        stamp = datetime.datetime.fromtimestamp((folder / env_marker.MARKER).stat().st_mtime, datetime.UTC)
        created, used = marker.created, stamp.isoformat(timespec="seconds")
    final = _final(folder)
    size = folder_size(folder) if thorough else 0
    defect = env_marker.damage(folder) if thorough else env_marker.defect(folder)
    state = "it is being built" if defect and uses.is_used(_wanted(final)) else defect or "ready"
    changed = env_marker.changed(folder, verify == "every") if verify and state == "ready" else []
    if changed:
        state = f"changed: {counted(len(changed), 'file')} not from its packages, such as {changed[0]}"
    return EnvironmentInfo(folder, final.name.rpartition("-")[0], size, state, created, used)


def damage(environment: Path) -> str | None:
    """Return what is missing in an environment, or None if it is complete or belongs to the user."""
    return env_marker.damage(environment) if environment.parent == environments_dir() else None


def _final(folder: Path) -> Path:
    """Return the final path of a folder that is being built or already finished."""
    if not folder.name.endswith(build.SUFFIX):
        return folder
    name = folder.name.removeprefix(".").removesuffix(build.SUFFIX)
    return folder.with_name(re.sub(r"(-[0-9a-f]{10})\.[0-9a-f]{8}$", r"\1", name))


def remove(wanted: list[str] | None) -> list[Path]:
    """Delete environments by the names of stacks or folders, or all (None); return the removed folders."""
    existing = list_environments(thorough=False)
    valid = sorted({item.stack for item in existing} | {item.folder.name for item in existing})
    require_known("environment", wanted or [], valid)
    gone = [item.folder for item in existing if wanted is None or {item.stack, item.folder.name} & set(wanted)]
    with ExitStack() as kept:
        for final in {_final(folder) for folder in gone}:
            for lock in (_wanted(final), _used(final)):
                kept.enter_context(uses.unused(lock, f"The environment {final}"))
        for folder in gone:
            _discard(folder)
    return gone


def inspect_own(python: Path, stack: Stack) -> tuple[Environment, list[str]]:
    """Return a user's environment, and its differences from the lock of a stack. The environment is not changed.

    ``python`` is its interpreter or its folder.
    """
    python = paths.user_path(python).absolute()
    python = env_marker.python_of(python) if python.is_dir() else python
    if not python.is_file():
        raise ZooError(f"There is no Python at {python}", "Give backend.python the path of an interpreter.")
    content = env_marker.inventory(python)
    platform, notes = f"{PYTHON_SYSTEMS.get(content.system, content.system)}-{architecture(content.machine)}", []
    if platform not in stack.platforms:
        other = min(stack.platforms)
        notes.append(f"stack {stack.name} has no lock for {platform}; compared with {other}")
        platform = other
    lock = stacks.lock_file(stack, platform)
    if not f"{content.python}.".startswith(f"{stack.python}."):
        notes.append(f"Python is {content.python}; the stack is made for {stack.python}")
    present: dict[str, str] = {canonicalize_name(name): version for name, version in content.versions.items()}
    for name, version in stacks.pins(lock).items():
        if name not in present:
            notes.append(f"{name} {version} is missing")
        elif present[name] != version:
            notes.append(f"{name} is {present[name]}; the lock has {version}")
    folder = python.parent.parent
    return Environment(python, folder, lock, file_sha256(lock), content.versions, 0.0, content.python), notes

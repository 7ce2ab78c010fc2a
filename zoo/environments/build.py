"""Build an environment under a temporary name, check it, move it into place, and then mark it as finished."""

import contextlib
import dataclasses
import datetime
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from zoo.core import console, processes
from zoo.core.errors import UnreachableIndexError, ZooError
from zoo.core.files import atomic_folder, atomic_write
from zoo.environments import marker, uv_client
from zoo.environments.interpreters import Interpreter
from zoo.environments.stacks import Stack

# Suffix of the folder of an unfinished environment.
SUFFIX = ".building"

HealthCheck = Callable[[Stack, Path], str | None]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The input of a build. ``healthy`` takes the stack and its Python, and returns None or the problem.

    ``base`` is a finished environment with some of the locked packages; these are linked instead of installed.
    """

    stack: Stack
    platform: str
    lock: Path
    lock_sha256: str
    python: Interpreter
    folder: Path
    healthy: HealthCheck
    base: Path | None = None


def build(plan: Plan) -> float:
    """Build ``plan.folder``, which must not exist; return the seconds. A failure leaves no files."""
    started, megabytes = time.monotonic(), plan.stack.platforms[plan.platform].size_mb or plan.stack.size_mb
    free_mb = shutil.disk_usage(plan.folder.parent).free / 1e6
    if free_mb < megabytes:
        why = f"only {free_mb:.0f} MB are free on the disk of {plan.folder.parent}"
        needed = f"The environment of {plan.stack.name} needs about {megabytes} MB; {why}"
        raise ZooError(needed, uv_client.SPACE_REMEDY)
    size = f"{megabytes / 1000:.1f} GB" if megabytes >= 1000 else f"{megabytes} MB"
    title = f"Building the environment of {plan.folder.name.rpartition('-')[0]} (about {size}, once only)"
    with atomic_folder(plan.folder, SUFFIX) as part, console.bar(title, unit="steps,") as bar:
        try:
            _fill(plan, part, bar)
        except OSError as error:
            folder = plan.folder.parent
            if error.errno == errno.ENOSPC:
                raise ZooError(f"The disk that holds {folder} is full", uv_client.SPACE_REMEDY) from error
            remedy = "Correct its permissions, or set ZOO_CACHE to another folder."
            raise ZooError(f"Cannot write below {folder}: {error}", remedy) from error
    seconds = time.monotonic() - started
    facts = marker.Marker(
        lock_sha256=plan.lock_sha256, python={"version": plan.python.version, "path": str(plan.python.path)},
        versions=marker.inventory(marker.python_of(plan.folder)).versions, contents=marker.contents(plan.folder),
        stack=plan.stack.name, platform=plan.platform, uv=uv_client.version(),
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), build_s=round(seconds, 1),
    )  # fmt: skip
    atomic_write(plan.folder / marker.MARKER, json.dumps(dataclasses.asdict(facts), indent=1))
    console.say(f"The environment of {plan.stack.name} is ready ({seconds:.0f} s).")
    return seconds


def _fill(plan: Plan, part: Path, bar: console.Bar) -> None:
    def follow(line: str) -> None:
        bar.note(line[:80])
        bar.advance(1)

    _create(plan, part, follow)
    _install(plan, part, follow)
    follow("checking that it works")
    # By default, Python saves the byte code of imports. A cache in ZOO_CACHE may be shared, so it is compiled now.
    compiled_by_use = not sys.dont_write_bytecode and not os.environ.get("ZOO_CACHE")
    with contextlib.nullcontext() if compiled_by_use else _compiling(part):
        words = plan.healthy(plan.stack, marker.python_of(part))
    if words is not None:
        raise ZooError(
            f"The libraries of stack {plan.stack.name} were installed, but do not work on this machine. "
            f"Output of the worker:\n{words}",
            "`python -m zoo doctor` describes this machine and the stacks that fit it.",
        )


def _create(plan: Plan, part: Path, follow: Callable[[str], None]) -> None:
    if plan.base and _linked(plan.base, part):
        return
    # Relocatable, because the finished folder is moved.
    command = ["venv", "--no-project", "--relocatable", "--python", str(plan.python.path), str(part)]
    outcome = uv_client.run(command, follow)
    if outcome.code != 0:
        raise _failed(plan, "An empty environment could not be made", outcome)


def _linked(base: Path, part: Path) -> bool:
    """Hard-link an environment's files, which installers replace and never modify; return False on failure."""
    try:
        shutil.copytree(base, part, copy_function=os.link, symlinks=True, dirs_exist_ok=True)
        (part / marker.MARKER).unlink()
    except (OSError, shutil.Error):
        shutil.rmtree(part)
        part.mkdir()
        return False
    return True


def _install(plan: Plan, part: Path, follow: Callable[[str], None]) -> None:
    command = ["pip", "sync", "--require-hashes", "--python", str(marker.python_of(part))]
    # Hashes determine what may be installed, so a file may come from any index.
    command += ["--index-strategy", "unsafe-best-match"]
    if not plan.stack.source_builds:
        command += ["--only-binary", ":all:"]
    outcome = _sync(command, plan.lock, follow)
    if uv_client.missing_cpu_build(outcome):
        # PyTorch's builds without CUDA are on a separate index, which uv can name. If it were tried first, uv would
        # ignore a folder in UV_FIND_LINKS.
        other = _sync([*command, "--torch-backend", "cpu"], plan.lock, follow)
        outcome = other if other.code == 0 else uv_client.CompletedCommand(other.code, outcome.words + other.words)
    damaged = sorted({package for package, _ in marker.lost_files(part)}) if outcome.code == 0 else []
    if damaged:
        # uv links files from its cache, so a truncated file is truncated there too.
        uv_client.run(["cache", "clean", *damaged], follow)
        outcome = _sync([*command, "--reinstall"], plan.lock, follow)
    if outcome.code != 0:
        raise _failed(plan, "The libraries could not be installed", outcome)


def _sync(command: list[str], lock: Path, follow: Callable[[str], None]) -> uv_client.CompletedCommand:
    outcome = uv_client.run([*command, str(lock)], follow)
    if outcome.code != 0 and uv_client.is_network(outcome):
        # uv asks the index whether its cached pages are fresh, except offline.
        cached = uv_client.run([*command, "--offline", str(lock)], follow)
        outcome = cached if cached.code == 0 else outcome
    return outcome


def _failed(plan: Plan, what: str, outcome: uv_client.CompletedCommand) -> ZooError:
    why, remedy = uv_client.reason(outcome)
    unreachable = uv_client.is_unreachable(outcome)
    gone = None if unreachable else outcome.find(r"there is no version of (\S+==[\w.!-]+)(?=\s)")
    if gone:
        why = f"{gone} is no longer on the package index"
        remedy = (
            f"Set a newer version and date in recipes/stacks/{plan.stack.name}/stack.yaml, then lock it again: "
            f"python scripts/lock.py {plan.stack.name}"
        )
    words = f"Output of the installer:\n{outcome.tail()}"
    kind = UnreachableIndexError if unreachable else ZooError
    return kind(f"{what} for stack {plan.stack.name}: {why}.\n{words}", remedy)


@contextlib.contextmanager
def _compiling(part: Path) -> Iterator[None]:
    """Byte-compile the libraries during the health check.

    The environment's own Python compiles, because uv fails on 3.6 and takes more CPU time on other versions. Tests of
    the libraries, a seventh of some stacks, are skipped. The exit status is ignored, because some libraries include
    files for other Pythons, such as templates.
    """
    site = str(marker.site_of(part))
    tests = re.escape(site) + r".*[/\\]tests?[/\\]"
    command = [str(marker.python_of(part)), "-I", "-m", "compileall", "-q", "-j", "0", "-x", tests, site]
    with processes.running(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield
        process.wait()

"""Make this checkout's own environment and run a command in it: what scripts/run.py does on a new enough Python.

The environment is .venv. It contains exactly what requirements.lock pins. The first command that needs the tools of
the tests adds them from requirements-dev.lock, which pins the same versions of everything else.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOCK = os.path.join(ROOT, "requirements.lock")
DEV_LOCK = os.path.join(ROOT, "requirements-dev.lock")
# Commands that need no more than the program itself.
PLAIN = ("zoo", "python")
VENV = os.path.join(ROOT, ".venv")
MARK = os.path.join(VENV, "zoo-checkout.sha256")  # empty while .venv is being made
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")


class RunError(Exception):
    """What went wrong, in words for people."""


def main(argv: list[str], find_python: Callable[[], str | None], missing: Callable[[], str], usage: str) -> int:
    """Make .venv if it must be made, then become the command.

    Args:
        argv: the command and its arguments.
        find_python: returns a Python to make .venv from, or None.
        missing: returns what to say where there is none.
        usage: the help text.
    """
    if not argv or argv[0] in ("-h", "--help"):
        print(usage)
        return 0 if argv else 2
    try:
        # An environment that has the tools of the tests keeps them.
        lock = LOCK if argv[0] in PLAIN and not os.path.exists(program("pytest")) else DEV_LOCK
        # An environment with the tools of the tests has all that the program needs.
        ready = {fingerprint(lock), fingerprint(DEV_LOCK)}
        if read_mark() not in ready:
            refuse_old_system()
            with alone():
                if read_mark() not in ready:  # another process may have made it in the meantime
                    prepare(lock, lambda: find_python() or fail(missing()))
        return become(argv)
    except RunError as trouble:
        say(f"error: {trouble}")
        return 1
    except OSError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("Interrupted.")
        return 130


def say(text: str) -> None:
    """Print for people; standard output belongs to the command."""
    print(text, file=sys.stderr, flush=True)


def refuse_old_system() -> None:
    """Name a macOS on which no wheels of the lock can be installed, before anything is downloaded."""
    version = platform.mac_ver()[0]
    if platform.machine() == "arm64" and version and int(version.partition(".")[0]) < 12:
        raise RunError(f"Apple silicon needs macOS 12 or newer, this is {version}. Update macOS first.")


def fingerprint(lock: str) -> str:
    """Changes whenever the environment of a lock must be made again."""
    digest = hashlib.sha256()
    for path in (lock, os.path.join(ROOT, "pyproject.toml")):
        with open(path, "rb") as source:
            digest.update(source.read())
    return digest.hexdigest()


def read_mark() -> str | None:
    """The fingerprint for which .venv was made, empty while it is being made, None where it is not ours."""
    if not os.path.exists(MARK):
        return None
    with open(MARK, encoding="ascii") as source:
        mark = source.read()
    return mark if os.path.exists(program("python")) else ""


def write_mark(text: str) -> None:
    """Write the mark in one step."""
    with open(MARK + ".new", "w", encoding="ascii") as target:
        target.write(text)
    os.replace(MARK + ".new", MARK)


def program(name: str) -> str:
    """The path of a program of .venv."""
    return os.path.join(BIN, name + (".exe" if os.name == "nt" else ""))


@contextmanager
def alone() -> Iterator[None]:
    """Hold a lock on requirements.lock, which the system lets go when this process ends, however it ends."""
    with open(LOCK, "rb") as handle:
        if not take(handle.fileno()):
            say("Another process is preparing .venv; waiting for it to finish.")
            while not take(handle.fileno()):
                time.sleep(0.2)
        yield


def take(handle: int) -> bool:
    """Try to take the lock; False where another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, 1 << 30, os.SEEK_SET)  # beyond its end, so that others can still read it
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def prepare(lock: str, find_python: Callable[[], str]) -> None:
    """Make .venv contain exactly what a lock pins, and this checkout itself."""
    if os.path.exists(VENV) and read_mark() is None:
        raise RunError(f"{VENV} exists but was not made by this script. Move it away, or use it yourself.")
    say(f"Preparing .venv from {os.path.basename(lock)} (once; 10 to 40 seconds) ...")
    if not runs(program("python")):
        create(find_python())
    write_mark("")
    sync(lock)
    write_mark(fingerprint(lock))
    say("Done.")


def create(python: str) -> None:
    """Make an empty .venv and put the locked uv into it."""
    shutil.rmtree(VENV, ignore_errors=True)
    os.makedirs(VENV)
    write_mark("")
    # Installing pip takes longer than all that follows, so that of the other Python works in .venv where it can.
    borrowed = lends_pip(python)
    call(
        [python, "-m", "venv", *(["--without-pip"] if borrowed else []), VENV],
        "an empty environment could not be made",
    )
    pip = [python, "-m", "pip", "--python", program("python")] if borrowed else [program("python"), "-m", "pip"]
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "uv.lock")
        with open(path, "w", encoding="utf-8") as target:
            target.write(locked("uv"))
        install = ["install", "-q", "--disable-pip-version-check", "--no-input", "--no-deps", "--require-hashes"]
        call([*pip, *install, "-r", path], "the installer uv could not be installed")


def lends_pip(python: str) -> bool:
    """Return whether a Python has a pip that can install for another one, as it can since 22.3."""
    test = "import pip, sys; sys.exit(int(pip.__version__.partition('.')[0]) < 23)"
    return subprocess.call([python, "-c", test], stderr=subprocess.DEVNULL, env=environment()) == 0


def locked(name: str) -> str:
    """The lines of requirements.lock that pin one package."""
    with open(LOCK, encoding="utf-8") as source:
        match = re.search(rf"^{name}==.*\\\n(?: +--hash=.*\n?)+", source.read(), re.MULTILINE)
    if not match:
        raise RunError(f"{LOCK} does not pin {name}; rebuild it with: python scripts/lock.py host")
    return match[0]


def sync(lock: str) -> None:
    """Install what a lock pins, remove everything else, and add the checkout itself."""
    pip = [program("uv"), "--no-config", "--color", "never", "pip"]
    options = ["-q", "--python", program("python")]
    if os.environ.get("PYTHONDONTWRITEBYTECODE"):
        # Else Python keeps the byte code of what it imports, a small part of all that is installed.
        options.append("--compile-bytecode")
    hashed = ["--require-hashes", "--index-strategy", "unsafe-best-match", lock]
    call([*pip, "sync", *options, *hashed], "the libraries could not be installed")
    own = ["--no-deps", "--no-build-isolation", "-e", ROOT]
    call([*pip, "install", *options, *own], "the checkout itself could not be installed")


def call(command: list[str], failure: str) -> None:
    """Run a tool to its end; show its words only where it fails."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment()
    )
    if done.returncode != 0:
        words = done.stdout.decode("utf-8", "replace").strip().splitlines()[-20:]
        output = "\n".join(f"    {line}" for line in words)
        raise RunError(f"{failure}; the tool's own words:\n{output}\nRun the same command again when that is mended.")


def environment() -> dict[str, str]:
    """The user's variables, without those that would bring another Python's libraries in."""
    unwanted = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__", "UV_PYTHON", "UV_SYSTEM_PYTHON")
    return {name: value for name, value in os.environ.items() if name not in unwanted}


def fail(reason: str) -> NoReturn:
    """Raise an error with a reason."""
    raise RunError(reason)


def runs(python: str) -> bool:
    """Return whether a program is there and runs."""
    return os.path.exists(python) and subprocess.call([python, "-I", "-c", ""], stderr=subprocess.DEVNULL) == 0


def become(argv: list[str]) -> int:
    """Replace this process by the command."""
    command = [program("python"), "-m", *argv] if argv[0] == "zoo" else [program(argv[0]), *argv[1:]]
    if not os.path.exists(command[0]):
        raise RunError(f"there is no program {argv[0]!r} in {BIN}; try zoo, python, pytest, ruff or mypy")
    variables = environment()
    variables["PATH"] = BIN + os.pathsep + variables.get("PATH", "")
    if os.name != "nt":
        os.execve(command[0], command, variables)  # noqa: S606
    return subprocess.call(command, env=variables)

"""Run a command in this checkout's own environment, which is made first where it is not there yet.

    python3 scripts/run.py zoo train model=mnist
    python3 scripts/run.py pytest
    python3 scripts/run.py python

The environment is .venv, made of exactly the versions and hashes in requirements.lock, and made again when that
file changes. Any Python from 3.8 may start this script; it looks for one of 3.11 or newer to make .venv from.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOCK = os.path.join(ROOT, "requirements.lock")
VENV = os.path.join(ROOT, ".venv")
MARK = os.path.join(VENV, "zoo-checkout.sha256")  # empty while .venv is being made
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
NAMES = ("python3.13", "python3.12", "python3.11", "python3.14", "python3", "python")
PLACES = (
    "~/.pyenv/versions/3.*/bin",
    "~/.local/share/uv/python/cpython-3.*/bin",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/Library/Frameworks/Python.framework/Versions/3.*/bin",
)


class RunError(Exception):
    """What went wrong, in words for people."""


def main(argv: list[str]) -> int:
    """Make .venv if it must be made, then become the command."""
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if argv else 2
    try:
        wanted = fingerprint()
        if read_mark() != wanted:
            with alone():
                if read_mark() != wanted:  # another process may have made it meanwhile
                    prepare(wanted)
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


def fingerprint() -> str:
    """Changes whenever the environment must be made again."""
    digest = hashlib.sha256()
    for path in (LOCK, os.path.join(ROOT, "pyproject.toml")):
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


def prepare(wanted: str) -> None:
    """Make .venv hold exactly what requirements.lock names, and this checkout itself."""
    if os.path.exists(VENV) and read_mark() is None:
        raise RunError(f"{VENV} exists but was not made by this script. Move it away, or use it yourself.")
    say("Preparing .venv from requirements.lock (once; about a minute) ...")
    if not usable(program("python")):
        create(find_python())
    write_mark("")
    sync()
    write_mark(wanted)
    say("Done.")


def create(python: str) -> None:
    """Make an empty .venv and put the locked uv into it."""
    shutil.rmtree(VENV, ignore_errors=True)
    os.makedirs(VENV)
    write_mark("")
    call([python, "-m", "venv", VENV], "an empty environment could not be made")
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "uv.lock")
        with open(path, "w", encoding="utf-8") as target:
            target.write(locked("uv"))
        pip = [program("python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
        call([*pip, "--no-deps", "--require-hashes", "-r", path], "the installer uv could not be installed")


def locked(name: str) -> str:
    """The lines of requirements.lock that pin one package."""
    with open(LOCK, encoding="utf-8") as source:
        match = re.search(rf"^{name}==.*\\\n(?: +--hash=.*\n?)+", source.read(), re.MULTILINE)
    if not match:
        raise RunError(f"{LOCK} does not pin {name}; rebuild it with: python scripts/lock.py host")
    return match[0]


def sync() -> None:
    """Install what the lock names, remove what it does not, and add the checkout itself."""
    pip = [program("uv"), "--no-config", "--color", "never", "pip"]
    # uv compiles itself: PYTHONDONTWRITEBYTECODE, where it is set, would leave that to every later start.
    options = ["-q", "--python", program("python"), "--compile-bytecode"]
    hashed = ["--require-hashes", "--index-strategy", "unsafe-best-match", LOCK]
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


def find_python() -> str:
    """A Python that is new enough and can make environments: this one, else one that is found."""
    seen = []
    for path in candidates():
        if path not in seen and usable(path):
            return path
        seen.append(path)
    oldest = ".".join(str(part) for part in OLDEST)
    raise RunError(
        f"Python {oldest} or newer (with its venv and ensurepip modules) is needed; this is "
        f"{sys.version.split()[0]}, and {len(set(seen))} others were looked at.\n"
        f"Install one (python.org, `brew install python@3.12`, `pyenv install 3.12`, `apt install python3-venv`)."
    )


def candidates() -> Iterator[str]:
    """Programs that may be a Python, this one first."""
    yield sys.executable
    for name in NAMES:
        path = shutil.which(name)
        if path and "shims" not in path:
            yield path
    for place in PLACES:
        for folder in sorted(glob.glob(os.path.expanduser(place)), reverse=True):
            yield from (path for path in (os.path.join(folder, name) for name in NAMES) if os.path.isfile(path))


def usable(python: str) -> bool:
    """True where a program runs, is a Python new enough, and can make environments."""
    test = f"import ensurepip, sys, venv; sys.exit(sys.version_info < {OLDEST})"
    try:
        done = subprocess.run(
            [python, "-I", "-c", test], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Run a command in this checkout's own environment, which is made first where it is not there yet.

    python3 scripts/run.py zoo train model=mnist
    python3 scripts/run.py pytest
    python3 scripts/run.py python

The environment is .venv, made of exactly the versions and hashes in requirements.lock, and made again when that
file changes. Commands such as pytest add the tools of the tests from requirements-dev.lock. You can start this
script with any Python from 2.7; it finds one of 3.11 or newer.
"""

# This file must parse on Python 2.7: it hands over to a newer one. scripts/environment.py does the work.
import glob
import os
import subprocess
import sys

OLDEST = (3, 11)
HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = ("python3.13", "python3.12", "python3.11", "python3.14", "python3", "python")
PLACES = (
    "~/.pyenv/versions/3.*/bin",
    "~/.local/share/uv/python/cpython-3.*/bin",
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/Library/Frameworks/Python.framework/Versions/3.*/bin",
)
MISSING = """Python %d.%d or newer (with its venv and ensurepip modules) is needed; this is %s, and none was found.
Install one (python.org, `brew install python@3.12`, `pyenv install 3.12`, `apt install python3-venv`)."""


def main(argv):
    # type: (list[str]) -> int
    """Go on with a Python that is new enough, then let environment.py work."""
    if sys.version_info < OLDEST:
        python = find_python()
        if python is None:
            sys.stderr.write("error: %s\n" % missing())
            return 1
        command = [python, os.path.join(HERE, "run.py")] + argv
        return subprocess.call(command) if os.name == "nt" else os.execv(python, command)  # noqa: S606
    sys.path.insert(0, HERE)
    import environment  # type: ignore[import-not-found]

    return int(environment.main(argv, find_python, missing, __doc__))


def missing():
    # type: () -> str
    """Return what to say where no Python is new enough."""
    return MISSING % (OLDEST[0], OLDEST[1], sys.version.split()[0])


def find_python():
    # type: () -> str | None
    """Return a Python that is new enough and can make environments: this one, else one that is found."""
    seen = []  # type: list[str]
    for path in candidates():
        if path not in seen and usable(path):
            return path
        seen.append(path)
    return None


def candidates():
    # type: () -> list[str]
    """Return programs that may be a Python, this one first."""
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder and "shims" not in folder]
    for place in PLACES:
        folders += sorted(glob.glob(os.path.expanduser(place)), reverse=True)
    suffix = ".exe" if os.name == "nt" else ""
    paths = [os.path.join(folder, name + suffix) for folder in folders for name in NAMES]
    return [path for path in [sys.executable] + paths if os.path.isfile(path)]


def usable(python):
    # type: (str) -> bool
    """Return whether a program runs, is a Python new enough, and can make environments."""
    test = "import ensurepip, sys, venv; sys.exit(sys.version_info < %r)" % (OLDEST,)
    limit = {"timeout": 20} if sys.version_info >= (3, 3) else {}
    try:
        with open(os.devnull, "w") as nowhere:
            command = [python, "-I", "-c", test]
            return subprocess.call(command, stdout=nowhere, stderr=nowhere, **limit) == 0  # type: ignore[arg-type]
    except (OSError, getattr(subprocess, "TimeoutExpired", OSError)):
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

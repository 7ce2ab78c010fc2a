"""Find the Python interpreters of this machine in the folders where tools install them.

The search path is not used, because it often has shims that start another program or fail. Each file is run once
before use.
"""

import glob
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from zoo.environments.machine import read_file
from zoo.environments.platforms import ARCHITECTURES, version_numbers

# Without the site module and further imports, because a survey starts every Python.
PROBE = (
    "import os, sys; print(sys.implementation.name, '%d.%d.%d' % sys.version_info[:3], "
    "os.uname()[4] if hasattr(os, 'uname') else os.environ.get('PROCESSOR_ARCHITECTURE'))"
)
PROBE_S = 15.0


class Interpreter(NamedTuple):
    """A working Python: version such as ``"3.8.18"``, its file, and ``"x86_64"`` or ``"arm64"``."""

    version: str
    path: Path
    arch: str


class Broken(NamedTuple):
    """A Python that does not work, and why."""

    path: Path
    reason: str


def roots() -> list[Path]:
    """Return folders that may contain interpreters, as glob patterns, preferred first.

    Conda environments come last, because they belong to users' projects and disappear with them.
    """
    home = Path.home()
    var = os.environ.get
    uv_folder = var("UV_PYTHON_INSTALL_DIR") or Path(var("XDG_DATA_HOME") or home / ".local/share") / "uv/python"
    frameworks = "Library/Frameworks/Python.framework/Versions/*/bin"
    brews = [Path(var("HOMEBREW_PREFIX") or "/opt/homebrew"), Path("/usr/local"), Path("/home/linuxbrew/.linuxbrew")]
    versioned = [
        Path(uv_folder) / "cpython-*/bin", Path(var("PYENV_ROOT") or home / ".pyenv") / "versions/*/bin",
        home / ".pyenv/versions/*/bin", Path(var("ASDF_DATA_DIR") or home / ".asdf") / "installs/python/*/bin",
        home / ".local/share/mise/installs/python/*/bin", Path("/", frameworks), Path("/opt/local", frameworks),
    ]  # fmt: skip
    system = [Path("/usr/local/bin"), Path("/usr/bin"), Path(sys.base_prefix) / "bin"]
    brewed = [brew / folder / "python@*/bin" for brew in brews for folder in ("opt", "Cellar")]
    cellar = [brew / "Cellar/python@*/*/bin" for brew in brews]
    return [*versioned, *brewed, *cellar, *system, *_conda_roots(home)]


def _conda_roots(home: Path) -> list[Path]:
    names = (
        "miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", "miniconda", "anaconda",
        "opt/miniconda3",
    )  # fmt: skip
    bases = [home / name for name in names] + [Path("/opt") / name for name in ("conda", *names[:4])]
    bases += [Path("/opt/homebrew/Caskroom") / name / "base" for name in ("miniconda", "miniforge", "mambaforge")]
    bases += [Path(os.environ[name]) for name in ("MAMBA_ROOT_PREFIX", "CONDA_ROOT") if os.environ.get(name)]
    # Conda lists all of its environments here; the list may belong to another user.
    listed = read_file(home / ".conda/environments.txt", []) or ""
    environments = [Path(line.strip()) for line in listed.splitlines() if line.strip()]
    conda = [path for base in bases for path in (base / "bin", base / "envs/*/bin")]
    return [*conda, *(folder / "bin" for folder in environments)]


def find(version: str, arch: str | None = None, places: Sequence[Path] | None = None) -> Interpreter | None:
    """Return the first working Python of a version such as ``"3.8"`` or ``"3.8.18"``.

    ``arch`` None accepts any; ``places`` are folders as glob patterns, :func:`roots` by default.
    """
    minor = ".".join(version.split(".")[:2])
    for path in _candidates(f"python{minor}", roots() if places is None else places):
        interpreter = verify(path)
        if isinstance(interpreter, Broken) or arch not in (None, interpreter.arch):
            continue
        if f"{interpreter.version}.".startswith(f"{version}."):
            return interpreter
    return None


def survey(places: Sequence[Path] | None = None) -> tuple[list[Interpreter], list[Broken]]:
    """Return every working Python 3 of this machine, and the broken interpreters with reasons."""
    paths = list(_candidates("python3.*", roots() if places is None else places))
    with ThreadPoolExecutor(max_workers=8) as pool:
        results = list(pool.map(verify, paths))
    working = [result for result in results if isinstance(result, Interpreter)]
    return working, [result for result in results if isinstance(result, Broken)]


def verify(path: Path) -> Interpreter | Broken:
    """Run a Python once to get its version and architecture."""
    command = [str(path), "-I", "-S", "-c", PROBE]  # -I also ignores PYTHON* variables
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROBE_S, check=False)
    except subprocess.TimeoutExpired:
        return Broken(path, f"did not answer within {PROBE_S:g} s")
    except (OSError, ValueError) as error:
        return Broken(path, str(error))
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return Broken(path, f"exit status {done.returncode}: {said[-1] if said else 'no message'}")
    words = done.stdout.split()
    if len(words) != 3 or not re.match(r"3\.\d+\.\d+", words[1]):
        return Broken(path, f"answered {' '.join(words)[:80]!r} instead of its version")
    implementation, version, machine = words
    if implementation != "cpython":
        return Broken(path, f"is {implementation}; the libraries are built for CPython")
    arch = ARCHITECTURES.get(machine.lower())
    return Interpreter(version, path, arch) if arch else Broken(path, f"is for {machine} processors")


def _candidates(name: str, places: Iterable[Path]) -> Iterator[Path]:
    """Yield files such as ``python3.8`` in the folders, each real file once, newest version folders first."""
    seen: set[Path] = set()
    for place in places:
        for path in map(Path, sorted(glob.glob(str(place / name)), key=version_numbers, reverse=True)):
            # Shims start other programs, and a virtual environment belongs to a project.
            borrowed = "shims" in path.parts or (path.parent.parent / "pyvenv.cfg").is_file()
            if not re.fullmatch(r"python3\.\d+", path.name) or borrowed:
                continue
            real = path.resolve()
            if real not in seen:
                seen.add(real)
                yield path


def is_downloadable(version: str) -> bool:
    return version_numbers(version)[:2] >= (3, 8)  # uv has no older ones


def how_to_get(version: str, arch: str | None = None) -> str:
    full = {"3.6": "3.6.15", "3.7": "3.7.16", "3.8": "3.8.18"}.get(version, version)
    translated = sys.platform == "darwin" and arch == "x86_64" and platform.machine() == "arm64"
    rosetta, subdir = ("arch -x86_64 ", "CONDA_SUBDIR=osx-64 ") if translated else ("", "")
    ways = [f"  {rosetta}pyenv install {full}", f"  {subdir}conda create -n python-{version} python={version}"]
    if is_downloadable(version):
        ways.append(f"  uv python install {version}")
    return "Install it with one of these, then run the same command again:\n" + "\n".join(ways)

"""Locate the zoo's own files and its cache, and check the paths that users give."""

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import stat
import sys
import unicodedata
import urllib.parse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zoo.core.errors import ZooError, nearest

PACKAGE = Path(__file__).resolve().parent.parent

# In a checkout, configs/ and recipes/ are next to the package; a wheel has them inside it.
ROOT = PACKAGE.parent if (PACKAGE.parent / "recipes" / "stacks").is_dir() else PACKAGE
CONFIGS = ROOT / "configs"
RECIPES = ROOT / "recipes"
STACKS = RECIPES / "stacks"
WORKER = PACKAGE / "worker" / "__main__.py"

# Commands that download an address, by its scheme.
_FETCH = {
    **dict.fromkeys(("http", "https", "ftp"), "curl -LO {}"),
    "s3": "aws s3 cp --recursive {} DIR", "gs": "gcloud storage cp -r {} DIR",
}  # fmt: skip


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra, for a zoo that is not on PyPI."""
    if ROOT == PACKAGE:
        return f"pip install '/PATH/keras_gpu_zoo-VERSION-py3-none-any.whl[{extra}]', with the wheel that you installed"
    # The environment of a checkout has uv and no pip; without -e, a copy would replace the checkout.
    everywhere = " --system" if sys.prefix == sys.base_prefix else ""
    return f"{shlex.quote(sys.executable)} -m uv pip install{everywhere} -e {shlex.quote(f'{ROOT}[{extra}]')}"


def optional(library: str, extra: str, need: str) -> Any:
    """Import a library of an extra; ``need`` says what needs it, for the error."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ZooError(f"{need}: {error}", install_command(extra)) from error


def package_folder(name: str) -> Path:
    """Return the folder of an installed package without importing it, which can be slow; empty if it is missing."""
    spec = importlib.util.find_spec(name)
    return Path(str(spec.origin if spec else "")).parent


def worker_modules(folder: str) -> list[str]:
    """List the modules in a folder of the worker, such as ``exporters``, which the host must not import."""
    return sorted(path.stem for path in (PACKAGE / "worker" / folder).glob("*.py") if path.stem != "__init__")


def cache_dir() -> Path:
    """Return the folder for environments, data and downloads: ``$ZOO_CACHE``, or the user's cache folder."""
    chosen = os.environ.get("ZOO_CACHE")
    if chosen:
        return user_path(chosen).resolve()
    import platformdirs

    return Path(platformdirs.user_cache_dir("zoo", appauthor=False))


def user_dir() -> Path:
    """Return the folder for user data that no command can recreate, such as evidence."""
    import platformdirs

    return Path(platformdirs.user_data_dir("zoo", appauthor=False))


def free_bytes() -> int:
    """Return the free space for the cache, whose folder may not exist yet."""
    folder = cache_dir()
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free


def cache_in_use() -> Path:
    """Return the lock that every command holds while it may read the cache."""
    return cache_dir() / ".used"


def make_cache() -> None:
    """Create the cache folder if missing, readable by its owner only.

    An existing folder is made private too, unless it is set by ``$ZOO_CACHE``, because it may be shared on purpose.
    """
    folder = cache_dir()
    with contextlib.suppress(OSError):  # reported by the code that fails to write there
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
        elif not os.environ.get("ZOO_CACHE") and folder.stat().st_mode & 0o077:
            folder.chmod(0o700)


def refuse_address(given: str) -> None:
    """Raise an error that says how to download an address, unless a file has this name."""
    if (address := re.match(r"([A-Za-z][A-Za-z0-9+.-]+)://", given)) and not os.path.lexists(given):
        command = _FETCH.get(address[1].lower(), "")
        fetch = f"Download it first{', for example: ' if command else '.'}{command}".format(shlex.quote(given))
        local = f"Give the path: {shlex.quote(urllib.parse.unquote(given[len(address[0]) :]))}"
        raise ZooError(
            f"{given} is an address, but only files on the disk can be read",
            local if address[1].lower() == "file" else f"{fetch}\nThen give the path of the file.",
        )


def user_path(text: str | Path) -> Path:
    """Return the path that a user gives, with ``~`` and ``~name`` expanded to home folders."""
    given = str(text)
    refuse_address(given)
    if is_special(given):
        raise ZooError(f"{given} is a pipe or a device: neither a file nor a folder", "Name a file or folder.")
    if "\0" in given:
        raise ZooError(f"{given!r} is not a path: it contains a NUL character", "Check the path.")
    path = Path(os.path.expanduser(given))
    home = path.parts[0] if path.parts else ""
    if home.startswith("~") and not os.path.lexists(home):
        raise ZooError(
            f"{given} cannot be found: there is no user {home[1:]}",
            f"Give the full path; for a file or folder whose name begins with ~, give ./{given}",
        )
    return path


def is_special(given: str) -> bool:
    """Return whether a path is a pipe, socket or device, except the shell's, because reading it may never end."""
    try:
        mode = os.stat(given).st_mode
    except (OSError, ValueError):  # reported by the code that opens it
        return False
    regular = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return not regular and not given.startswith(("/dev/fd/", "/dev/std", os.devnull))


def existing_input(text: str | Path, remedy: str) -> Path:
    """Return the path of a file or folder that the user names, after checking that it exists."""
    path = user_path(text)
    try:
        if path.is_symlink() and not path.exists():
            raise ZooError(f"{path} is a link to {os.readlink(path)}, and leads to no file or folder", remedy)
        if not path.exists():
            raise ZooError(f"There is no file or folder {path}{nearest(path.name, siblings(path))}", remedy)
        if not path.is_file() and not path.is_dir():
            raise ZooError(f"{path} is neither a file nor a folder", remedy)
    except OSError as error:
        raise ZooError(f"{path} cannot be opened: {error.strerror or error}", remedy) from error
    return path


def refuse_unspellable(names: Iterable[str], folder: Path) -> None:
    """Raise an error if a folder name that becomes a class name is not UTF-8, because results cannot contain it."""
    for name in names:
        if any("\udc80" <= letter <= "\udcff" for letter in name):
            raise ZooError(
                f"The name of the folder {ascii(name)[1:-1]} in {folder} is not UTF-8 and cannot name a class",
                "Rename that folder.",
            )


def key_of(name: str) -> str:
    """Normalize case, white space and the code of accents, so that equal keys mean one class."""
    return unicodedata.normalize("NFC", " ".join(name.split())).casefold()


def siblings(path: Path) -> list[str]:
    """List the names next to a path, or nothing without its folder; raise OSError if this cannot be listed."""
    return [entry.name for entry in path.parent.iterdir() if entry != path] if path.parent.is_dir() else []

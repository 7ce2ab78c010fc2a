"""Read sources and write new files and folders, for the scripts that convert data sets."""

import contextlib
import csv
import multiprocessing
import os
import secrets
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO
from xml.etree import ElementTree

from scipy.io.matlab import MatReadError

from zoo.core import console, files, paths
from zoo.core.errors import INTERRUPTED, ZooError, listed
from zoo.data.text import files as text_files

MOST_BYTES_OF_NAME = 255
# Limit on reading a file that may be damaged: for starting Python and its libraries, and for the content.
_SECONDS, _BYTES_PER_SECOND = 60.0, 1e6
# What readers of other formats raise for damaged files.
_DAMAGE = (
    ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, NameError, OSError, RuntimeError, SyntaxError,
    TypeError, ValueError, ElementTree.ParseError, MatReadError, csv.Error, struct.error, tokenize.TokenError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def run(convert: Callable[[], None], sources: list[str]) -> int:
    """Convert sources and return the exit status."""
    for path in sources:
        console.expect_path(path)
    try:
        convert()
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    except KeyboardInterrupt:
        console.say("\nInterrupted.")
        return INTERRUPTED
    except (OSError, ValueError, MemoryError, csv.Error) as error:
        name = getattr(error, "filename", None) or listed(sources)
        console.fail(f"{name} cannot be read: {_reason(error)}", "Is it complete, and a file or folder as needed?")
        return 1
    return 0


def existing(path: str | Path) -> Path:
    """Return the path of an existing file or folder; refuse pipes and devices, which may never end."""
    return paths.existing_input(path, "Name an existing file or folder.")


def names_below(folder: Path) -> Iterator[str]:
    """Yield the names of all files below a folder; an unreadable folder is an error."""

    def failed(closed: Path, error: OSError) -> None:
        raise files.storage_error("read", closed, error) from error

    return files.files_below(folder, failed)


def below(folder: Path, *ends: str, deep: bool = True) -> list[Path]:
    """Return the files in a folder, or also in its folders, whose names have one of the ends, in order."""
    near = (path.name for path in folder.iterdir() if not files.is_of_system(path.name) and not path.is_dir())
    names = names_below(folder) if deep else sorted(near)
    return [existing(folder / name) for name in names if name.endswith(ends)]


def text_of(file: Path, encoding: str = "auto") -> str:
    return text_files.read(existing(file), encoding)[0]


def lines_of(stream: TextIO) -> Iterator[str]:
    """Yield the lines of a text; raise ValueError for one that no table has, because it may fill the memory."""
    while line := stream.readline(text_files.MOST_LINE):
        if len(line) == text_files.MOST_LINE:
            raise ValueError(f"a line has at least {len(line):,} characters")
        yield line


@contextlib.contextmanager
def reading(file: Path, remedy: str = "Is it complete?") -> Iterator[None]:
    """Raise an error that names the file for damage that the reader of its format meets."""
    try:
        yield
    except _DAMAGE as error:
        raise ZooError(f"{file} cannot be read: {_reason(error)}", remedy) from error


def require_harmless(read: Callable[[Path], object], file: Path) -> None:
    """Read a file in another process first: libraries in C may crash, hang or take all memory for damaged files."""
    seconds = _SECONDS + file.stat().st_size / _BYTES_PER_SECOND
    process = multiprocessing.Process(target=_quietly, args=(read, file), daemon=True)
    process.start()
    process.join(seconds)
    if process.exitcode != 0:
        process.kill()
        code = process.exitcode
        what = f"took more than {seconds:.0f} seconds" if code is None else f"crashed (exit {code})"
        raise ZooError(f"{file} cannot be read: its library {what}", "Is it complete?")


def _quietly(read: Callable[[Path], object], file: Path) -> None:
    with contextlib.suppress(Exception):  # raised again by the caller, which reads it for its content
        read(file)


def _reason(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    # NumPy advises allow_pickle for every file in another format.
    return "it is not a file of arrays of numbers" if "pickle" in str(error) else shown(error, 300) or repr(error)


def shown(content: object, most: int = 80) -> str:
    """Return the beginning of a cell or a line for a message."""
    text = str(content)
    return text if len(text) <= most else f"{text[:most]}..."


def refuse_name(name: str, what: str) -> None:
    """Raise an error if a word cannot be the name of a file or folder; ``what`` describes it."""
    hidden, size = name.startswith("."), len(name.encode("utf-8", "replace"))
    if not name.strip() or hidden or not name.isprintable() or {*"/\\"} & {*name} or size > MOST_BYTES_OF_NAME - 4:
        raise ZooError(f"{what} {shown(name)!r} cannot be the name of a file or folder", "Rename it.")


def refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise ZooError(f"{target} already exists", "Give a new name.")


@contextlib.contextmanager
def new(target: Path, parents: bool = False) -> Iterator[Path]:
    """Yield a path next to ``target`` for a new file or folder, and rename it when the block succeeds.

    ``parents`` creates the parent folders first.
    """
    part = target.with_name(f".{secrets.token_hex(4)}.part")
    with files.storage_errors("write", target, "Check its folder, its permissions and the free space."):
        try:
            if parents:
                target.parent.mkdir(parents=True, exist_ok=True)
            yield part
            refuse_existing(target)
            os.rename(part, target)
        finally:
            if os.path.lexists(part):
                files.remove(part)

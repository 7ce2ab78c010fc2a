"""Write files and folders atomically, compute checksums, and serialize access with lock files."""

import contextlib
import errno
import hashlib
import itertools
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from zoo.core import console, file_locks
from zoo.core.errors import StorageError, ZooError

# Folders that operating systems and storage devices create next to or in the user's.
OF_SYSTEMS = (
    "__macosx", "@eadir", "$recycle.bin", "system volume information", "lost+found", "#recycle", "#snapshot",
)  # fmt: skip
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def atomic_file(path: Path, remedy: str = "", parents: bool = False) -> Iterator[Path]:
    """Yield a temporary path next to ``path``, and rename it to ``path`` when the block succeeds.

    ``remedy`` replaces the default advice in the error; ``parents`` creates the parent folders first.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        os.replace(part, path)
    except OSError as error:
        raise storage_error("write", path, error, remedy) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def parts_of(path: Path) -> list[Path]:
    """List the temporary files of ``path`` that killed processes left behind."""
    return list(path.parent.glob(f".{path.name}.*.part"))


def atomic_write(path: Path, content: str | bytes, remedy: str = "", parents: bool = False) -> None:
    """Write a file atomically (text as UTF-8), synced to disk before it gets its name; see :func:`atomic_file`."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with atomic_file(path, remedy, parents) as part, part.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def write_json(path: Path, content: Any, parents: bool = False) -> None:
    """Write indented JSON with sorted keys atomically; raise TypeError if the content is not JSON."""
    atomic_write(path, json.dumps(content, indent=2, sort_keys=True) + "\n", parents=parents)


def read_json(path: Path, remedy: str) -> Any:
    """Read a JSON file; ``remedy`` is the advice if that fails."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ZooError(f"{path} cannot be read: {error}", remedy) from error


def free_path(path: Path, sign: str = "_") -> Path:
    """Return a path that does not exist: the given one, or one with ``sign`` and a number in its name."""
    numbered = (path.with_stem(f"{path.stem}{sign}{number}") for number in itertools.count(2))
    return next(each for each in itertools.chain([path], numbered) if not os.path.lexists(each))


@contextlib.contextmanager
def atomic_folder(folder: Path, suffix: str = ".part") -> Iterator[Path]:
    """Yield an empty folder next to ``folder``, and replace ``folder`` with it when the block succeeds.

    Parent folders are created. The caller holds a lock, so existing temporary folders were left by killed processes
    and are removed. The new one has a unique name, because a child of such a process may still be writing.
    """
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}{suffix}")
    try:
        part.mkdir(parents=True)
        for path in part.parent.iterdir():
            if path != part and path.name.startswith(f".{folder.name}.") and path.name.endswith(suffix):
                shutil.rmtree(path, ignore_errors=True)
        yield part
        if folder.exists():
            remove(folder)
        os.replace(part, folder)
    except OSError as error:
        raise storage_error("write", folder, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove(path: Path) -> None:
    """Remove a file or folder; retry for two seconds if another process still writes there."""
    for pause_s in (0.1, 0.4, 1.5, 0.0):
        try:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        except FileNotFoundError:  # another process is removing it too
            continue
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or not pause_s:
                raise storage_error("remove", path, error) from error
            time.sleep(pause_s)
        else:
            return


def check_writable(path: Path, remedy: str = "") -> None:
    """Raise an error if a file cannot be written; ``remedy`` replaces the default advice."""
    with storage_errors("write", path, remedy):
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        try_folder(path.parent)


def try_folder(folder: Path) -> None:
    """Test that a folder, or its nearest existing parent, is writable; raise OSError if it is not."""
    import tempfile

    place = folder.absolute()
    with tempfile.TemporaryFile(dir=next(each for each in (place, *place.parents) if os.path.lexists(each))):
        pass


SEAL = "sums.json"


def seal(folder: Path) -> None:
    """Write the checksums of all files in a folder, except hidden files, for :func:`is_sealed`."""
    write_json(folder / SEAL, _sums(folder))


def is_sealed(folder: Path) -> bool:
    """Return True if the files in a folder have not changed since :func:`seal`."""
    try:
        return bool(json.loads((folder / SEAL).read_text(encoding="utf-8")) == _sums(folder))
    except PermissionError as error:
        raise storage_error("read", folder, error) from error
    except (OSError, ValueError, StorageError):  # missing or incomplete
        return False


def fill_once(folder: Path, purpose: str, what: str, fill: Callable[[Path], object]) -> None:
    """Fill and seal a folder, unless it is sealed already; other processes wait for the first one.

    Args:
        purpose: see :func:`locked`.
        what: the content, for the warning about a damaged folder.
        fill: writes the content to the folder that it gets.
    """
    if is_sealed(folder):
        return
    with locked(folder.with_name(f".{folder.name}.lock"), purpose):
        if is_sealed(folder):
            return
        if folder.exists():
            console.warn(f"The prepared {what} in {folder} were damaged; they are prepared again")
        with atomic_folder(folder) as part:
            fill(part)
            seal(part)


def _sums(folder: Path) -> dict[str, str]:
    names = [path.name for path in folder.iterdir() if path.name != SEAL and not path.name.startswith(".")]
    return {name: file_sha256(folder / name) for name in names}


def file_sha256(path: Path) -> str:
    return file_digest(path, "sha256")


def file_digest(path: Path, algorithm: str) -> str:
    """Compute the hexadecimal checksum of a file with an algorithm of :mod:`hashlib`."""
    with storage_errors("read", path), path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def is_of_system(name: str) -> bool:
    """Return True for hidden files, and for folders that operating systems and storage devices create."""
    return name.startswith(".") or name.lower() in OF_SYSTEMS


def files_below(
    folder: Path, failed: Callable[[Path, OSError], None], twice: Callable[[Path, str], None] = lambda *_: None
) -> Iterator[str]:
    """Yield the names of all files below a folder in order, relative to it and with ``/``.

    Only one folder's entries are in memory at a time. Links are followed, except to a parent folder or to a folder
    that is listed anyway; a dangling link counts as a file. Hidden files and folders are skipped: on foreign file
    systems, macOS stores the metadata of photo.png in ._photo.png.

    Args:
        failed: called with each folder that cannot be listed and is skipped.
        twice: called with each skipped link to a folder that is listed anyway, and that folder.
    """
    real = os.path.realpath(folder)
    if real == "/" or f"{real}/".startswith(("/proc/", "/sys/")):
        raise ZooError(f"{folder} contains files of the running system", "Name a folder of your own files.")

    def below(folder: Path, prefix: str, above: list[str]) -> Iterator[str]:
        try:
            with os.scandir(folder) as entries:
                visible = [entry for entry in entries if not is_of_system(entry.name)]
        except OSError as error:
            failed(folder, error)
            return
        if prefix and {"run.json", "config.yaml"} <= {entry.name for entry in visible}:
            return  # do not read the plots of a run as data
        names = []
        for entry in visible:
            console.expect_path(entry.name)
            try:
                names.append(entry.name + "/" * entry.is_dir())
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    names.append(entry.name)
                else:
                    failed(folder / entry.name, error)
        links = {entry.name + "/" for entry in visible if entry.is_symlink()}
        for name in sorted(names):
            if not name.endswith("/"):
                yield prefix + name
                continue
            real = os.path.join(above[-1], name[:-1])
            if name in links:
                real = os.path.realpath(folder / name)
                if any(Path(each).is_relative_to(real) for each in above):
                    continue
                # Below a folder of the list, and not inside a hidden one.
                if any(real.startswith(f"{each}/") and "/." not in real[len(each) :] for each in above):
                    twice(folder / name, real)
                    continue
            yield from below(folder / name, prefix + name, [*above, real])

    return below(folder, "", [real])


def folder_size(folder: Path) -> int:
    """Return the total size in bytes of all files below a folder; links are not followed."""
    total = 0
    for path in (os.path.join(where, name) for where, _, names in os.walk(folder) for name in names):
        with contextlib.suppress(FileNotFoundError):  # just removed
            total += os.lstat(path).st_size
    return total


@contextlib.contextmanager
def locked(path: Path, purpose: str) -> Iterator[None]:
    """Hold a lock file, whose folder is created first, and print a message while another process holds it.

    ``purpose`` completes the message "Another process ...", such as ``"fetches mnist.npz"``.
    """
    with contextlib.ExitStack() as opened:
        with storage_errors("write", path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = file_locks.open_file(path)
            opened.callback(os.close, handle)
            if not file_locks.acquire(handle):
                console.say(f"Another process {purpose}; waiting for it to finish.")
                file_locks.acquire(handle, wait=True)
        yield


@contextlib.contextmanager
def storage_errors(verb: str, path: Path, remedy: str = "") -> Iterator[None]:
    """Raise :func:`storage_error` for an OSError of the block."""
    try:
        yield
    except OSError as error:
        raise storage_error(verb, path, error, remedy) from error


def storage_error(verb: str, path: Path, error: BaseException, remedy: str = "") -> StorageError:
    """Build the error for a file or folder that cannot be read, written or removed; ``verb`` is one of these.

    ``remedy`` replaces the default advice.
    """
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        reason = f"it is a link to {os.readlink(path)}, which does not exist"
    return StorageError(f"Cannot {verb} {path}: {reason}", remedy or _advice(verb, error), path)


def room(error: OSError) -> str:
    return "Raise the limit on file sizes (ulimit -f)" if error.errno == errno.EFBIG else "Free some space"


def _advice(verb: str, error: BaseException) -> str:
    if verb == "read" and getattr(error, "errno", True) is None:  # from the HDF5 library
        return "The file is damaged or of another kind: download it again, or save it again."
    if verb == "read":
        return "Check that it exists and that you have permission to read it."
    if verb == "remove":
        return "Check that its disk is not read-only and that you have permission to write to its folder."
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "Create its folder first, and no part of it may be a file. ZOO_CACHE=FOLDER keeps caches elsewhere."
    if isinstance(error, OSError) and error.errno in FULL:
        return f"{room(error)}; ZOO_CACHE=FOLDER keeps caches elsewhere."
    return "Check its permissions and the free space; ZOO_CACHE=FOLDER keeps caches elsewhere."

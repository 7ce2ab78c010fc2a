"""Allow one writer per run folder, with a lock that the host holds and its worker inherits."""

import json
import os
import shlex
import time
from pathlib import Path
from typing import Any

from zoo.core import console, file_locks, uses
from zoo.core.errors import ZooError

NAME = ".lock"
# A worker whose host was killed writes a checkpoint before it ends.
PATIENCE_S = 20.0


def take(folder: Path, command: list[str]) -> int:
    """Lock a run folder; wait if only an orphaned worker holds the lock. Other processes show ``command``.

    Return an open file; the lock is held while it, or a copy in another process, is open.
    """
    try:
        handle = file_locks.open_file(folder / NAME)
    except OSError as error:
        raise ZooError(
            f"Cannot write into the run folder {folder}: {error.strerror}", "Make it writable, or copy it."
        ) from error
    deadline = time.monotonic() + PATIENCE_S
    while not _locked(handle, folder):
        holder = _holder(folder)
        alive = holder is not None and uses.is_alive(holder["pid"])
        if alive or time.monotonic() > deadline:
            os.close(handle)
            other = f"process {holder['pid']}: {' '.join(holder['command'])}" if holder else "another process"
            raise ZooError(
                f"{folder} is being written by {other}",
                f"Watch it: python -m zoo attach {shlex.quote(str(folder))}\nOr stop it, and try again.",
            )
        time.sleep(0.2)
    os.ftruncate(handle, 0)
    os.write(handle, json.dumps({"pid": os.getpid(), "command": command}).encode())
    return handle


def _locked(handle: int, folder: Path) -> bool:
    try:
        return file_locks.acquire(handle)
    except OSError:
        console.warn(f"{folder} is on a file system without locks: do not run two commands on it")
        return True


def is_held(folder: Path) -> bool:
    """Return True if a process is writing into a run folder; do not change the folder."""
    try:
        handle = file_locks.open_file(folder / NAME, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _locked(handle, folder)
    finally:
        os.close(handle)


def _holder(folder: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return {"pid": int(content["pid"]), "command": [str(word) for word in content["command"]]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def release(handle: int) -> None:
    """Release the lock of this process; a worker may still hold it."""
    os.close(handle)

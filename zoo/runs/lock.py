"""Allow one writer a run folder: a lock that the host holds and its worker inherits.

The system lets go of it when the last of the two is gone, however they ended; nothing has to be cleaned up.
"""

import errno
import json
import os
import shlex
import stat
import time
from pathlib import Path
from typing import Any

from zoo.core import console, uses
from zoo.core.errors import ZooError

NAME = ".lock"
# A worker whose host was killed writes a checkpoint before it ends.
PATIENCE_S = 20.0


def take(folder: Path, command: list[str]) -> int:
    """Lock a run folder; wait a little where only an orphaned worker holds the lock.

    Args:
        folder: the run folder.
        command: shown to others who want to write there.

    Returns:
        An open file: as long as it, or a copy in another process, is open, nobody else gets the lock.
    """
    try:
        handle = _opened(folder, os.O_RDWR | os.O_CREAT)
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


def _opened(folder: Path, flags: int) -> int:
    """Open the lock file; it is never followed as a link nor waited for as a pipe, which a stranger's could be.

    Raises:
        OSError: it cannot be opened, or is no plain file.
    """
    handle = os.open(folder / NAME, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, f"{NAME} is no plain file")


def _locked(handle: int, folder: Path) -> bool:
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN):
            return False
        console.warn(f"The disk of {folder} knows no locks: start no second command that writes there")
    return True


def is_held(folder: Path) -> bool:
    """Whether a process writes into a run folder now; nothing is changed there."""
    try:
        handle = _opened(folder, os.O_RDONLY)
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

"""Hold a shared lock on objects in use, so that no other process removes them."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from zoo.core import console, file_locks
from zoo.core.errors import ZooError

_handles: list[int] = []
# Settings whose values are neither kept nor shown.
_SECRET = re.compile(r"((?:\b|_)(?:token|password|secret))=.*", re.IGNORECASE | re.DOTALL)


def without_secrets(word: str) -> str:
    return console.without_passwords(_SECRET.sub(r"\1=...", word))


def handles() -> list[int]:
    """Return the open locks of this process, for child processes that use the same objects."""
    return list(_handles)


@contextlib.contextmanager
def using(lock: Path) -> Iterator[None]:
    """Hold a shared lock inside the block, unless the cache is read-only; wait while the object is being removed."""
    handle = _opened(lock)
    if handle is None:
        yield
        return
    _handles.append(handle)
    try:
        with contextlib.suppress(OSError):  # a file system without locks, or a full one
            if _alone(handle):
                os.ftruncate(handle, 0)
            file_locks.acquire(handle, shared=True, wait=True)
            words = ["python -m zoo", *sys.argv[1:]] if sys.argv[0].endswith("__main__.py") else sys.argv
            shown = " ".join(map(without_secrets, words))
            command = " ".join(shown.split())[:200]
            os.write(handle, f"{os.getpid()} {command}\n".encode("utf-8", "replace"))
        yield
    finally:
        _handles.remove(handle)
        os.close(handle)


@contextlib.contextmanager
def unused(lock: Path, what: str) -> Iterator[None]:
    """Hold the lock of :func:`using` exclusively inside the block; ``what`` names the object in the error."""
    handle = _opened(lock)
    try:
        if handle is not None and not _alone(handle):
            raise ZooError(f"{what} is in use by {_users(lock)}", "Wait until it ends, or stop it, and try again.")
        yield
    finally:
        if handle is not None:
            os.close(handle)


def is_used(lock: Path) -> bool:
    try:
        with unused(lock, "It"):
            return False
    except ZooError:
        return True


def _opened(lock: Path) -> int | None:
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        return file_locks.open_file(lock, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    except OSError:
        return None


def _alone(handle: int) -> bool:
    try:
        return file_locks.acquire(handle)
    except OSError:  # a file system without locks
        return True


def _users(lock: Path) -> str:
    rows = [line.partition(" ") for line in lock.read_text(encoding="utf-8", errors="replace").splitlines()]
    alive = {pid: command for pid, _, command in rows if pid.isdecimal() and is_alive(int(pid))}
    return "; ".join(f"process {pid} ({command})" for pid, command in alive.items()) or "another process"


def is_alive(pid: int) -> bool:
    try:
        with contextlib.suppress(PermissionError, OverflowError):
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True

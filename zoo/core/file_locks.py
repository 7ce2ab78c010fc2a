"""Lock files. The system releases a lock when the last process that has it open ends, even by a crash."""

import errno
import os
import stat
from pathlib import Path


def open_file(path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Open a lock file without following links or waiting for pipes; raise OSError if it is not a regular file."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(errno.EINVAL, f"{path.name} is not a plain file")


def acquire(handle: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file; return False if another process holds it. Raise OSError on file systems without locks."""
    import fcntl

    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except (BlockingIOError, PermissionError):
        if wait:
            raise
        return False
    return True

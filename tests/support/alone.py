"""Turns between the processes of a test run: a test that compares times waits until no other runs."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def turn(config: pytest.Config, alone: bool) -> Iterator[None]:
    """Hold the lock of all tests, shared or alone; while one waits to be alone, no other begins."""
    cache = getattr(config, "cache", None)
    if cache is None or fcntl is None or not hasattr(config, "workerinput"):
        yield
        return
    folder = cache.mkdir("turns")
    with ExitStack() as files:
        door, room = (files.enter_context((folder / name).open("w")) for name in ("door", "room"))
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield

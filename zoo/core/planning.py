"""Stop a command where it would begin to do something, so that its plan passes every check before that."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.core import paths

_planning = False


class PlanEnd(BaseException):
    """The end of the checks.

    Args:
        missing: what kept the rest from being checked, such as ``mnist.npz is not downloaded yet``, or an empty text.
        reached: the context of the run that would begin now, if there is one.
    """

    def __init__(self, missing: str, reached: Any = None) -> None:
        super().__init__(missing)
        self.missing, self.reached = missing, reached


def stop(missing: str = "", reached: Any = None) -> None:
    """Stop where a command is only planned; do nothing in any other."""
    if _planning:
        raise PlanEnd(missing, reached)


def is_planning() -> bool:
    """Whether a command is only planned."""
    return _planning


@contextlib.contextmanager
def planning() -> Iterator[None]:
    """Plan what runs inside; what it prepares goes into a cache that is gone afterwards."""
    global _planning
    chosen, _planning = os.environ.get("ZOO_CACHE"), True
    try:
        with tempfile.TemporaryDirectory(prefix="zoo-plan-") as scratch:
            _link_cache(paths.cache_dir(), Path(scratch))
            os.environ["ZOO_CACHE"] = scratch
            yield
    finally:
        _planning = False
        os.environ.pop("ZOO_CACHE", None)
        if chosen is not None:
            os.environ["ZOO_CACHE"] = chosen


def _link_cache(cache: Path, scratch: Path) -> None:
    for group in cache.iterdir() if cache.is_dir() else ():
        if group.is_dir() and not group.name.startswith("."):
            (scratch / group.name).mkdir()
            for entry in group.iterdir():
                if not entry.name.startswith("."):
                    (scratch / group.name / entry.name).symlink_to(entry)

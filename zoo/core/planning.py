"""Run the checks of a command without its work (dry run)."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.core import paths

_planning = False


class PlanEnd(BaseException):
    """Raised after the last check of a planned command.

    Args:
        missing: why the remaining checks were skipped, such as ``mnist.npz is not downloaded yet``, or empty.
        reached: the context of the run that would begin now, if any.
    """

    def __init__(self, missing: str, reached: Any = None) -> None:
        super().__init__(missing)
        self.missing, self.reached = missing, reached


def stop(missing: str = "", reached: Any = None) -> None:
    """End a planned command; do nothing in a real one."""
    if _planning:
        raise PlanEnd(missing, reached)


def is_planning() -> bool:
    return _planning


@contextlib.contextmanager
def planning() -> Iterator[None]:
    """Plan the commands in the block; files that they prepare are written to a temporary cache."""
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

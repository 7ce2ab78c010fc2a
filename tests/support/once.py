"""What several processes of a test run need and one of them computes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def once(folder: Path, compute: Callable[[Path], None]) -> Path:
    """The folder, filled by whoever comes first; what went wrong then fails every test that needs it."""
    done, failed = (folder.with_name(folder.name + suffix) for suffix in (".done", ".failed"))
    with FileLock(folder.with_name(folder.name + ".lock")):
        if failed.exists():
            pytest.fail(failed.read_text())
        if not done.exists():
            try:
                compute(folder)
            except Exception as error:
                failed.write_text(f"{type(error).__name__}: {error}")
                raise
            done.touch()
    return folder

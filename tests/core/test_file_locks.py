"""Lock files: held by one alone or by several together, and never followed anywhere."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from zoo.core import file_locks


def test_one_holds_it_alone_until_its_file_is_closed(tmp_path: Path) -> None:
    first, second = (file_locks.open_file(tmp_path / "lock") for _ in range(2))
    assert file_locks.acquire(first)
    assert not file_locks.acquire(second)
    assert not file_locks.acquire(second, shared=True)
    os.close(first)
    assert file_locks.acquire(second)
    os.close(second)


def test_several_hold_it_together(tmp_path: Path) -> None:
    first, second = (file_locks.open_file(tmp_path / "lock") for _ in range(2))
    assert file_locks.acquire(first, shared=True, wait=True)
    assert file_locks.acquire(second, shared=True, wait=True)
    assert not file_locks.acquire(second)
    os.close(first)
    os.close(second)


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("elsewhere"), os.mkfifo, os.mkdir])
def test_what_is_not_a_plain_file_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "lock")
    with pytest.raises(OSError, match=r"lock|plain"):
        file_locks.open_file(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()

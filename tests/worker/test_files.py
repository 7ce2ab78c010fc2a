"""Files of the worker: the old one or the new one, and nothing between."""

import os
from pathlib import Path

import pytest

from zoo.worker import files


def test_a_file_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with files.atomic_write(str(path)) as out:
        out.write(b"new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("error", [OSError("no room"), KeyboardInterrupt()])
def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(type(error)), files.atomic_write(str(path)) as out:  # noqa: PT012
        out.write(b"half")
        raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.json"]

"""Checkpoints: whole or not there, whatever happens while they are written."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.worker.errors import UserError
from zoo.worker.training import checkpoint_files
from zoo.worker.training.checkpoint_files import Checkpoints

ARRAYS = {"weights/00000": np.arange(6, dtype=np.float32).reshape(2, 3), "draws/step": np.array(7, np.int64)}


def saved(folder: Path, *numbers: int, keep: int = 2) -> Checkpoints:
    files = Checkpoints(str(folder), keep)
    for number in numbers:
        files.save(number, {**ARRAYS, "n": np.array(number)}, {"epoch": number, "share": 0.1})
    return files


def loaded(files: Checkpoints) -> tuple[int | None, list[str]]:
    """Number of the checkpoint that is taken, and what is said on the way."""
    said: list[str] = []
    checkpoint = files.load(said.append)
    return None if checkpoint is None else int(checkpoint[0]["n"]), said


def test_what_comes_back_is_what_was_saved(tmp_path: Path) -> None:
    checkpoint = saved(tmp_path, 5).load(pytest.fail)
    assert checkpoint is not None
    arrays, state = checkpoint
    assert state == {"epoch": 5, "share": 0.1}
    for name, value in ARRAYS.items():
        assert arrays[name].dtype == value.dtype
        np.testing.assert_array_equal(arrays[name], value)


@pytest.mark.parametrize(("of", "taken"), [("a", True), ("", False), ("b", False)])
def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, of: str, taken: bool) -> None:
    Checkpoints(str(tmp_path), run_id=of).save(1, ARRAYS, {"epoch": 1})
    mine = Checkpoints(str(tmp_path), run_id="a")
    if taken:
        assert mine.load(pytest.fail)
        return
    with pytest.raises(UserError, match="belongs to another run"):
        mine.load(pytest.fail)


def test_the_last_few_stay(tmp_path: Path) -> None:
    files = saved(tmp_path, 1, 2, 3, 4, keep=2)
    assert files.numbers() == [3, 4]
    assert len(list((tmp_path / "checkpoints").iterdir())) == 4


def test_a_course_that_was_left_leaves_nothing_behind(tmp_path: Path) -> None:
    files = saved(tmp_path, 10, 20)
    files.save(15, {"n": np.array(15)}, {})
    assert files.numbers() == [10, 15]


@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_after_a_power_loss_at_any_byte_the_one_before_is_taken(tmp_path: Path, suffix: str) -> None:
    """Every prefix of the newest file: what a disk may hold that lost the rest."""
    files = saved(tmp_path, 1, 2)
    path = tmp_path / "checkpoints" / f"0000000002.{suffix}"
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        number, said = loaded(files)
        if suffix == "json" and whole[:length] == whole.rstrip():  # only the last line break is gone
            continue
        assert number == 1, length
        assert "damaged" in said[0]


def test_one_flipped_byte_is_noticed(tmp_path: Path) -> None:
    files = saved(tmp_path, 1, 2)
    path = tmp_path / "checkpoints" / "0000000002.npz"
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert loaded(files)[0] == 1


def test_where_all_are_damaged_there_is_none(tmp_path: Path) -> None:
    files = saved(tmp_path, 1, 2)
    for path in (tmp_path / "checkpoints").glob("*.npz"):
        path.write_bytes(b"")
    number, said = loaded(files)
    assert number is None
    assert len(said) == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b'{"format": 1}', b'{"format": 99, "sha256": ""}', b"\xff"])
def test_a_strange_description_is_passed_over(tmp_path: Path, content: bytes) -> None:
    files = saved(tmp_path, 1, 2)
    (tmp_path / "checkpoints" / "0000000002.json").write_bytes(content)
    assert loaded(files)[0] == 1


def test_no_pickle_is_ever_read(tmp_path: Path) -> None:
    files = saved(tmp_path, 1, 2)
    path = tmp_path / "checkpoints" / "0000000002"
    np.savez(path.with_suffix(".npz"), n=np.array([{"a": 1}], object))
    about = json.loads(path.with_suffix(".json").read_text())
    import hashlib

    about["sha256"] = hashlib.sha256(path.with_suffix(".npz").read_bytes()).hexdigest()
    path.with_suffix(".json").write_text(json.dumps(about))
    number, said = loaded(files)
    assert number == 1
    assert "allow_pickle" in said[0]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    files = saved(tmp_path, 1)

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint_files.os, call, refuse)
    with pytest.raises(OSError, match="No space"):
        files.save(2, ARRAYS, {})
    monkeypatch.undo()
    assert loaded(files) == (1, [])
    assert not list((tmp_path / "checkpoints").glob("*.part"))


def test_a_full_disk_costs_no_checkpoint_that_was_there(small_disk: Path) -> None:
    files = saved(small_disk, 1)
    with pytest.raises(OSError, match=r"free|space"):
        files.save(2, {"n": np.zeros(1_000_000)}, {})
    assert loaded(files) == (1, [])
    files.save(3, {"n": np.array(3)}, {})
    assert loaded(files) == (3, [])


def test_room_that_is_to_stay_free_stays_free(small_disk: Path) -> None:
    files = Checkpoints(str(small_disk), 2, reserve_bytes=1_500_000)
    files.save(1, {"n": np.array(1)}, {})
    with pytest.raises(OSError, match="free"):
        files.save(2, {"n": np.zeros(100_000)}, {})
    assert os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize >= 1_500_000


def test_files_of_other_names_are_no_checkpoints(tmp_path: Path) -> None:
    files = saved(tmp_path, 3)
    for name in ("12x.json", "notes.json", "7.npz", "8.json.part"):
        (tmp_path / "checkpoints" / name).touch()
    assert files.numbers() == [3]
    assert Checkpoints(str(tmp_path / "nowhere")).numbers() == []


def test_numbers_of_numpy_become_plain_ones(tmp_path: Path) -> None:
    files = Checkpoints(str(tmp_path))
    files.save(1, ARRAYS, {"loss": np.float32(0.5), "step": np.int64(3)})
    checkpoint = files.load(pytest.fail)
    assert checkpoint is not None
    assert checkpoint[1] == {"loss": 0.5, "step": 3}

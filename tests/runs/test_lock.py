"""One writer a run folder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.runs import lock

HOLD = "import sys, time; from pathlib import Path; from zoo.runs import lock\n"
HOLD += "handle = lock.take(Path(sys.argv[1]), ['zoo', 'train'])\n"
WAIT = "print('held', flush=True); time.sleep(60)\n"
# A child that keeps the lock when its parent is killed, as a worker does for a moment.
LEAVE = "import subprocess\nsubprocess.Popen(['sleep', sys.argv[2]], pass_fds=[handle])\n"


def holding(folder: Path, code: str, *words: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", HOLD + code + WAIT, str(folder), *words]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_two_commands_cannot_write_into_one_folder(tmp_path: Path) -> None:
    holder = holding(tmp_path, "")
    assert lock.is_held(tmp_path)
    with pytest.raises(ZooError, match=f"process {holder.pid}: zoo train") as error:
        lock.take(tmp_path, ["second"])
    assert "attach" in error.value.remedy
    holder.kill()
    holder.wait()
    assert not lock.is_held(tmp_path)
    lock.release(lock.take(tmp_path, ["second"]))


def test_an_orphan_is_waited_for(tmp_path: Path) -> None:
    holder = holding(tmp_path, LEAVE, "1.5")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert lock.is_held(tmp_path)
    began = time.monotonic()
    lock.release(lock.take(tmp_path, ["next"]))
    assert time.monotonic() - began < 10


def test_an_orphan_that_stays_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE_S", 0.5)
    holder = holding(tmp_path, LEAVE, "4")
    holder.kill()
    holder.wait()
    with pytest.raises(ZooError, match="is being written"):
        lock.take(tmp_path, ["next"])


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="Cannot write into the run folder"):
        lock.take(tmp_path / "nowhere", ["x"])


def test_the_lock_is_for_its_owner_alone(tmp_path: Path) -> None:
    lock.release(lock.take(tmp_path, ["x"]))
    assert os.stat(tmp_path / lock.NAME).st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"pid": "x"}', b"\xff\xfe"])
def test_a_damaged_lock_file_locks_all_the_same(tmp_path: Path, content: bytes) -> None:
    (tmp_path / lock.NAME).write_bytes(content)
    lock.release(lock.take(tmp_path, ["x"]))

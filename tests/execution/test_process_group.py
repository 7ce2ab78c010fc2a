"""Several processes as one: one record of events, and none outlives another that failed."""

import os
import sys
import time
from pathlib import Path

import pytest

from zoo.execution import process_group
from zoo.execution.launchers import local

SCRIPT = """
import os, sys, time
rank = int(os.environ["ZOO_RANK"])
print("line", rank, os.environ["OMP_NUM_THREADS"], flush=True)
if sys.argv[1] == str(rank):
    sys.exit(5)
time.sleep(0 if sys.argv[1] == "none" else 60)
"""


def started(folder: Path, failing: str, lost: list[tuple[int, int]]) -> process_group.ProcessGroup:
    command = [sys.executable, "-c", SCRIPT, failing]
    starter = process_group.Starter(local, command, dict(os.environ), folder, None)
    meeting = process_group.Meeting(3, 2)
    return process_group.start(starter, False, meeting, lambda rank, status: lost.append((rank, status)))


def test_all_end_well(tmp_path: Path) -> None:
    lost: list[tuple[int, int]] = []
    group = started(tmp_path, "none", lost)
    assert sorted(group.events()) == [b"line 0 2\n", b"line 1 2\n", b"line 2 2\n"]
    assert group.wait() == 0
    assert not lost


def test_where_one_fails_the_others_are_ended_and_its_status_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_group, "GRACE_S", 0.2)
    lost: list[tuple[int, int]] = []
    group, began = started(tmp_path, "2", lost), time.monotonic()
    assert len(list(group.events())) >= 1
    assert group.wait() == 5
    assert lost == [(2, 5)]
    assert time.monotonic() - began < 30
    assert not group.is_running()


def test_each_start_has_a_key_of_its_own() -> None:
    meeting = process_group.Meeting(2, 1)
    one, two = meeting.requested(), meeting.requested()
    assert one["key"] != two["key"]
    assert one["processes"] == 2

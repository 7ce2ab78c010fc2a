"""Several processes as one: one record of events, and none outlives another that failed."""

import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.parts import distributed
from zoo.config.schemas.launching import Distributed, Shareable
from zoo.execution import diagnosis, execution, process_group
from zoo.execution.launchers import local
from zoo.execution.worker_process import Outcome
from zoo.protocol.events import GROUP_BROKEN, ErrorEvent

SCRIPT = """
import os, sys, time
rank = int(os.environ["ZOO_RANK"])
print("line", rank, os.environ["OMP_NUM_THREADS"], flush=True)
if sys.argv[1] == str(rank):
    sys.exit(5)
if sys.argv[1] == f"kill {rank}":
    open("now", "w").close()
    time.sleep(0.3)
    os.kill(os.getpid(), 9)
if sys.argv[1] == "kill 2":
    while not os.path.exists("now"):
        time.sleep(0.01)
    sys.exit(1)
time.sleep(0 if sys.argv[1] == "none" else 60)
"""


def started(folder: Path, failing: str, lost: list[tuple[str, int]]) -> process_group.ProcessGroup:
    command = [sys.executable, "-c", SCRIPT, failing]
    starter = process_group.Starter(local, command, dict(os.environ), folder, None)
    meeting = distributed(3, threads=2)
    return process_group.start(starter, False, meeting, lambda rank, status: lost.append((rank, status)))


def test_all_end_well(tmp_path: Path) -> None:
    lost: list[tuple[str, int]] = []
    group = started(tmp_path, "none", lost)
    assert sorted(group.events()) == [b"line 0 2\n", b"line 1 2\n", b"line 2 2\n"]
    assert group.wait() == 0
    assert not lost


def test_where_one_fails_the_others_are_ended_and_its_status_is_theirs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_group, "GRACE_S", 0.2)
    lost: list[tuple[str, int]] = []
    group, began = started(tmp_path, "2", lost), time.monotonic()
    assert len(list(group.events())) >= 1
    assert group.wait() == 5
    assert lost == [("process 2 of 3", 5)]
    assert time.monotonic() - began < 30
    assert not group.is_running()


def test_one_that_is_killed_is_named_and_not_those_that_give_up_because_of_it(tmp_path: Path) -> None:
    lost: list[tuple[str, int]] = []
    group, began = started(tmp_path, "kill 2", lost), time.monotonic()
    assert len(list(group.events())) >= 1
    assert group.wait() == -9
    assert lost == [("process 2 of 3", -9)]
    assert time.monotonic() - began < 30


def test_a_signal_is_the_error_of_the_run_unless_the_process_reported_one(tmp_path: Path) -> None:
    outcome = Outcome()
    outcome.lost("process 1 of 2", -9)
    assert outcome.error is not None
    assert outcome.error.message == "process 1 of 2 was killed by SIGKILL"
    outcome = Outcome()
    outcome.lost("process 1 of 2", 137)
    outcome.returncode = 137
    assert (
        diagnosis.failure(outcome, tmp_path, "cpu").message
        == "Process 1 of 2 ended with status 137 without an error message"
    )
    outcome = Outcome(error=ErrorEvent(message="the connection was lost", type=GROUP_BROKEN))
    outcome.lost("process 1 of 2", -9)
    assert outcome.error is not None
    assert outcome.error.message == "process 1 of 2 was killed by SIGKILL"
    outcome = Outcome(error=ErrorEvent(message="no such column", type="X"))
    outcome.lost("process 1 of 2", -9)
    assert outcome.error is not None
    assert outcome.error.message == "no such column"


class EndedJob:
    """A job that has ended."""

    ticket, place = "", "elsewhere"

    def is_running(self) -> bool:
        return False

    def interrupt(self) -> None:
        """Nothing runs."""

    def kill(self) -> None:
        """Nothing runs."""

    def wait(self) -> int:
        return 1


def test_errors_of_a_process_elsewhere_are_read_from_its_log(tmp_path: Path) -> None:
    log = tmp_path / "worker_1.log"
    log.write_text('{"event": "error", "type": "X", "message": "of an earlier attempt"}\n')
    process = process_group.RemoteProcess(EndedJob(), log)
    with log.open("a") as out:
        out.write('a line\n{"event": "error", "type": "X", "message": "no such column"}\nanother\n')
    assert [b"no such column" in line for line in process.events()] == [True]


def test_addresses_of_an_attempt_that_was_cut_off_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".meeting-aa-0.json").write_text("{}")
    started(tmp_path, "none", []).wait()
    assert not list(tmp_path.glob(".meeting-*"))


def test_each_start_has_its_own_id() -> None:
    context: Any = SimpleNamespace(settings=Shareable(Distributed(2)), machine=SimpleNamespace(cores=4))
    one, two = execution._meeting(context), execution._meeting(context)
    assert one
    assert two
    assert one.id != two.id
    assert (one.processes, one.threads, one.host) == (2, 2, "127.0.0.1")

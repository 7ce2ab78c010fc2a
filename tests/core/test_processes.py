"""zoo.core.processes: what is started ends, and signals find their handlers again."""

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from tests.support import CHECKOUT
from zoo.core import processes
from zoo.protocol import variables


def test_a_program_runs_without_input_and_tells_its_status() -> None:
    code = "import sys; print(repr(sys.stdin.read())); sys.exit(3)"
    with processes.running([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read() == "''\n"
    assert process.returncode == 3
    assert process.stdout.closed


def test_leaving_the_block_ends_the_program_and_its_children() -> None:
    code = "import subprocess; child = subprocess.Popen(['sleep', '100']); print(child.pid, flush=True); child.wait()"
    began = time.monotonic()
    with processes.running([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = psutil.Process(int(process.stdout.readline()))
    assert time.monotonic() - began < 60
    # An orphan that was killed is a process until init has waited for it.
    child.wait(60)
    assert process.returncode in (-signal.SIGTERM, -signal.SIGKILL)


def test_a_pipe_is_closed_on_our_side_where_the_block_fails() -> None:
    with processes.death_pipe() as (theirs, ours):
        os.fstat(theirs)
    os.close(ours)  # stays open, and theirs does not
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(theirs)
    with pytest.raises(KeyError), processes.death_pipe() as (theirs, ours):
        raise KeyError
    for handle in (theirs, ours):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handle)


def test_signals_are_handled_inside_and_as_before_afterwards() -> None:
    heard: list[int] = []
    before = signal.getsignal(signal.SIGUSR1)
    with processes.handling({signal.SIGUSR1: lambda number, _: heard.append(number)}):
        os.kill(os.getpid(), signal.SIGUSR1)
        assert heard == [signal.SIGUSR1]
    assert signal.getsignal(signal.SIGUSR1) == before


def test_another_thread_handles_no_signals() -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with processes.handling({signal.SIGUSR1: lambda *_: None}):
                pass
        except ValueError as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert failed == []


def test_a_process_ends_with_its_starter(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = os.pipe()
    monkeypatch.setenv(variables.WATCH_HOST, str(theirs))
    child = os.fork()
    if not child:
        os.close(ours)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        processes.end_with_starter()
        time.sleep(10)
        os._exit(0)
    os.write(ours, b"still here")
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.close(ours)
    os.close(theirs)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM


@pytest.mark.parametrize("value", [None, "", "none"])
def test_nothing_is_watched_where_nobody_asked(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(variables.WATCH_HOST, raising=False)
    if value is not None:
        monkeypatch.setenv(variables.WATCH_HOST, value)
    before = threading.active_count()
    processes.end_with_starter()
    assert threading.active_count() == before
    assert variables.WATCH_HOST not in os.environ


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_with_its_starter_without_a_group_of_its_own(number: int) -> None:
    code = f"""
import os, subprocess, sys
sys.path.insert(0, {str(CHECKOUT)!r})
from zoo.core import processes
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
with processes.ended_with_us(child.pid):
    print(child.pid, flush=True)
    child.wait()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        child = psutil.Process(int(starter.stdout.readline()))
        time.sleep(0.5)
        starter.send_signal(number)
        child.wait(30)


def test_a_child_that_outlives_the_block_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
        with processes.ended_with_us(child.pid):
            pass
        time.sleep(0.5)
        assert child.poll() is None
        child.kill()

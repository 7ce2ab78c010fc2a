"""Starting, following and stopping a worker."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import SUPPORT
from zoo.core import paths
from zoo.execution import diagnosis, watchdog, worker_process
from zoo.protocol.events import EVENTS, event_of

FAKE = SUPPORT / "fake_worker.py"


@pytest.fixture(autouse=True)
def fake_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "WORKER", FAKE)


def run(folder: Path, script: str, on_event: Any = None) -> tuple[worker_process.Outcome, list[dict[str, Any]]]:
    request = folder / "request.json"
    request.write_text(json.dumps({"protocol": 1, "verb": "train", "run_dir": str(folder)}))
    seen: list[dict[str, Any]] = []

    def show(event: dict[str, Any]) -> None:
        seen.append(event)
        if on_event:
            on_event(event)

    outcome = worker_process.run(Path(sys.executable), {**os.environ, "FAKE_WORKER": script}, request, show)
    return outcome, seen


def test_a_whole_run_is_followed(tmp_path: Path) -> None:
    outcome, seen = run(tmp_path, "ok")
    assert outcome.done is not None
    assert outcome.done.metrics["test_accuracy"] == 0.93
    assert [event.epoch for event in outcome.epochs] == [1, 2, 3]
    assert outcome.artifacts == [tmp_path / "weights.npz"]
    kept = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event_of(event) for event in kept] == seen


def test_an_error_is_told_with_the_log(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, "error")
    error = diagnosis.failure(outcome, tmp_path, "cpu")
    assert "it does not work" in error.message
    assert "a framework says why" in error.remedy


def test_a_crash_shows_the_end_of_the_log(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, "crash")
    assert outcome.returncode == 139
    assert "Fatal: something in C went wrong" in str(diagnosis.failure(outcome, tmp_path, "cpu"))


def test_a_killed_worker_is_told_by_the_name_of_the_signal(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, "killed")
    assert "SIGKILL" in diagnosis.failure(outcome, tmp_path, "cpu").message
    assert len(outcome.epochs) == 1


def test_a_torn_last_line_is_said_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome, _ = run(tmp_path, "torn")
    assert len(outcome.epochs) == 1
    assert "not an event" in capsys.readouterr().err


def test_ctrl_c_asks_politely_and_the_worker_finishes_its_step(tmp_path: Path) -> None:
    outcome, _ = run(tmp_path, "slow", _interrupt_on("epoch"))
    assert outcome.interrupted
    assert outcome.done is not None
    assert outcome.done.stopped == "interrupted"


def test_a_deaf_worker_is_ended_after_three_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "INTERRUPT_GRACE_S", 0.5)
    monkeypatch.setattr(watchdog, "TERMINATE_GRACE_S", 0.3)
    began = time.monotonic()
    outcome, _ = run(tmp_path, "deaf", _interrupt_on("epoch"))
    assert outcome.interrupted
    assert outcome.returncode == -signal.SIGKILL
    assert 0.7 < time.monotonic() - began < 5


def test_no_worker_outlives_a_killed_host(tmp_path: Path) -> None:
    """The real worker ends when it can no longer speak; here its Emitter is put to the test."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from zoo.worker.events import Emitter\n"
        "e = Emitter(sys.stdout)\n"
        "try:\n    [(e.emit('step', step=1), time.sleep(0.01)) for _ in range(1000)]\n"
        "except BrokenPipeError:\n    sys.stderr.write('gone'); sys.stderr.flush(); import os; os._exit(7)\n"
    )
    worker = subprocess.Popen(
        [sys.executable, "-c", code, str(paths.PACKAGE.parent)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdout is not None
    worker.stdout.readline()
    worker.stdout.close()
    assert worker.wait(timeout=10) == 7


def _interrupt_on(name: str) -> Any:
    def act(event: dict[str, Any]) -> None:
        if isinstance(event, EVENTS[name]):
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    return act

"""zoo.execution.diagnosis: why a worker did not finish."""

import signal
from pathlib import Path
from typing import Any

import pytest

from zoo.execution import diagnosis
from zoo.execution.worker_process import Outcome
from zoo.protocol.events import DoneEvent, ErrorEvent, StartEvent

OUT_OF_MEMORY = ErrorEvent(type="OutOfMemoryError", message="out of memory")


def test_the_end_of_the_log_is_read(tmp_path: Path) -> None:
    assert diagnosis.log_tail(tmp_path) == ""
    (tmp_path / "worker.log").write_bytes(b"\xff first\n" + b"".join(b"%d\n" % n for n in range(30)))
    assert diagnosis.log_tail(tmp_path, 2) == "28\n29"
    assert diagnosis.log_tail(tmp_path).splitlines()[0] == "10"
    (tmp_path / "worker.log").write_bytes(b"x" * 70_000 + b"\nlast\n")
    assert diagnosis.log_tail(tmp_path) == "x" * (65_536 - 6) + "\nlast"


@pytest.mark.parametrize(
    ("outcome", "log", "expected"),
    [
        ({"error": OUT_OF_MEMORY}, "", True),
        ({"error": ErrorEvent(type="ValueError", message="x"), "returncode": -9}, "", False),
        ({"returncode": -signal.SIGKILL}, "", True),
        ({"returncode": -signal.SIGABRT}, "what(): std::bad_alloc\n", True),
        ({"returncode": -signal.SIGABRT}, "bad_alloc\n1\n2\n3\n", False),
        ({"returncode": -signal.SIGABRT}, "", False),
        ({"returncode": 1}, "bad_alloc\n", False),
        ({"returncode": -signal.SIGKILL, "done": DoneEvent(metrics={}, phases={})}, "", False),
        ({"returncode": -signal.SIGKILL, "interrupted": True}, "", False),
        ({"returncode": -signal.SIGKILL, "silent_s": 3.0}, "", False),
    ],
)
def test_memory_ran_out_where_the_worker_or_the_system_says_so(
    tmp_path: Path, outcome: dict[str, Any], log: str, expected: bool
) -> None:
    (tmp_path / "worker.log").write_text(log)
    assert diagnosis.ran_out_of_memory(Outcome(**outcome), tmp_path) is expected


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ({"error": OUT_OF_MEMORY}, "The worker stopped: out of memory"),
        ({"silent_s": 90.0}, "The worker did not respond for 1.5 minutes and was ended"),
        ({"returncode": -9}, "The worker was killed by SIGKILL (often by the system, out of memory: try a smaller"),
        ({"returncode": -6}, "The worker was killed by SIGABRT"),
        ({"returncode": 3}, "The worker ended with status 3 without an error message"),
        ({"returncode": 3, "process": "process 1 of 2"}, "Process 1 of 2 ended with status 3 without an error"),
    ],
)
def test_the_error_names_how_the_worker_ended(tmp_path: Path, outcome: dict[str, Any], message: str) -> None:
    (tmp_path / "worker.log").write_text("one\ntwo\n")
    error = diagnosis.failure(Outcome(**outcome), tmp_path, "cpu")
    assert error.message.startswith(message)
    if "error" in outcome:
        assert error.remedy == f"The unfinished run and its log are in {tmp_path}."
    else:
        assert error.remedy == f"The end of {tmp_path}/worker.log:\n  | one\n  | two"


def test_an_abort_without_memory_is_named_as_one(tmp_path: Path) -> None:
    (tmp_path / "worker.log").write_text("bad_alloc\n")
    error = diagnosis.failure(Outcome(returncode=-6), tmp_path, "cpu")
    assert error.message == "The worker was killed by SIGABRT (out of memory: try a smaller batch)"


def test_known_issues_of_the_log_and_of_the_probes_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worker.log").write_text("ValueError: float64 is not supported on the GPU\n")
    explained = diagnosis.failure(Outcome(returncode=1), tmp_path, "mlx").remedy
    assert "mlx-float64" in explained
    broken = Outcome(returncode=1, error=ErrorEvent(type="GroupError", message="process 1 is lost"))
    assert "mlx-float64" not in diagnosis.failure(broken, tmp_path, "mlx").remedy
    (tmp_path / "worker.log").write_text("")
    rows = [{"issue": "mlx-float64"}, {"issue": None}]
    start = StartEvent(versions={}, device={}, probes=rows)
    remedy = diagnosis.failure(Outcome(returncode=1, start=start), tmp_path, "cpu").remedy
    assert remedy.startswith("mlx-float64: ")
    assert "what to do: " in remedy

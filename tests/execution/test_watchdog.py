"""zoo.execution.watchdog: silence is counted in minutes, and signs of life begin it again."""

import io
import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from zoo.cli.main import main
from zoo.execution import launchers, watchdog, worker_process


def watched(patience_s: float) -> tuple[Any, threading.Event, list[float]]:
    killed, silences = threading.Event(), list[float]()
    process: Any = SimpleNamespace(kill=killed.set)
    return watchdog.watchdog(process, patience_s, silences.append), killed, silences


def test_a_silent_process_is_killed_when_its_time_is_over_and_not_before() -> None:
    context, killed, silences = watched(0.3)
    began = time.monotonic()
    with context:
        assert killed.wait(30)
    assert 0.3 < silences[0] < time.monotonic() - began + 0.1
    assert len(silences) == 1


def test_a_process_that_shows_life_is_left_alone() -> None:
    context, killed, silences = watched(2.0)
    began = time.monotonic()
    with context as alive:
        while time.monotonic() - began < 2.5:
            alive()
            time.sleep(0.05)
    assert not killed.is_set()
    assert silences == []


def test_without_a_limit_nothing_is_watched() -> None:
    before = threading.active_count()
    with watched(0.0)[0]:
        assert threading.active_count() == before


def test_minutes_of_the_settings_become_seconds(pretending: object, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def noted(process: Any, patience_s: float, hung: Any) -> Any:
        seen.append(patience_s)
        return watchdog.watchdog(process, patience_s, hung)

    monkeypatch.setattr(worker_process, "watchdog", noted)
    assert main(["train", "data=digits", "trainer.hang_minutes=1.5"]) == 0
    assert seen == [90.0]


class Disk(io.BytesIO):
    """A file on a disk that takes as much as each of ``rooms`` says; None is an error."""

    name = "events.jsonl"

    def __init__(self, *rooms: int | None) -> None:
        super().__init__()
        self.rooms = list(rooms)

    def write(self, content: Any) -> int:
        room = self.rooms.pop(0)
        if room is None:
            raise OSError(28, "No space left on device")
        return super().write(content[:room])


def test_a_line_that_was_cut_does_not_spoil_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    disk = Disk(99, 3, 99, 99)
    file = watchdog.EventFile(disk)
    for line in (b"first\n", b"second\n", b"third\n", b"fourth\n"):
        file.write(line)
    assert disk.getvalue() == b"first\nsec\nthird\nfourth\n"
    assert capsys.readouterr().err == ""


def test_a_full_disk_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    disk = Disk(None, None, 99)
    file = watchdog.EventFile(disk)
    for line in (b"first\n", b"second\n", b"third\n"):
        file.write(line)
    assert disk.getvalue() == b"third\n"
    said = capsys.readouterr().err
    assert said.count("Events are no longer written to events.jsonl: No space left on device") == 1


class Stubborn:
    """A process that notes what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.running = True

    def is_running(self) -> bool:
        return self.running

    def __getattr__(self, name: str) -> Any:
        return lambda: self.asked.append(name)


def test_a_process_is_stopped_in_three_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[tuple[float, Any]] = []

    class Timer:
        daemon = False

        def __init__(self, seconds: float, call: Any) -> None:
            timers.append((seconds, call))

        def start(self) -> None:
            timers[-1] = (*timers[-1], "started")  # type: ignore[assignment]

        def cancel(self) -> None:
            timers.append((0.0, "canceled"))

    monkeypatch.setattr(watchdog.threading, "Timer", Timer)
    process = Stubborn()
    stopper = watchdog.Stopper(cast(launchers.Process, process), lambda: process.asked.append("note"))
    stopper.rest()
    stopper.proceed()
    assert process.asked == ["note", "interrupt"]
    assert timers == [(watchdog.INTERRUPT_GRACE_S, stopper.proceed, "started")]
    stopper.proceed()
    assert process.asked[2:] == ["terminate"]
    assert timers[1:] == [(0.0, "canceled"), (watchdog.TERMINATE_GRACE_S, stopper.proceed, "started")]
    stopper.proceed()
    assert process.asked[3:] == ["kill"]
    process.running = False
    stopper.proceed()
    assert process.asked[4:] == []


def test_a_process_that_has_ended_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    process = Stubborn()
    process.running = False
    stopper = watchdog.Stopper(cast(launchers.Process, process), lambda: None)
    stopper.proceed()
    stopper.proceed()
    stopper.rest()
    assert process.asked == []


@pytest.mark.parametrize("running", [True, False])
def test_a_process_has_ended_when_the_block_is_left(tmp_path: Path, running: bool) -> None:
    process = Stubborn()
    process.running = running
    with pytest.raises(KeyError), watchdog.stopping(cast(launchers.Process, process), list, tmp_path / "log", False):
        raise KeyError
    assert process.asked == (["kill", "wait"] if running else ["wait"])


@pytest.mark.parametrize(("outlives", "expected"), [(True, []), (False, ["interrupt"])])
def test_a_hangup_stops_a_process_unless_it_outlives_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outlives: bool, expected: list[str]
) -> None:
    left: list[Path] = []
    monkeypatch.setattr(watchdog.console, "leave_terminal", left.append)
    process = Stubborn()
    with watchdog.stopping(cast(launchers.Process, process), lambda: None, tmp_path / "log", outlives):
        os.kill(os.getpid(), signal.SIGHUP)
        time.sleep(0)
        assert process.asked == expected
        process.running = False
    assert left == [tmp_path / "log"]


def test_a_process_is_no_longer_watched_after_the_block() -> None:
    context, killed, silences = watched(0.2)
    before = threading.active_count()
    with context as alive:
        alive()
    assert not killed.wait(0.4)
    assert silences == []
    assert threading.active_count() <= before

"""zoo.execution.watchdog: silence is counted in minutes, and signs of life begin it again."""

import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.cli.main import main
from zoo.execution import watchdog, worker_process


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

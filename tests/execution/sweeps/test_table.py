"""zoo.execution.sweeps.table: without a terminal, a line says what has begun and what has ended."""

from typing import Any

import pytest

from zoo.execution.sweeps import table
from zoo.execution.sweeps.drive import Progress


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Show tables of rows; the clock goes on by an hour each time."""
    rows: list[list[str]] = []
    clock = iter(range(0, 10**9, 3600))
    monkeypatch.setattr(table, "rows", lambda *_: [list(row) for row in rows])
    monkeypatch.setattr(table, "Followed", lambda _sweep: None)
    monkeypatch.setattr(table.time, "monotonic", lambda: float(next(clock)))
    drawn: list[Any] = []

    def show(plain: bool, *tables: list[list[str]]) -> list[Any]:
        following = table.Shown(None, None if plain else drawn.append)  # type: ignore[arg-type]
        for each in tables:
            rows[:] = each
            following(Progress())
        return drawn

    return show


def row(name: str, state: str, place: str = "", result: str = "", spent: str = "") -> list[str]:
    return [name, "seed=1", state, place, result, spent]


def test_each_change_of_state_is_a_line(shown: Any, capsys: pytest.CaptureFixture[str]) -> None:
    waiting, running = row("a", "waiting"), row("a", "running, epoch 1", "here")
    ended = row("a", "completed", "here", "val_loss 0.5", "12")
    shown(True, [waiting], [running], [running], [row("a", "running, epoch 2", "here")], [ended], [ended])
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "[0/1] a seed=1 running, epoch 1 on here",
        "[0/1] a seed=1 running, epoch 2 on here",
        "[1/1] a seed=1 completed on here val_loss 0.5 12 s",
    ]


def test_failures_are_no_lines_here_and_ended_runs_are_counted(shown: Any, capsys: pytest.CaptureFixture[str]) -> None:
    shown(True, [row("a", "completed"), row("b", "failed"), row("c", "running")])
    assert capsys.readouterr().err.splitlines() == ["[1/3] a seed=1 completed", "[1/3] c seed=1 running"]


def test_a_terminal_gets_the_whole_table(shown: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(False, [row("a", "running")], [row("a", "completed")]) == [
        [row("a", "running")], [row("a", "completed")],
    ]  # fmt: skip
    assert capsys.readouterr().err == ""

"""zoo.execution.event_display: what users see of a worker's events."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zoo.execution import event_display
from zoo.protocol import events
from zoo.protocol.events import DeviceProof, EpochEvent, ResumeEvent, StageEvent, StartEvent, StepEvent, TextEvent


class Bar:
    """Keeps what is drawn."""

    def __init__(self) -> None:
        self.drawn: list[tuple[str, Any]] = []

    def advance(self, amount: float) -> None:
        self.drawn.append(("advance", amount))

    def label(self, text: str) -> None:
        self.drawn.append(("label", text))

    def note(self, text: str) -> None:
        self.drawn.append(("note", text))


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The bars of a terminal, with their total."""
    bars: dict[str, Any] = {}

    @contextlib.contextmanager
    def bar(what: str, total: float | None = None) -> Iterator[Bar]:
        drawn = Bar()
        bars[what] = drawn
        drawn.drawn.append(("total", total))
        yield drawn
        drawn.drawn.append(("closed", None))

    monkeypatch.setattr(event_display.console, "is_terminal", lambda: True)
    monkeypatch.setattr(event_display.console, "bar", bar)
    return bars


def step(number: int, epoch: int | None = 1, **more: Any) -> StepEvent:
    known = {"epochs": 3, "steps": 10, "loss": 0.5, "accuracy": 0.25, "items_per_s": 1234.4}
    return StepEvent(step=number, epoch=epoch, **known | more)


def test_steps_are_a_bar_with_metrics_and_speed(bars: dict[str, Any]) -> None:
    with event_display.following("Starting x", ["loss", "accuracy", "val_loss"]) as show:
        show(step(1))
        show(step(4, 2))
        show(step(5, 2, loss=None))
    first, second = bars.values()
    assert next(iter(bars)) == "Starting x"
    assert first.drawn == [("total", None), ("closed", None)]
    note = ("note", "loss 0.5000  accuracy 0.2500  1,234 items/s")
    assert second.drawn == [
        ("total", 30), ("advance", 1), ("label", "epoch 1/3"), note, ("advance", 13), ("label", "epoch 2/3"), note,
        ("advance", 1), ("closed", None),
    ]  # fmt: skip


def test_steps_without_epochs_count_from_the_first(bars: dict[str, Any]) -> None:
    with event_display.following("Starting x", ["loss"]) as show:
        show(step(2, None, epochs=None, items_per_s=0.125))
    assert bars[step(1).unit].drawn[:4] == [
        ("total", 10), ("advance", 2), ("label", ""), ("note", "loss 0.5000  0.12 items/s"),
    ]  # fmt: skip


@pytest.mark.parametrize("live", [False, True])
def test_without_a_terminal_or_a_total_no_steps_are_drawn(
    bars: dict[str, Any], monkeypatch: pytest.MonkeyPatch, live: bool
) -> None:
    monkeypatch.setattr(event_display.console, "is_terminal", lambda: not live)
    with event_display.following("Starting x", [], live) as show:
        show(step(1))
    assert bars == {}
    monkeypatch.setattr(event_display.console, "is_terminal", lambda: True)
    with event_display.following("Starting x", []) as show:
        show(step(1, steps=None))
    assert list(bars) == ["Starting x"]


def test_a_text_ends_the_bar_that_waits(bars: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with event_display.following("Starting x", []) as show:
        show(TextEvent(text="to be"))
        assert bars["Starting x"].drawn[-1] == ("closed", None)
    assert "to be" in "".join(capsys.readouterr())


def said(*shown: events.Event, figures: tuple[str, ...] = ("loss", "val_loss"), named: set[str] | None = None,
         capsys: pytest.CaptureFixture[str]) -> list[str]:  # fmt: skip
    with event_display.following("Starting x", figures, live=False, named=named) as show:
        for event in shown:
            show(event)
    return capsys.readouterr().err.splitlines()


def epoch(number: int, **more: Any) -> EpochEvent:
    return EpochEvent(epoch=number, epochs=12, loss=0.5, items_per_s=10.0, epoch_s=1.25, **more)


def test_an_epoch_is_a_line_and_the_best_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [epoch(1, val_loss=1.0, best=True), epoch(2, val_loss=2.0, best=False), epoch(3, val_loss=0.5, best=True)]
    assert said(*rows, epoch(4, best=True), capsys=capsys) == [
        "epoch   1/12  loss 0.5000  val_loss 1.0000  10 items/s  1.2 s  * best so far",
        "epoch   2/12  loss 0.5000  val_loss 2.0000  10 items/s  1.2 s",
        "epoch   3/12  loss 0.5000  val_loss 0.5000  10 items/s  1.2 s  *",
        "epoch   4/12  loss 0.5000  10 items/s  1.2 s",
    ]


def test_a_line_of_a_size_and_of_an_epoch_that_was_cut_off() -> None:
    assert event_display.epoch_line(epoch(2, steps=3, all_steps=10), []) == (
        "epoch   2/12  stopped after 3 of 10 steps  10 items/s  1.2 s"
    )
    row = EpochEvent(epoch=1, epochs=2, size="64x64")
    assert event_display.epoch_line(row, ["loss"]) == "size 64x64,   1/2  0.00 items/s  0.0 s"


def test_after_a_resumption_earlier_epochs_are_not_shown_again(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [ResumeEvent(epoch=2, step=5), epoch(1), epoch(2), epoch(3)]
    assert said(*rows, figures=(), capsys=capsys) == [
        "Resuming in epoch 2, after step 5",
        "epoch   2/12  10 items/s  1.2 s  (resumed after step 5)",
        "epoch   3/12  10 items/s  1.2 s",
    ]
    assert said(ResumeEvent(epoch=2), epoch(2), figures=(), capsys=capsys) == [
        "Resuming in epoch 2", "epoch   2/12  10 items/s  1.2 s",
    ]  # fmt: skip
    row = EpochEvent(epoch=2, epochs=2, size="64x64")
    assert (
        said(ResumeEvent(epoch=2, step=5), row, figures=(), capsys=capsys)[1]
        == "size 64x64,   2/2  0.00 items/s  0.0 s"
    )


def test_a_device_is_named_once_for_all_workers(capsys: pytest.CaptureFixture[str]) -> None:
    device = DeviceProof(name="/device:CPU:0", device_kind="cpu", proof="matmul")
    start = StartEvent(versions={"keras": "3", "b": "1"}, device=device)
    named: set[str] = set()
    assert said(start, start, named=named, capsys=capsys) == ["Device: CPU:0 (matmul ran there); b 1, keras 3"]
    assert said(start, named=named, capsys=capsys) == []
    assert len(said(start, capsys=capsys)) == 1


def test_a_stage_is_named_with_its_learning_rate(capsys: pytest.CaptureFixture[str]) -> None:
    stage = StageEvent(stage=2, epoch=5, epochs=9, what="all layers", learning_rate=0.001)
    assert said(stage, capsys=capsys) == ["Stage 2, from epoch 5 on: all layers; learning rate up to 0.001"]


def test_a_run_is_followed_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"exit": "failed", "model": "mnist", "started": "today"}))
    (tmp_path / "events.jsonl").write_text(json.dumps({"event": "epoch", "t": 1.0, "epoch": 1, "epochs": 2}) + "\n")
    assert event_display.follow(tmp_path, []) == "failed"
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path}: mnist, begun today", "epoch   1/2  0.00 items/s  0.0 s",
    ]  # fmt: skip

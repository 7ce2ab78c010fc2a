"""Curves that are drawn beside the worker."""

import csv
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from zoo.config.schemas.common import Settings
from zoo.execution import event_display
from zoo.protocol.events import DeviceProof, EpochEvent, Event, ResumeEvent, StageEvent, StartEvent, StepEvent
from zoo.runs import plots, tables
from zoo.runs.context import RunContext
from zoo.runs.history import History
from zoo.runs.records import RunRecord
from zoo.tasks import discovery


def context(folder: Path) -> RunContext[Settings]:
    record = RunRecord(model="mnist", backend="cpu", stack={"name": "tf-2.21"})
    record.data = {"name": "digits"}
    command = discovery.command("train", "classify")
    return cast(RunContext[Settings], SimpleNamespace(folder=folder, record=record, command=command))


def epoch(number: int, of: int = 3, loss: float = 1.0, stage: int | None = None, **more: Any) -> EpochEvent:
    return EpochEvent(epoch=number, epochs=of, loss=loss, accuracy=0.5, best=True, stage=stage, **more)


def written(folder: Path) -> list[tuple[str, str]]:
    with (folder / "history.csv").open(newline="") as source:
        return [(row["epoch"], row["loss"]) for row in csv.DictReader(source)]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many epochs were drawn, each time."""
    counts: list[int] = []
    plain = plots.curves

    def curves(history: list[dict[str, float]], title: str, path: Path) -> None:
        counts.append(len(history))
        plain(history, title, path)

    monkeypatch.setattr(plots, "curves", curves)
    return counts


def test_they_are_drawn_once_when_the_last_epoch_is_told(tmp_path: Path, drawn: list[int]) -> None:
    history, epochs = History(context(tmp_path)), [epoch(1), epoch(2), epoch(3)]
    for event in [StepEvent(step=0), *epochs]:
        assert drawn == []
        history.watch(event)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    history.finish(epochs)
    assert drawn == [3]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are drawn."""
    drawn_figures: list[Any] = []
    plain = plots._figure

    def figure(*size: float, **margins: float) -> Any:
        drawn_figures.append(plain(*size, **margins))
        return drawn_figures[-1]

    monkeypatch.setattr(plots, "_figure", figure)
    return drawn_figures


@pytest.mark.parametrize("last", [0.6, 0.9, 0.1, 0.01, 0.00001])
def test_the_numbers_beside_the_losses_are_plain_and_some(tmp_path: Path, figures: list[Any], last: float) -> None:
    rows = [{"epoch": number, "loss": loss, "accuracy": 0.5} for number, loss in ((1, 1.0), (2, last))]
    plots.curves(rows, "title", tmp_path / "curves.png")
    axes = figures[0].axes[0]
    low, high = axes.get_ylim()
    ticks = zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    beside = [label.get_text() for value, label in ticks if low <= value <= high]
    assert 3 <= len(beside) <= 9
    assert all(float(text) > 0 for text in beside)
    assert not any(label.get_text() for label in axes.get_yticklabels(minor=True))


def test_the_accuracy_of_tokens_is_drawn_as_that_of_the_validation(tmp_path: Path, figures: list[Any]) -> None:
    rows = [{"epoch": 1.0, "loss": 1.0, "accuracy": 0.5, "val_token_accuracy": 0.4, "best": 1.0}]
    plots.curves(rows, "title", tmp_path / "curves.png")
    assert [line.get_label() for line in figures[0].axes[1].lines] == ["training (epoch mean)", "validation", "kept"]


def test_the_words_beside_the_losses_of_a_style_stay_within_them(tmp_path: Path, figures: list[Any]) -> None:
    names = "step,height,width,loss,style,content,roughness"
    (tmp_path / "losses.csv").write_text(f"{names}\n1,64,64,4,2,1,1\n2,128,128,2,1,0.5,0.5\n")
    plots.losses(tmp_path / "losses.csv", "title", tmp_path / "losses.png")
    axes = figures[0].axes[0]
    assert axes.texts[0].get_text() == " 128 px wide"
    assert axes.texts[0].get_window_extent().y1 < axes.get_window_extent().y1


def test_the_table_and_the_curves_know_where_a_stage_begins(tmp_path: Path) -> None:
    history = History(context(tmp_path))
    for number in (1, 2, 3):
        history.watch(epoch(number, stage=1 if number < 3 else 2))
    rows = tables.read_history(tmp_path)
    assert [row["stage"] for row in rows] == [1.0, 1.0, 2.0]
    assert [row["epoch"] for row in plots.stage_starts(rows)] == [3.0]
    assert plots.stage_starts([{"epoch": 1.0, "stage": float("nan")}, {"epoch": 2.0, "stage": float("nan")}]) == []


def test_the_log_says_that_a_stage_begins(capsys: pytest.CaptureFixture[str]) -> None:
    event = StageEvent(stage=2, epoch=31, epochs=40, what="all layers learn", learning_rate=0.0001)
    with event_display.following("Starting", ("loss",), live=False) as show:
        show(event)
    assert "Stage 2, from epoch 31 on: all layers learn; learning rate up to 0.0001" in capsys.readouterr().err


def test_the_log_tells_whole_epochs_from_resumed_and_repeated_ones(capsys: pytest.CaptureFixture[str]) -> None:
    device = DeviceProof(name="fake:0", device_kind="cpu", proof="matmul")
    start = StartEvent(versions={"keras": "3.15.1"}, device=device)
    figures: dict[str, Any] = {"val_loss": 0.5, "items_per_s": 10.0, "epoch_s": 2.0}
    first: list[Event] = [start, epoch(1, **figures), epoch(2, steps=139, all_steps=211, **figures)]
    again: list[Event] = [
        start,
        ResumeEvent(epoch=2, step=139),
        epoch(1, **figures),
        epoch(2, **figures),
        epoch(3, **figures),
    ]
    with event_display.following("Starting", ("loss",), live=False) as show:
        for event in [*first, *again]:
            show(event)
    assert capsys.readouterr().err.splitlines() == [
        "Device: fake:0 (matmul ran there); keras 3.15.1",
        "epoch   1/3  loss 1.0000  10 items/s  2.0 s  * best so far",
        "epoch   2/3  stopped after 139 of 211 steps  loss 1.0000  10 items/s  2.0 s  *",
        "Resuming in epoch 2, after step 139",
        "epoch   2/3  loss 1.0000  10 items/s  2.0 s  (resumed after step 139)  *",
        "epoch   3/3  loss 1.0000  10 items/s  2.0 s  *",
    ]


def test_a_training_that_ends_early_is_drawn_in_the_end(tmp_path: Path, drawn: list[int]) -> None:
    history = History(context(tmp_path))
    history.watch(epoch(1))
    assert drawn == []
    history.finish([epoch(1)])
    assert drawn == [1]


def test_epochs_that_are_trained_again_are_drawn_as_they_became(tmp_path: Path) -> None:
    history, again = History(context(tmp_path)), [epoch(2, loss=0.2), epoch(3, loss=0.3)]
    for event in [epoch(1), epoch(2), epoch(3), ResumeEvent(epoch=2), *again]:
        history.watch(event)
    assert written(tmp_path) == [("1", "1.0"), ("2", "0.2"), ("3", "0.3")]


def test_what_goes_wrong_beside_the_worker_is_told_when_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(plots, "curves", full)
    history = History(context(tmp_path))
    history.watch(epoch(1, of=1))
    with pytest.raises(OSError, match="No space left"):
        history.finish([epoch(1, of=1)])


# Draws while another thread loads what draws; argv: the PNG.
BESIDE = """
import sys, threading
from pathlib import Path
from zoo.runs import plots
sys.setswitchinterval(1e-6)
errors = []
threading.excepthook = lambda args: errors.append(args.exc_value)
plots.make_ready()
plots.curves([{"epoch": 1, "loss": 1.0, "accuracy": 0.5}], "title", Path(sys.argv[1]))
sys.exit(len(errors))
"""


def test_curves_are_drawn_while_what_draws_is_loaded(tmp_path: Path) -> None:
    for attempt in range(2):
        command = [sys.executable, "-c", BESIDE, str(tmp_path / f"{attempt}.png")]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr

"""zoo.execution.trainings: a training is followed by its epochs, and stopped when its outcome is clear."""

import json
import math
from pathlib import Path
from typing import Any, cast

import pytest

from zoo.core.errors import ZooError
from zoo.execution import trainings
from zoo.execution.launchers import Command, Executor, Job


class Running:
    """A job that runs until it is asked to end."""

    def __init__(self) -> None:
        self.running, self.interruptions = True, 0

    def is_running(self) -> bool:
        return self.running

    def interrupt(self) -> None:
        self.interruptions += 1


class Case:
    """A training whose events a test writes; ``calls`` are those of ``goes_on``."""

    def __init__(self, folder: Path, target: float = math.inf) -> None:
        self.job, self.folder = Running(), folder
        self.training = trainings.Training(folder, cast(Job, self.job), "val_accuracy", target, folder / "log")
        self.calls: list[tuple[int, float, float]] = []

    def write(self, event: str, t: float, **fields: Any) -> None:
        with (self.folder / "events.jsonl").open("a") as out:
            out.write(json.dumps({"event": event, "t": t, **fields}) + "\n")

    def start(self, t: float = 100.0) -> None:
        self.write("start", t, versions={}, device={"name": "CPU", "device_kind": "cpu", "proof": "matmul"})

    def epoch(self, number: int, t: float, value: float | None) -> None:
        self.write("epoch", t, epoch=number, **({} if value is None else {"val_accuracy": value}))

    def follow(self, until: int = 99) -> bool:
        def goes_on(epoch: int, value: float, seconds: float) -> bool:
            self.calls.append((epoch, value, seconds))
            return len(self.calls) < until

        return self.training.follow(goes_on)


def test_every_epoch_is_asked_about_with_its_seconds_since_the_start(tmp_path: Path) -> None:
    case = Case(tmp_path)
    assert case.follow()
    assert case.calls == [(0, -math.inf, 0.0)]
    case.epoch(9, 90.0, 0.9)  # of an earlier worker
    case.start()
    case.start(105.0)  # a worker that was started again
    case.epoch(1, 102.5, 0.5)
    case.epoch(2, 104.0, 0.75)
    assert case.follow()
    assert case.calls[1:] == case.training.epochs == [(1, 0.5, 2.5), (2, 0.75, 4.0)]
    case.job.running = False
    assert not case.follow()
    assert case.calls[3][:2] == (0, -math.inf)
    assert case.job.interruptions == 0


def test_a_training_ends_at_its_target(tmp_path: Path) -> None:
    case = Case(tmp_path, target=0.75)
    case.start()
    for number, value in ((1, 0.5), (2, 0.75), (3, 0.9)):
        case.epoch(number, 100.0 + number, value)
    assert case.follow()
    assert (case.training.reached_s, case.training.is_stopped, case.job.interruptions) == (2.0, True, 1)
    assert case.calls == [(1, 0.5, 1.0)]
    case.follow()
    assert (len(case.calls), case.job.interruptions) == (1, 1)


def test_a_training_without_a_chance_ends(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.start()
    case.epoch(1, 101.0, 0.5)
    case.epoch(2, 102.0, 0.5)
    case.job.running = False
    assert not case.follow(until=1)
    assert (case.training.is_stopped, case.training.reached_s, case.job.interruptions) == (True, None, 0)
    assert len(case.calls) == 1


def test_time_is_over_also_between_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [50.0]
    monkeypatch.setattr(trainings.time, "monotonic", lambda: clock[0])
    case = Case(tmp_path)
    case.start()
    case.follow()
    clock[0] = 57.0
    case.follow()
    assert case.calls == [(0, -math.inf, 0.0), (0, -math.inf, 7.0)]


def test_an_epoch_without_the_metric_is_an_error(tmp_path: Path) -> None:
    case = Case(tmp_path)
    case.start()
    case.epoch(1, 101.0, None)
    with pytest.raises(ZooError, match="have no val_accuracy, by which trials are compared"):
        case.follow()
    assert case.job.interruptions == 1


def test_a_training_is_submitted_with_its_folder(tmp_path: Path) -> None:
    submitted: list[Command] = []

    class Taking:
        def submit(self, command: Command) -> Job:
            submitted.append(command)
            return cast(Job, Running())

    folder = tmp_path / "trial"
    training = trainings.begin(cast(Executor, Taking()), ["seed=1"], folder, tmp_path / "log", "val_loss", 0.5)
    (command,) = submitted
    assert command.words[1:] == [
        "-m", "zoo", "train", "seed=1", f"output.root={tmp_path}", "output.name=trial",
    ]  # fmt: skip
    assert (command.name, command.log) == ("trial", tmp_path / "log")
    assert (training.metric, training.target, training.folder) == ("val_loss", 0.5, folder)

"""zoo.execution.retry: attempts after a worker failed, and hints where none helps."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import parts
from zoo.execution import retry
from zoo.execution.worker_process import Outcome
from zoo.protocol.events import DoneEvent, EpochEvent, ErrorEvent
from zoo.runs.records import RunRecord

DONE = DoneEvent(metrics={}, phases={})
OUT_OF_MEMORY = ErrorEvent(type="OutOfMemoryError", message="out of memory")


def run(folder: Path, outcomes: list[Outcome], **settings: Any) -> tuple[list[Any], RunRecord, Outcome]:
    """Run attempts; return the requests, the record and the last outcome."""
    requests: list[Any] = []
    remaining = iter(outcomes)

    def once(path: Path) -> Outcome:
        row = json.loads(path.read_text())
        requests.append(SimpleNamespace(resume=row.get("resume", False), train=SimpleNamespace(**row["train"])))
        return next(remaining)

    record = RunRecord()
    last = retry.run_with_retries(folder, record, parts.request(train=parts.training(**settings)), once)
    assert next(remaining, None) is None
    return requests, record, last


def test_a_killed_worker_is_restarted_as_often_as_the_settings_say(tmp_path: Path) -> None:
    killed = [Outcome(returncode=-9) for _ in range(3)]
    requests, record, last = run(tmp_path, killed, restarts=2)
    assert [request.resume for request in requests] == [False, True, True]
    assert [row["failed"] for row in record.attempts] == ["the worker was ended (-9)"] * 2
    assert last is killed[2]
    requests, record, last = run(tmp_path, [Outcome(returncode=-9), Outcome(done=DONE)], restarts=2)
    assert len(requests) == 2
    assert last.done is DONE


@pytest.mark.parametrize(
    "outcome", [Outcome(returncode=1), Outcome(returncode=-9, interrupted=True), Outcome(returncode=-9, done=DONE)]
)
def test_only_a_killed_worker_is_restarted(tmp_path: Path, outcome: Outcome) -> None:
    requests, record, _ = run(tmp_path, [outcome], restarts=2)
    assert len(requests) == 1
    assert record.get("attempts") is None


def test_batches_are_halved_where_memory_runs_out(tmp_path: Path) -> None:
    outcomes = [Outcome(error=OUT_OF_MEMORY), Outcome(error=OUT_OF_MEMORY), Outcome(done=DONE)]
    requests, record, _ = run(tmp_path, outcomes, on_oom="halve", batch_size=5)
    assert [(request.train.batch_size, request.resume) for request in requests] == [(5, False), (2, True), (1, True)]
    assert record.adjusted == {"trainer.batch_size": 1}
    assert [row["failed"] for row in record.attempts] == ["out of memory"] * 2


@pytest.mark.parametrize(
    ("outcome", "settings"),
    [
        (Outcome(error=OUT_OF_MEMORY), {"on_oom": "stop"}),
        (Outcome(error=OUT_OF_MEMORY), {"on_oom": "halve", "batch_size": 1}),
        (Outcome(returncode=1), {"on_oom": "halve"}),
    ],
)
def test_batches_are_not_halved_without_need(tmp_path: Path, outcome: Outcome, settings: dict[str, Any]) -> None:
    assert len(run(tmp_path, [outcome], **settings)[0]) == 1


def test_all_attempts_share_the_time_limit_and_their_epochs(tmp_path: Path) -> None:
    first = Outcome(returncode=-9, epochs=[EpochEvent(epoch=1, epoch_s=30.0), EpochEvent(epoch=2, epoch_s=None)])
    second = Outcome(returncode=-9, epochs=[EpochEvent(epoch=1, epoch_s=900.0)])
    requests, _, _ = run(tmp_path, [first, second, Outcome(done=DONE)], restarts=9, max_minutes=3.0)
    assert [request.train.max_minutes for request in requests] == [3.0, 2.5, 1e-3]
    assert [row.epoch for row in first.epochs] == [1, 2]


@pytest.fixture
def hints(tmp_path: Path) -> Callable[..., list[str]]:
    """What is proposed after a failure of a training with batches of 64."""

    def propose(outcome: Outcome, checkpoint: bool = True, size: object = 64, **fields: Any) -> list[str]:
        (tmp_path / "checkpoints").mkdir(exist_ok=True)
        (tmp_path / "checkpoints" / "1.json").touch() if checkpoint else None
        config = {"trainer": {"batch_size": size}, "model": {}}
        record = RunRecord.from_json({"verb": "train", "config": config} | fields)
        return [each.replace(str(tmp_path), "RUN") for each in retry.recovery_hints(tmp_path, outcome, record)]

    return propose


RESUME = "python -m zoo train resume=RUN"


def test_a_failed_training_can_be_resumed(hints: Callable[..., list[str]]) -> None:
    assert hints(Outcome(returncode=1), checkpoint=False) == []
    assert hints(Outcome(returncode=1)) == [f"To resume from the last checkpoint: {RESUME}"]
    smaller = "If memory ran out, use smaller batches: add trainer.batch_size=32"
    assert hints(Outcome(returncode=-9)) == [f"To resume from the last checkpoint: {RESUME}", smaller]
    assert hints(Outcome(returncode=-9, silent_s=3.0)) == [f"To resume from the last checkpoint: {RESUME}"]
    for size in (1, None, "64"):
        assert len(hints(Outcome(returncode=-9), size=size)) == 1
    assert hints(Outcome(returncode=-9), adjusted={"trainer.batch_size": 16})[1].endswith("trainer.batch_size=8")


def test_without_memory_smaller_batches_are_proposed(hints: Callable[..., list[str]]) -> None:
    words = f"To resume with smaller batches: {RESUME}"
    assert hints(Outcome(error=OUT_OF_MEMORY), checkpoint=False) == [f"{words} trainer.batch_size=32"]
    assert hints(Outcome(error=OUT_OF_MEMORY), size=2) == [f"{words} trainer.batch_size=1"]
    assert hints(Outcome(error=OUT_OF_MEMORY), size=1) == [words]


def test_nothing_is_proposed_where_the_settings_are_wrong_or_nothing_was_trained(
    hints: Callable[..., list[str]],
) -> None:
    assert hints(Outcome(error=ErrorEvent(type="UserError", message="x"))) == []
    assert hints(Outcome(returncode=1), verb="infer") == []

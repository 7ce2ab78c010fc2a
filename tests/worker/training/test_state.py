"""zoo.worker.training.state: the position in a run, counted and restored, also with another batch size."""

import types
from typing import Any

import pytest

from tests.support import parts
from zoo.worker.training.state import REPORTED, ProgressiveFreezing, Stage, TrainingState


def stage(**options: Any) -> Stage:
    return Stage(parts.training(epochs=5), **options)


def state(steps: Any = lambda _epoch: 4, **options: Any) -> TrainingState:
    return TrainingState("model", types.SimpleNamespace(steps=steps), stage(**options))


def test_a_stage_knows_its_last_epoch_and_that_of_the_run() -> None:
    assert (stage().first, stage().final, stage().last) == (1, 5, 5)
    later = stage(first=3, last=20, number=2)
    assert (later.final, later.last, later.number) == (7, 20, 2)


def test_steps_and_epochs_are_counted() -> None:
    training = state(lambda epoch: 10 * epoch, first=2)
    assert (training.epoch, training.steps) == (2, 20)
    training.count(8)
    training.count(4)
    assert (training.step, training.done, training.items) == (2, 2, 12)
    assert training.locate("no memory") == "no memory at epoch 2, step 2"
    training.seconds = 3.0
    training.means.add(1.0, 1.0, 1)
    training.end_epoch({"best": False})
    assert (training.epoch, training.step, training.done, training.items) == (3, 0, 2, 0)
    assert (training.steps, training.seconds, training.means.state()["count"]) == (30, 0.0, 0)
    training.end_epoch({"best": False})
    assert training.epochs_without_improvement == 2
    training.end_epoch({"best": True})
    assert training.epochs_without_improvement == 0


def test_the_last_epochs_are_kept_to_be_reported_again() -> None:
    training = state()
    for number in range(REPORTED + 3):
        training.end_epoch({"best": True, "epoch": number})
    assert [row["epoch"] for row in training.reported] == list(range(3, REPORTED + 3))


def advanced() -> dict[str, Any]:
    """Return what a checkpoint holds after two epochs of 4 steps and 2 steps more."""
    training = state()
    for _ in range(2):
        for _ in range(4):
            training.count(6)
        training.end_epoch({"best": False})
    training.count(6)
    training.count(6)
    training.rate, training.scale, training.rollbacks = 0.25, 0.5, 1
    training.means.add(3.0, 0.5, 12)
    return training.capture()


def test_a_restored_state_is_the_one_that_was_captured() -> None:
    resumed = state()
    resumed.restore(advanced())
    assert resumed.capture() == advanced()
    assert (resumed.epoch, resumed.step, resumed.done, resumed.means.loss) == (3, 2, 10, 3.0)


@pytest.mark.parametrize(("steps", "step", "done"), [(8, 4, 20), (2, 1, 5), (3, 1, 7), (1, 0, 2)])
def test_another_batch_size_continues_at_the_same_share_of_the_epoch(steps: int, step: int, done: int) -> None:
    resumed = state(lambda _epoch: steps)
    resumed.restore(advanced())
    assert (resumed.epoch, resumed.steps, resumed.step, resumed.done) == (3, steps, step, done)


def test_the_model_is_compiled_again_only_where_layers_freeze_or_unfreeze() -> None:
    prepared: list[bool] = []

    def prepare(frozen: bool) -> str:
        prepared.append(frozen)
        return f"frozen: {frozen}"

    training = state(freezing=ProgressiveFreezing(0.5, prepare))
    for step, expected in ((None, []), (7, [True]), (9, [True]), (0, [True]), (None, [True, False])):
        training.compiled = True
        before = len(prepared)
        training.set_frozen(step)
        assert (prepared, training.frozen_at) == (expected, step)
        assert training.compiled is (len(prepared) == before)
    assert training.model == "frozen: False"

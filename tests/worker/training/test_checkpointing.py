"""zoo.worker.training.checkpointing: the best epoch, when checkpoints are written, and rolling back."""

import math
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import parts
from zoo.protocol.request import ModelPart, TargetPart


class Model:
    """A model of two weights."""

    def __init__(self) -> None:
        self.weights = [np.zeros(2), np.zeros(1)]

    def get_weights(self) -> list[np.ndarray]:
        return self.weights

    def set_weights(self, arrays: list[np.ndarray]) -> None:
        assert [each.shape for each in arrays] == [(2,), (1,)]
        self.weights = list(arrays)

    def become(self, value: float) -> "Model":
        self.weights = [np.full(2, value), np.full(1, value)]
        return self


class Clock:
    def __init__(self) -> None:
        self.now, self.per_save = 0.0, 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def module(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    from zoo.worker.training import checkpointing, run, state

    def capture(model: Model, _trained: Any) -> dict[str, np.ndarray]:
        return {f"weights/{number:05}": value for number, value in enumerate(model.get_weights())}

    def restore(model: Model, *rest: Any) -> None:
        arrays = rest[-1]
        model.set_weights([arrays[name] for name in sorted(arrays) if name.startswith("weights/")])

    saved = types.SimpleNamespace(capture=capture, restore=restore, restore_weights=restore)
    clock = Clock()
    monkeypatch.setattr(checkpointing, "training_state", saved)
    monkeypatch.setattr(checkpointing, "time", clock)
    monkeypatch.setattr(checkpointing.compat, "backend_name", lambda: "numpy")
    monkeypatch.setattr(checkpointing.weights, "save", lambda model, path, arrays: np.savez(path, *arrays))
    return types.SimpleNamespace(
        Checkpointer=checkpointing.Checkpointer, clock=clock, checkpointing=checkpointing, run=run, state=state
    )


class Trainer:
    """A checkpointer with what it needs; the model has four steps an epoch."""

    def __init__(
        self, module: Any, folder: Path, resume: bool = False, target: TargetPart | None = None, **settings: Any
    ) -> None:
        self.said: list[str] = []
        self.rows: list[dict[str, Any]] = []
        stop = types.SimpleNamespace(asked=False, reason=None)
        events = types.SimpleNamespace(emit=lambda event, **fields: self.rows.append({"event": event, **fields}))
        known = {"disk_reserve_gb": 0.0, "epochs": 9}
        self.settings = parts.training(**known | settings)
        request = parts.request(train=self.settings, run_dir=str(folder), resume=resume,
                                model=ModelPart(name="m", args={}, target=target))  # fmt: skip
        self.phases: dict[str, float] = {}
        self.run = module.run.Run(request, events, stop, self.phases)
        self.model, self.module = Model(), module
        self.checkpointer = module.Checkpointer(self.model, self.run)
        self.state = self.stage()

    def stage(self, first: int = 1, steps: int = 4) -> Any:
        batches = types.SimpleNamespace(steps=lambda _: steps)
        return self.module.state.TrainingState(self.model, batches, self.module.state.Stage(self.settings, first))

    def epoch(self, value: float, **figures: float) -> bool:
        """Train an epoch after which all weights have a value; return whether it is the best."""
        self.model.become(value)
        record = {"epoch": self.state.epoch, "loss": value, **figures}
        self.checkpointer.consider(record)
        for _ in range(4):
            self.state.count(2)
        self.state.end_epoch(record)
        return bool(record["best"])

    def warnings(self) -> list[str]:
        return [row["message"] for row in self.rows if row["event"] == "warning"]


CLASSES = {"val_accuracy": 0.5, "val_loss": 1.0}


@pytest.mark.parametrize(
    ("target", "settings", "second", "best"),
    [
        (None, {}, {"val_accuracy": 0.6, "val_loss": 2.0}, True),
        (None, {}, {"val_accuracy": 0.4, "val_loss": 0.5}, False),
        (None, {}, {"val_accuracy": 0.5, "val_loss": 1.0}, False),
        (None, {"best_by": "loss"}, {"val_accuracy": 0.4, "val_loss": 0.5}, True),
        (None, {"best_by": "loss"}, {"val_accuracy": 0.6, "val_loss": 1.0}, False),
        (None, {}, {}, True),
        ("labels", {}, {"val_map": 0.6, "val_loss": 2.0}, True),
        ("labels", {}, {"val_map": 0.4, "val_loss": 0.5}, False),
        ("number", {}, {"val_r2": 0.6, "val_loss": 2.0}, True),
        ("mae", {}, {"val_r2": 0.6, "val_loss": 2.0}, False),
        ("mae", {}, {"val_r2": 0.4, "val_loss": 0.5}, True),
    ],
)
def test_the_best_epoch_has_the_best_figure_of_its_target(
    module: Any, tmp_path: Path, target: str | None, settings: dict[str, Any], second: dict[str, float], best: bool
) -> None:
    kinds = {"labels": TargetPart(kind="labels"), "number": TargetPart(kind="number"),
             "mae": TargetPart(kind="number", loss="mae")}  # fmt: skip
    trainer = Trainer(module, tmp_path, target=kinds.get(target or ""), **settings)
    first = {"val_accuracy": 0.5, "val_map": 0.5, "val_r2": 0.5, "val_loss": 1.0, "other": 1.0}
    assert trainer.epoch(1.0, **first)
    assert trainer.epoch(2.0, **second) is best
    kept = {"loss": 2.0, **second} if best else {"loss": 1.0, **{k: v for k, v in first.items() if k != "other"}}
    assert trainer.checkpointer.best == {**kept, "best_epoch": 2 if best else 1}
    trainer.checkpointer.restore_best()
    assert trainer.model.weights[0].tolist() == [2.0 if best else 1.0] * 2


def test_a_loss_decides_where_the_figure_is_missing(module: Any, tmp_path: Path) -> None:
    trainer = Trainer(module, tmp_path)
    assert [trainer.epoch(0.0, val_loss=loss) for loss in (1.0, 2.0, 1.0, 0.5)] == [True, False, False, True]


def test_a_resumed_run_knows_its_best_epoch_and_its_weights(module: Any, tmp_path: Path) -> None:
    first = Trainer(module, tmp_path, ema=0.5)
    first.checkpointer.enter(first.state)
    first.epoch(1.0, **CLASSES)
    for value in (1.0, 2.0):
        first.model.become(value)
        first.state.average.update(2)
    first.epoch(3.0, val_accuracy=0.1, val_loss=3.0)
    first.checkpointer.save(first.state)
    resumed = Trainer(module, tmp_path, resume=True, ema=0.5)
    assert resumed.checkpointer.goes_on()
    assert resumed.checkpointer.best == {"loss": 1.0, **CLASSES, "best_epoch": 1}
    resumed.checkpointer.restore_best()
    assert resumed.model.weights[1].tolist() == [1.0]
    resumed.checkpointer.enter(resumed.state)
    assert not resumed.checkpointer.goes_on()
    assert resumed.model.weights[0].tolist() == [3.0, 3.0]
    assert resumed.state.average.capture()["ema/00000"].tolist() == first.state.average.capture()["ema/00000"].tolist()
    assert resumed.rows == [{"event": "resume", "epoch": 3, "step": 0, "done": 8}]
    assert np.load(tmp_path / "weights.npz")["arr_0"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("rolled_back", "best"), [(False, True), (True, False)])
def test_an_epoch_that_is_evaluated_again_stays_the_best(
    module: Any, tmp_path: Path, rolled_back: bool, best: bool
) -> None:
    """The host ended between the evaluation of an epoch and its end."""
    first = Trainer(module, tmp_path)
    first.epoch(1.0, val_accuracy=0.1, val_loss=3.0)
    first.state.rollbacks = int(rolled_back)
    first.checkpointer.consider({"epoch": 2, "loss": 1.0, **CLASSES})
    first.checkpointer.save(first.state)
    resumed = Trainer(module, tmp_path, resume=True)
    resumed.checkpointer.enter(resumed.state)
    assert resumed.epoch(1.0, **CLASSES) is best


def test_the_steps_of_earlier_stages_count_and_finished_stages_are_left_out(module: Any, tmp_path: Path) -> None:
    first = Trainer(module, tmp_path)
    assert first.checkpointer.finished(1) is None
    for value in (1.0, 2.0):
        first.epoch(value)
    first.checkpointer.leave(first.state)
    assert first.checkpointer.finished(1) is None  # only a resumed run leaves stages out
    first.state = first.stage(first=3)
    first.epoch(3.0)
    first.checkpointer.save(first.state)
    assert [path.stem for path in (tmp_path / "checkpoints").glob("*.npz")] == ["0000000012"]
    resumed = Trainer(module, tmp_path, resume=True)
    assert [resumed.checkpointer.finished(epoch) for epoch in (1, 3)] == [2, None]
    resumed.checkpointer.enter(resumed.stage(first=3))
    assert resumed.rows == [{"event": "resume", "epoch": 4, "step": 0, "done": 12}]
    assert resumed.checkpointer.finished(1) is None


def test_a_run_without_a_checkpoint_starts_from_the_beginning(module: Any, tmp_path: Path) -> None:
    resumed = Trainer(module, tmp_path, resume=True)
    assert resumed.warnings() == ["No complete checkpoint: the run starts from the beginning"]
    assert (resumed.checkpointer.goes_on(), resumed.checkpointer.best) == (False, None)
    resumed.model.become(5.0)
    resumed.checkpointer.restore_best()
    assert resumed.model.weights[1].tolist() == [5.0]
    assert Trainer(module, tmp_path).warnings() == []


def test_weights_are_not_replaced_by_a_new_start(module: Any, tmp_path: Path) -> None:
    (tmp_path / "weights.npz").write_bytes(b"weights of epoch 260")
    with pytest.raises(module.checkpointing.UserError, match="no checkpoint of the run is complete"):
        Trainer(module, tmp_path, resume=True)
    assert (tmp_path / "weights.npz").read_bytes() == b"weights of epoch 260"


def test_a_checkpoint_of_another_stack_gives_its_weights(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Trainer(module, tmp_path)
    first.epoch(2.0)
    first.checkpointer.save(first.state)
    monkeypatch.setattr(module.checkpointing.compat, "stack", lambda: ["Keras 9", "slate"])
    resumed = Trainer(module, tmp_path, resume=True)
    resumed.checkpointer.enter(resumed.state)
    (warning,) = resumed.warnings()
    assert warning.startswith("Resuming on Keras 9 on slate with weights from ")
    assert (resumed.state.epoch, resumed.model.weights[1].tolist()) == (2, [2.0])


@pytest.mark.parametrize(("minutes", "after", "due"), [(2.0, 119.0, False), (2.0, 120.0, True), (0.5, 31.0, True)])
def test_a_checkpoint_is_due_after_so_many_minutes(
    module: Any, tmp_path: Path, minutes: float, after: float, due: bool
) -> None:
    trainer = Trainer(module, tmp_path, checkpoint_minutes=minutes)
    module.clock.now = 1000.0
    trainer.checkpointer.enter(trainer.state)
    module.clock.now += after
    assert trainer.checkpointer.due() is due
    trainer.checkpointer.save(trainer.state)
    assert not trainer.checkpointer.due()


def test_checkpoints_of_epochs_take_little_of_the_time(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(module, tmp_path)
    save, count = trainer.checkpointer._files.save, []

    def slowly(*arguments: Any) -> None:
        count.append(module.clock.now)
        module.clock.now += 2.0
        save(*arguments)

    monkeypatch.setattr(trainer.checkpointer._files, "save", slowly)
    trainer.checkpointer.enter(trainer.state)
    for seconds, last in ((10, False), (100, False), (20, False), (1, False), (1, True)):
        module.clock.now += seconds
        trainer.checkpointer.save_epoch(trainer.state, last)
    assert count == [10.0, 132.0, 136.0]  # the first, one after 60 times its 2 seconds, and the last
    assert trainer.phases == {"checkpoint_s": 6.0}


@pytest.mark.parametrize(("on_nan", "expected"), [("rollback", 1), ("stop", 0)])
def test_a_run_that_may_roll_back_has_a_checkpoint_from_the_start(
    module: Any, tmp_path: Path, on_nan: str, expected: int
) -> None:
    trainer = Trainer(module, tmp_path, on_nan=on_nan)
    trainer.checkpointer.enter(trainer.state)
    assert len(list(tmp_path.rglob("*.npz"))) == expected


def test_a_run_rolls_back_five_times_with_half_the_rate_each(module: Any, tmp_path: Path) -> None:
    trainer = Trainer(module, tmp_path, on_nan="rollback")
    trainer.checkpointer.enter(trainer.state)
    error = FloatingPointError("the loss became nan")
    for number in range(1, 6):
        trainer.state.count(2)
        trainer.model.become(math.nan)
        trainer.checkpointer.roll_back(trainer.state, error)
        assert (trainer.state.scale, trainer.state.rollbacks) == (0.5**number, number)
        assert (trainer.state.step, trainer.model.weights[1].tolist()) == (0, [0.0])
    assert trainer.warnings()[1] == "the loss became nan. Back to epoch 1, step 0, with 0.25 times the learning rate"
    with pytest.raises(FloatingPointError, match="the loss became nan"):
        trainer.checkpointer.roll_back(trainer.state, error)


def test_a_run_rolls_back_only_where_it_is_set_and_possible(module: Any, tmp_path: Path) -> None:
    error = FloatingPointError("the loss became nan")
    stopping = Trainer(module, tmp_path, on_nan="stop")
    stopping.checkpointer.save(stopping.state)
    with pytest.raises(FloatingPointError):
        stopping.checkpointer.roll_back(stopping.state, error)
    empty = Trainer(module, tmp_path / "other", on_nan="rollback")
    with pytest.raises(FloatingPointError):
        empty.checkpointer.roll_back(empty.state, error)


def test_weights_that_are_not_finite_are_not_saved(module: Any, tmp_path: Path) -> None:
    trainer = Trainer(module, tmp_path)
    trainer.model.become(math.inf)
    with pytest.raises(FloatingPointError, match="the weights are not finite at epoch 1, step 0"):
        trainer.checkpointer.save(trainer.state)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_reported_once_and_training_continues(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(module, tmp_path)
    trainer.epoch(1.0)
    with monkeypatch.context() as patch:

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(trainer.checkpointer._files, "save", full)
        trainer.checkpointer.save(trainer.state)
        trainer.checkpointer.save(trainer.state)
    assert trainer.warnings() == [
        f"Cannot write a checkpoint to {tmp_path}: No space left on device. Training continues; an interrupted run"
        " would resume from the previous checkpoint"
    ]
    assert not (tmp_path / "weights.npz").exists()
    trainer.checkpointer.save(trainer.state)
    assert (tmp_path / "weights.npz").exists()
    monkeypatch.setattr(trainer.checkpointer._files, "save", full)
    trainer.checkpointer.save(trainer.state)
    assert len(trainer.warnings()) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"best": {"best_epoch": -1}}, {"steps_before": "9"}, {"finished": {"1": None}},
        {"course": {"epoch": "x"}}, {"course": {"reported": [{"epoch": -1}]}},
        {"course": {"reported": [{"epoch": 1, "event": "done"}]}},
        {"course": {"reported": [{"epoch": 1, "self": 1}]}},
        {"course": {"frozen_at": "x"}},
    ],
)  # fmt: skip
def test_a_checkpoint_with_strange_content_is_refused(module: Any, tmp_path: Path, change: dict[str, Any]) -> None:
    first = Trainer(module, tmp_path)
    first.epoch(1.0)
    course = dict(first.state.capture())
    saved = {"best": None, "finished": {}, "steps_before": 0, "course": course}
    files = module.checkpointing.Checkpoints(str(tmp_path))
    files.save(4, {"weights/00000": np.zeros(2)}, saved)
    assert Trainer(module, tmp_path, resume=True).checkpointer.goes_on()
    more = {**course, **change["course"]} if "course" in change else course
    files.save(5, {"weights/00000": np.zeros(2)}, {**saved, **change, "course": more})
    with pytest.raises(Exception, match="cannot be resumed: its checkpoint has unexpected content"):
        Trainer(module, tmp_path, resume=True)


@pytest.mark.parametrize(("stored", "expected"), [("mixed_bfloat16", "mixed_bfloat16"), ("float32", "float32"),
                                                  ("rm -rf", None)])  # fmt: skip
def test_the_precision_before_is_one_of_those_that_auto_chooses(
    module: Any, tmp_path: Path, stored: str, expected: str | None
) -> None:
    first = Trainer(module, tmp_path, precision=stored)
    first.checkpointer.save(first.state)
    assert module.checkpointing.precision_before(Trainer(module, tmp_path, resume=True).run) == expected
    assert module.checkpointing.precision_before(first.run) is None


@pytest.mark.parametrize(("elsewhere", "refused"), [(12, False), (8, True)])
def test_processes_that_read_different_checkpoints_are_refused(
    module: Any, tmp_path: Path, elsewhere: int, refused: bool
) -> None:
    first = Trainer(module, tmp_path)
    first.epoch(1.0)
    first.checkpointer.leave(first.state)
    first.state = first.stage(first=2)
    first.epoch(2.0)
    first.epoch(3.0)
    first.checkpointer.save(first.state)
    resumed = Trainer(module, tmp_path, resume=True)
    resumed.run.group = types.SimpleNamespace(gather_values=lambda value: [value, elsewhere], size=2)
    if not refused:
        resumed.checkpointer.enter(resumed.stage(first=2))
        return
    words = r"the processes read different checkpoints \(steps 12, 8\): .* is not the same folder on all machines"
    with pytest.raises(Exception, match=words):
        resumed.checkpointer.enter(resumed.stage(first=2))


def test_several_processes_begin_with_a_checkpoint_and_the_first_writes_it(module: Any, tmp_path: Path) -> None:
    for rank, expected in ((1, 0), (0, 1)):
        trainer = Trainer(module, tmp_path)
        trainer.run.group = types.SimpleNamespace(size=2, rank=rank, busy=lambda: None)
        trainer.checkpointer.enter(trainer.state)
        assert len(list(tmp_path.rglob("*.npz"))) == expected


def test_a_stage_may_train_a_model_of_its_own_that_shares_the_layers(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Trainer(module, tmp_path)
    first.checkpointer.save(first.state)
    resumed, restored, trained = Trainer(module, tmp_path, resume=True), [], Model()
    resumed.state.model = trained
    monkeypatch.setattr(module.checkpointing.training_state, "restore", lambda *models: restored.extend(models[:2]))
    resumed.checkpointer.enter(resumed.state)
    assert [each is model for each, model in zip(restored, (resumed.model, trained), strict=True)] == [True, True]


def judged(true: list[float], right: list[bool]) -> dict[str, np.ndarray]:
    """Validation images of class 0, by the probability of their class and whether it is the likeliest."""
    best = np.array([[0 if each else 1] for each in right])
    return {"true": np.array(true, np.float32), "best": best, "label": np.zeros(len(right), np.int64)}


def figures(true: list[float], right: list[bool]) -> dict[str, Any]:
    loss, accuracy = float(-np.log(true).mean()), float(np.mean(right))
    return {"val_loss": loss, "val_accuracy": accuracy, "judged": judged(true, right)}


PROBE = ([0.5, 0.6, 0.7, 0.2], [True, True, True, False])


@pytest.mark.parametrize(
    ("best_by", "true", "right", "better"),
    [
        ("loss", [0.51, 0.61, 0.71, 0.21], PROBE[1], True),  # a small gain for every image
        ("loss", [0.4, 0.5, 0.6, 0.5], PROBE[1], False),  # the mean gain follows from one image
        ("loss", [0.4, 0.5, 0.6, 0.1], PROBE[1], False),
        ("loss", PROBE[0], [True] * 4, False),
        ("accuracy", PROBE[0], [True] * 4, False),  # one more image of four
        ("accuracy", [0.4] * 4, [False] * 4, False),
    ],
)
def test_an_epoch_replaces_a_linear_probe_only_if_it_is_clearly_better(
    module: Any, tmp_path: Path, best_by: str, true: list[float], right: list[bool], better: bool
) -> None:
    first = Trainer(module, tmp_path, best_by=best_by)
    first.model.become(5.0)
    first.checkpointer.consider({"epoch": 0, **figures(*PROBE)})
    first.checkpointer.enter(first.state)
    first.checkpointer.save(first.state)
    for trainer in (first, Trainer(module, tmp_path, resume=True, best_by=best_by)):
        assert trainer.checkpointer.best["best_epoch"] == 0
        assert trainer.epoch(1.0, **figures(true, right)) is better
        trainer.checkpointer.restore_best()
        assert trainer.model.weights[0].tolist() == [1.0 if better else 5.0] * 2
        probe = trainer.checkpointer.probe
        assert probe["val_loss"] == pytest.approx(-np.log(PROBE[0]).mean())
        assert (probe["trained"]["epoch"], probe["trained"]["val_accuracy"]) == (1, np.mean(right))


def test_many_better_images_replace_a_linear_probe_by_accuracy(module: Any, tmp_path: Path) -> None:
    trainer = Trainer(module, tmp_path, best_by="accuracy")
    trainer.checkpointer.consider({"epoch": 0, **figures([0.5] * 200, [True] * 150 + [False] * 50)})
    assert trainer.epoch(1.0, **figures([0.4] * 200, [True] * 170 + [False] * 30))
    assert not trainer.epoch(2.0, **figures([0.9] * 200, [True] * 169 + [False] * 31))


def test_a_checkpoint_with_other_figures_of_a_linear_probe_is_refused(module: Any, tmp_path: Path) -> None:
    first = Trainer(module, tmp_path)
    first.checkpointer.consider({"epoch": 0, **figures(*PROBE)})
    first.checkpointer.probe["costs"] = ["0.1"]
    first.checkpointer.save(first.state)
    with pytest.raises(Exception, match="the run cannot be resumed: its checkpoint has unexpected content"):
        Trainer(module, tmp_path, resume=True)

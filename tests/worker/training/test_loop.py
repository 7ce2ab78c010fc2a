"""The loop and its checkpoints, on a model of one number that numpy trains."""

import json
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import parts

SETTINGS = parts.training(epochs=3, learning_rate=0.1, batch_size=1, checkpoint_minutes=10.0, disk_reserve_gb=0.0)
# What a checkpoint holds of a training.
KEYS = {
    "epoch", "step", "done", "items", "epochs_without_improvement", "scale", "rollbacks", "rate", "seconds", "steps",
    "reported", "frozen_at",
    "means",
}  # fmt: skip


class Model:
    """A weight that moves towards 1."""

    def __init__(self) -> None:
        self.weight, self.rate = 0.0, 0.0

    def get_weights(self) -> list[np.ndarray]:
        return [np.array([self.weight])]

    def set_weights(self, arrays: list[np.ndarray]) -> None:
        self.weight = float(arrays[0][0])


def train_classifier(model: Model, x: np.ndarray, _y: np.ndarray) -> tuple[float, float, int]:
    """Take a step towards the weight 1."""
    loss = abs(1 - model.weight)
    model.weight += model.rate * float(x[0]) * (1 - model.weight)
    return loss, 0.0, len(x)


class Batches:
    """Four steps an epoch; the user asks for a stop before one of them."""

    on_device = None

    def __init__(self, stop: Any, stop_at: tuple[int, int] | None) -> None:
        self._stop, self._stop_at = stop, stop_at

    def steps(self, _epoch: int) -> int:
        return 4

    def batches(self, epoch: int) -> Any:
        for step in range(4):
            yield np.array([1.0 + epoch / 10 + step / 100]), np.zeros(1)

    def evaluate(self, model: Model) -> dict[str, float]:
        if self._stop_at == (1, 4):
            self._stop.asked = True
        return {"val_loss": abs(1 - model.weight)}


class Events:
    """Keeps what is reported, and asks for a stop after a step."""

    def __init__(self, stop: Any, stop_at: tuple[int, int] | None) -> None:
        self._stop, self._stop_at = stop, stop_at
        self.epochs: list[dict[str, Any]] = []
        self.names: list[str] = []
        self.resumed: dict[str, Any] = {}

    def emit(self, event: str, **fields: Any) -> None:
        self.names.append(event)
        if event == "epoch":
            self.epochs.append(fields)
        elif event == "resume":
            self.resumed = fields

    def step(self, **fields: Any) -> None:
        if (fields["epoch"], fields["step"]) == self._stop_at:
            self._stop.asked = True


@pytest.fixture
def training(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    from zoo.models import compat
    from zoo.worker import weights
    from zoo.worker.training import checkpointing, finish, loop, run, state

    def restore(model: Model, _trained: Model, arrays: dict[str, np.ndarray]) -> None:
        model.weight = float(arrays["weights/0"][0])

    saved = types.SimpleNamespace(
        capture=lambda model, _trained: {"weights/0": np.array([model.weight])}, restore=restore
    )
    monkeypatch.setattr(compat, "train_classifier", train_classifier)
    monkeypatch.setattr(compat, "set_learning_rate", lambda model, rate: setattr(model, "rate", rate))
    monkeypatch.setattr(compat, "backend_name", lambda: "numpy")
    monkeypatch.setattr(checkpointing, "training_state", saved)
    monkeypatch.setattr(weights, "save", lambda model, path, arrays=None: Path(path).write_bytes(b""))
    return types.SimpleNamespace(checkpointing=checkpointing, finish=finish, loop=loop, run=run, state=state)


def fitted(
    training: Any, folder: Path, stop_at: tuple[int, int] | None = None, resume: bool = False, **changed: Any
) -> tuple[Model, Events]:
    """Train a new model, or the one of the checkpoint."""
    settings, stop = SETTINGS.replace(**changed), types.SimpleNamespace(asked=False, reason="interrupted")
    model, events = Model(), Events(stop, stop_at)
    shared = training.run.Run(parts.request(train=settings, run_dir=str(folder), resume=resume), events, stop, {})
    checkpointer = training.checkpointing.Checkpointer(model, shared)
    training.loop.fit(model, Batches(stop, stop_at), training.state.Stage(settings), checkpointer, shared)
    return model, events


def test_every_epoch_is_reported_and_the_best_marked(training: Any, tmp_path: Path) -> None:
    _, events = fitted(training, tmp_path)
    assert [(row["epoch"], row["epochs"], row["best"]) for row in events.epochs] == [
        (1, 3, True),
        (2, 3, True),
        (3, 3, True),
    ]
    assert events.epochs[-1]["val_loss"] < events.epochs[0]["val_loss"]


@pytest.mark.parametrize("stop_at", [(2, 1), (2, 3), (1, 4)])
def test_a_run_that_was_cut_off_goes_on_to_the_bit(training: Any, tmp_path: Path, stop_at: tuple[int, int]) -> None:
    whole, _ = fitted(training, tmp_path / "whole")
    cut, _ = fitted(training, tmp_path / "cut", stop_at)
    assert cut.weight != whole.weight
    resumed, events = fitted(training, tmp_path / "cut", resume=True)
    assert resumed.weight == whole.weight
    assert events.names[0] == "resume"
    assert events.epochs[-1]["epoch"] == 3


def test_more_epochs_follow_the_last_one(training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last epoch has a checkpoint, also where epochs are too short for one each."""
    monkeypatch.setattr(training.checkpointing, "PATIENCE", 1e9)
    fitted(training, tmp_path)
    _, events = fitted(training, tmp_path, resume=True, epochs=5)
    assert events.resumed["epoch"] == 4
    assert [row["epoch"] for row in events.epochs] == [1, 2, 3, 4, 5]


def test_a_checkpoint_keeps_the_names_of_older_runs(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training.checkpointing, "PATIENCE", 0)
    fitted(training, tmp_path)
    written = json.loads(max((tmp_path / "checkpoints").glob("*.json")).read_text())["state"]
    assert written.keys() == {"best", "finished", "steps_before", "probe", "stack", "course", "precision"}
    assert written["course"].keys() == KEYS
    assert [row["epoch"] for row in written["course"]["reported"]] == [1, 2, 3]


def test_a_checkpoint_of_something_else_is_refused(training: Any, tmp_path: Path) -> None:
    training.checkpointing.Checkpoints(str(tmp_path)).save(1, {"a": np.zeros(1)}, {"size": 0})
    with pytest.raises(Exception, match="cannot be resumed: its checkpoint has unexpected content: KeyError"):
        fitted(training, tmp_path, resume=True)


def test_a_checkpoint_of_another_run_is_refused(training: Any, tmp_path: Path) -> None:
    training.checkpointing.Checkpoints(str(tmp_path), run_id="other").save(1, {"a": np.zeros(1)}, {"size": 0})
    with pytest.raises(Exception, match="belongs to another run"):
        fitted(training, tmp_path, resume=True)


def test_patience_ends_a_training_that_no_longer_improves(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Batches, "evaluate", lambda self, model: {"val_loss": 1.0})
    _, events = fitted(training, tmp_path, epochs=9, patience=2)
    assert len(events.epochs) == 3


@pytest.mark.parametrize(("best_by", "best"), [("accuracy", [True, False, False]), ("loss", [True, True, True])])
def test_the_best_epoch_is_chosen_by_accuracy_or_loss(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, best_by: str, best: list[bool]
) -> None:
    figures = iter([(0.9, 1.0), (0.8, 0.5), (0.85, 0.4)])
    monkeypatch.setattr(
        Batches, "evaluate", lambda self, model: dict(zip(("val_accuracy", "val_loss"), next(figures), strict=True))
    )
    _, events = fitted(training, tmp_path, best_by=best_by)
    assert [row["best"] for row in events.epochs] == best


def test_of_equal_accuracies_the_smaller_loss_is_best(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = iter([(0.9, 0.5), (0.9, 0.6), (0.9, 0.4), (0.9, 0.4)])
    monkeypatch.setattr(
        Batches, "evaluate", lambda self, model: dict(zip(("val_accuracy", "val_loss"), next(figures), strict=True))
    )
    _, events = fitted(training, tmp_path, epochs=4)
    assert [row["best"] for row in events.epochs] == [True, False, True, False]


def test_the_best_of_a_course_that_went_wrong_is_not_lost(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures, steps = iter([0.5, 0.9, 0.8, 0.85]), iter(range(100))
    monkeypatch.setattr(Batches, "evaluate", lambda self, model: {"val_accuracy": next(figures), "val_loss": 1.0})
    figured = lambda *_: (np.nan if next(steps) == 9 else 1.0, 0.0, 1)  # noqa: E731
    monkeypatch.setattr("zoo.models.compat.train_classifier", figured)
    checkpointer = training.checkpointing.Checkpointer
    monkeypatch.setattr(checkpointer, "save_epoch", lambda self, state, _: state.epoch == 2 and self.save(state))
    _, events = fitted(training, tmp_path, on_nan="rollback")
    assert [(row["epoch"], row["best"]) for row in events.epochs] == [(1, True), (2, True), (2, False), (3, False)]


def test_the_time_of_all_stages_counts(training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 59.5, 60.0])
    monkeypatch.setattr(training.run.time, "monotonic", lambda: next(clock))
    shared = training.run.Run(
        parts.request(train=SETTINGS.replace(max_minutes=1), run_dir=str(tmp_path)), None, None, {}
    )
    assert [shared.is_out_of_time(), shared.is_out_of_time()] == [False, True]


def test_a_stopped_training_is_not_evaluated_but_saved(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = types.SimpleNamespace(asked=True, reason="interrupted")
    shared = training.run.Run(parts.request(train=SETTINGS, run_dir=str(tmp_path)), None, stop, {})
    checkpointer = types.SimpleNamespace(restore_best=lambda: None, best={"val_loss": 0.5})
    model = types.SimpleNamespace(count_params=lambda: 7)
    figures = training.finish.evaluate_best(model, checkpointer, shared, lambda: {"test_loss": 0.0})
    assert figures == {"val_loss": 0.5, "parameters": 7}
    stop.reason = "max_minutes"
    assert "test_loss" in training.finish.evaluate_best(model, checkpointer, shared, lambda: {"test_loss": 0.0})


def test_an_average_of_the_weights_is_validated_and_training_goes_on_from_the_last(
    training: Any, tmp_path: Path
) -> None:
    plain, _ = fitted(training, tmp_path / "plain")
    model, events = fitted(training, tmp_path / "averaged", ema=0.5)
    assert model.weight == plain.weight
    weight, average, expected = 0.0, 0.0, []
    for epoch in (1, 2, 3):
        for step in range(4):
            weight += 0.1 * (1 + epoch / 10 + step / 100) * (1 - weight)
            done = 4 * (epoch - 1) + step + 1
            decay = min(0.5, (1 + done) / (10 + done))
            average = weight if done == 1 else decay * average + (1 - decay) * weight
        expected.append(abs(1 - average))
    assert [row["val_loss"] for row in events.epochs] == pytest.approx(expected)


@pytest.mark.parametrize("stop_at", [(1, 1), (2, 3), (1, 4)])
def test_an_average_goes_on_to_the_bit(training: Any, tmp_path: Path, stop_at: tuple[int, int]) -> None:
    _, whole = fitted(training, tmp_path / "whole", ema=0.9)
    fitted(training, tmp_path / "cut", stop_at, ema=0.9)
    _, resumed = fitted(training, tmp_path / "cut", ema=0.9, resume=True)
    assert resumed.epochs[-1]["val_loss"] == whole.epochs[-1]["val_loss"]


@pytest.mark.parametrize(("peak", "exceeded"), [(2 << 30, False), ((2 << 30) + 1, True), (None, False)])
def test_a_run_ends_with_a_checkpoint_before_memory_runs_out(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peak: int | None, exceeded: bool
) -> None:
    monkeypatch.setattr(training.loop.memory, "peak_bytes", lambda: peak)
    if not exceeded:
        assert len(fitted(training, tmp_path, max_memory_gb=2.0)[1].epochs) == 3
        return
    with pytest.raises(Exception, match=r"the worker uses 2\.00 GB, trainer.max_memory_gb is 2"):
        fitted(training, tmp_path, max_memory_gb=2.0)
    _, events = fitted(training, tmp_path, resume=True)
    assert (events.resumed["epoch"], events.resumed["step"]) == (1, 1)


def test_a_run_without_a_limit_may_use_all_memory(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training.loop.memory, "peak_bytes", lambda: 1 << 60)
    assert [row["peak_memory_bytes"] for row in fitted(training, tmp_path)[1].epochs] == [1 << 60] * 3


def test_memory_that_ran_out_is_reported_with_the_batch_size(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: Any) -> None:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr("zoo.models.compat.train_classifier", exhausted)
    with pytest.raises(Exception, match=r"out of memory with trainer\.batch_size=1: CUDA out") as caught:
        fitted(training, tmp_path)
    assert type(caught.value).__name__ == "OutOfMemoryError"


def test_a_loss_that_is_no_number_is_reported_with_its_place(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([1.0] * 5 + [np.inf])
    monkeypatch.setattr("zoo.models.compat.train_classifier", lambda *_: (next(losses), 0.0, 1))
    words = r"the loss became inf at epoch 2, step 2; a lower trainer.learning_rate than 0.1 usually helps"
    with pytest.raises(FloatingPointError, match=words):
        fitted(training, tmp_path)


def test_steps_and_epochs_have_figures_of_the_items_so_far(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, steps = [100.0], []  # type: ignore[var-annotated]

    def train(model: Model, x: np.ndarray, y: np.ndarray) -> tuple[float, float, int]:
        clock[0] += 0.5
        return len(steps) % 4 + 1.0, 0.25, len(x)

    def evaluate(_batches: Batches, _model: Model) -> dict[str, float]:
        clock[0] += 4.0
        return {"val_loss": 1.0}

    monkeypatch.setattr("zoo.models.compat.train_classifier", train)
    monkeypatch.setattr(Batches, "evaluate", evaluate)
    monkeypatch.setattr(training.loop, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(Events, "step", lambda _events, **fields: steps.append(fields))
    _, events = fitted(training, tmp_path, epochs=2)
    known = {"epochs": 2, "steps": 4, "items_per_s": 2.0, "accuracy": 0.25}
    assert steps == [
        {"epoch": epoch, "step": step, "items": step, "loss": (step + 1) / 2, **known}
        for epoch in (1, 2) for step in (1, 2, 3, 4)
    ]  # fmt: skip
    for number, row in enumerate(events.epochs, 1):
        expected = {"epoch": number, "steps": 4, "loss": 2.5, "accuracy": 0.25, "learning_rate": 0.1, "epoch_s": 6.0}
        assert {name: row[name] for name in expected} == expected
        assert row["items_per_s"] == 2.0
        assert not {"stage", "all_steps"} & row.keys()


def test_the_first_step_is_the_time_of_compilation(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, phases = [100.0], {}  # type: ignore[var-annotated]

    def train(*_: Any) -> tuple[float, float, int]:
        clock[0] += 5.0 if clock[0] == 100.0 else 0.5
        return 1.0, 0.0, 1

    monkeypatch.setattr("zoo.models.compat.train_classifier", train)
    monkeypatch.setattr(training.loop, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    stop = types.SimpleNamespace(asked=False, reason=None)
    settings = SETTINGS.replace(epochs=2)
    shared = training.run.Run(parts.request(train=settings, run_dir=str(tmp_path)), Events(stop, None), stop, phases)
    checkpointer = training.checkpointing.Checkpointer(Model(), shared)
    training.loop.fit(Model(), Batches(stop, None), training.state.Stage(settings), checkpointer, shared)
    assert phases["compile_s"] == 5.0


def test_an_epoch_that_was_cut_off_tells_its_share(training: Any, tmp_path: Path) -> None:
    _, events = fitted(training, tmp_path, (2, 3))
    assert [(row["steps"], row.get("all_steps")) for row in events.epochs] == [(4, None), (3, 4)]


def test_a_run_stops_at_its_time_limit(training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(training.run.Run, "is_out_of_time", lambda run: len(seen) >= 6)
    monkeypatch.setattr(Events, "step", lambda _events, **fields: seen.append(fields["step"]))
    _, events = fitted(training, tmp_path)
    assert seen == [1, 2, 3, 4, 1, 2]
    assert events.epochs[-1]["all_steps"] == 4


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_rate_settles_after_layers_freeze(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    frozen: list[tuple[bool, int]] = []
    rates: list[float] = []
    model = Model()

    def prepare(freeze: bool) -> Model:
        frozen.append((freeze, len(rates)))
        return model

    freezing = training.state.ProgressiveFreezing(share, prepare)
    stop = types.SimpleNamespace(asked=False, reason=None)
    settings, events = SETTINGS.replace(epochs=12), Events(stop, None)
    monkeypatch.setattr("zoo.models.compat.set_learning_rate", lambda _model, rate: rates.append(rate))
    shared = training.run.Run(parts.request(train=settings, run_dir=str(tmp_path)), events, stop, {})
    checkpointer = training.checkpointing.Checkpointer(model, shared)
    stage = training.state.Stage(settings, freezing=freezing, number=2, last=20)
    assert training.loop.fit(model, Batches(stop, None), stage, checkpointer, shared) == 12
    begin = int(share * 48)
    assert frozen == [(True, begin)]
    assert rates[:begin] == [0.1] * begin
    settling = rates[begin : begin + 20]
    assert settling == pytest.approx([0.1 * step / 20 for step in range(1, 21)])
    assert rates[begin + 20 :] == [0.1] * (48 - begin - 20)
    assert {(row["stage"], row["epochs"]) for row in events.epochs} == {(2, 20)}


def test_a_finished_stage_is_left_out(training: Any, tmp_path: Path) -> None:
    done = types.SimpleNamespace(finished=lambda first: 7 * first)
    assert training.loop.fit(None, None, types.SimpleNamespace(first=1), done, None) == 7


def test_a_host_that_has_ended_finds_a_checkpoint(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_events: Events, **fields: Any) -> None:
        if (fields["epoch"], fields["step"]) == (2, 3):
            raise BrokenPipeError

    with monkeypatch.context() as patch:
        patch.setattr(Events, "step", broken)
        with pytest.raises(BrokenPipeError):
            fitted(training, tmp_path)
    _, events = fitted(training, tmp_path, resume=True)
    assert (events.resumed["epoch"], events.resumed["step"], events.resumed["done"]) == (2, 3, 7)

"""zoo.worker.training.finish: the best weights are evaluated and saved."""

import types
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def module(keras: types.ModuleType) -> Any:
    from zoo.worker.training import finish

    return finish


def run(folder: Path, interrupted: bool = False, rank: int = 0) -> Any:
    from zoo.worker.phases import timed

    phases: dict[str, float] = {}
    exporter = types.SimpleNamespace(KIND="model", NAME="model.txt")
    exporter.export = lambda model, path: Path(path).write_text(model)
    return types.SimpleNamespace(
        folder=str(folder), target=None, events=types.SimpleNamespace(emit=lambda *_, **__: None), phases=phases,
        exporters=[exporter], group=types.SimpleNamespace(rank=rank), was_interrupted=lambda: interrupted,
        stop=types.SimpleNamespace(asked=interrupted), timed=lambda name: timed(phases, name),
        outcome=lambda metrics: {"metrics": metrics},
    )  # fmt: skip


def test_the_best_weights_are_evaluated_unless_the_user_stopped(module: Any, tmp_path: Path) -> None:
    order: list[str] = []
    model = types.SimpleNamespace(count_params=lambda: 7.0)

    def evaluate() -> dict[str, float]:
        order.append("evaluate")
        return {"test_loss": 0.25}

    checkpointer = types.SimpleNamespace(restore_best=lambda: order.append("restore"), best={"val_loss": 0.5})
    ended = run(tmp_path)
    metrics = module.evaluate_best(model, checkpointer, ended, evaluate)
    assert metrics == {"val_loss": 0.5, "parameters": 7, "test_loss": 0.25}
    assert order == ["restore", "evaluate"]
    assert list(ended.phases) == ["evaluate_s"]
    assert checkpointer.best == {"val_loss": 0.5}
    checkpointer.best = None
    stopped = run(tmp_path, interrupted=True)
    assert module.evaluate_best(model, checkpointer, stopped, evaluate) == {"parameters": 7}
    assert order == ["restore", "evaluate", "restore"]
    assert stopped.phases == {}


@pytest.mark.parametrize("rank", [0, 1])
def test_only_the_first_process_saves_the_model(module: Any, tmp_path: Path, rank: int) -> None:
    assert module.save("the model", run(tmp_path, rank=rank), {"a": 1}) == {"metrics": {"a": 1}}
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the model"][rank:]


@pytest.mark.parametrize(
    ("metrics", "checkpoint", "saved"), [({}, False, 0), ({"best_epoch": 0}, False, 0), ({"best_epoch": 0}, True, 1),
                                         ({}, True, 1), ({"best_epoch": 1}, False, 1)]
)  # fmt: skip
def test_a_run_stopped_before_it_learned_anything_saves_no_model(
    module: Any, tmp_path: Path, metrics: dict[str, int], checkpoint: bool, saved: int
) -> None:
    """Resumed without a checkpoint, it starts again, and refuses to replace the weights of a model."""
    if checkpoint:
        (tmp_path / "checkpoints").mkdir()
        (tmp_path / "checkpoints" / "0000000005.json").touch()
    module.save("the model", run(tmp_path, interrupted=True), metrics)
    assert len(list(tmp_path.glob("model.txt"))) == saved

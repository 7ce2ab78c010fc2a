"""zoo.worker.training.run: seconds by phase, and what a training reports in the end."""

import types
from typing import Any

import pytest

from tests.support import parts


@pytest.fixture
def module(keras: types.ModuleType) -> Any:
    from zoo.worker.training import run

    return run


def started(module: Any, phases: dict[str, float], asked: bool = False, reason: str | None = None) -> Any:
    stop = types.SimpleNamespace(asked=asked, reason=reason)
    return module.Run(parts.request(train=parts.training(), run_dir="folder"), None, stop, phases)


def test_seconds_are_added_by_phase(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    phases = {"save_s": 1.0}
    training = started(module, phases)
    training.add("save_s", 0.5)
    training.add("train_s", 2.0)
    clock = iter([10.0, 13.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    with training.timed("train_s"):
        pass
    assert phases == {"save_s": 1.5, "train_s": 5.0}
    assert training.spent("save_s", "train_s", "none_s") == 6.5


@pytest.mark.parametrize(
    ("asked", "reason", "interrupted", "stopped"),
    [
        (False, "interrupted", False, None), (True, "interrupted", True, "interrupted"),
        (True, "max_minutes", False, "max_minutes"),
    ],
)  # fmt: skip
def test_a_limit_is_no_interruption(
    module: Any, asked: bool, reason: str, interrupted: bool, stopped: object
) -> None:
    training = started(module, {}, asked, reason)
    assert training.was_interrupted() == interrupted
    assert training.outcome({"a": 1}) == {"metrics": {"a": 1}, "stopped": stopped}

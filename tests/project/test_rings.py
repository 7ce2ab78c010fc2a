"""How the suite runs: in two rings, on several processes that share real runs, and times are compared alone."""

import contextlib
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import alone, real_stacks, rings
from tests.support.once import once


def item(*marks: pytest.MarkDecorator, **params: object) -> Any:
    """A test with these marks and parameters, as far as the rings look at one."""
    inner = [mark.mark for mark in marks]
    return SimpleNamespace(
        iter_markers=lambda name: [mark for mark in inner if mark.name == name],
        get_closest_marker=lambda name: next((mark for mark in inner if mark.name == name), None),
        callspec=SimpleNamespace(params=params),
    )


@pytest.mark.parametrize(
    ("test", "default"),
    [
        (item(), True),
        (item(stack="jax"), True),  # a name alone: nothing is built
        (item(pytest.mark.stacks), True),
        (item(pytest.mark.stacks, stack="tf-1.8", kills=[3]), True),
        (item(pytest.mark.stacks, stack="jax"), False),
        (item(pytest.mark.stacks, trained_on="tf-1.8", used_on="plaidml-0.7"), False),
        (item(pytest.mark.stacks("torch", "openvino")), False),
        (item(pytest.mark.stacks, pytest.mark.stacks("openvino")), False),
        (item(pytest.mark.slow), False),
        (item(pytest.mark.network), False),
        (item(pytest.mark.timing), True),
    ],
)
def test_a_test_is_in_one_of_two_rings(test: Any, default: bool) -> None:
    assert rings.in_default(test) == default


@pytest.mark.parametrize(
    ("test", "included"),
    [
        (item(), False),
        (item(pytest.mark.stacks), False),
        (item(pytest.mark.stacks, stack="jax"), True),
        (item(pytest.mark.stacks("torch"), pytest.mark.slow, stack="mlx"), True),
        (item(pytest.mark.stacks("torch"), stack="tf-1.8"), False),
        (item(pytest.mark.network, pytest.mark.stacks("torch")), False),
    ],
)
def test_a_nightly_keras_is_for_tests_of_its_stacks_alone(test: Any, included: bool) -> None:
    assert rings.with_nightly_keras(test) == included


@pytest.mark.parametrize(
    ("all_stacks", "until", "skipped"), [(True, 1, True), (True, 1e12, False), (True, None, False), (False, 1, False)]
)
def test_only_late_tests_of_the_larger_ring_are_skipped(
    monkeypatch: pytest.MonkeyPatch, all_stacks: bool, until: float | None, skipped: bool
) -> None:
    config: Any = SimpleNamespace(getoption=lambda name: name == "--all-stacks" and all_stacks)
    monkeypatch.setenv(rings.UNTIL, str(until)) if until else monkeypatch.delenv(rings.UNTIL, raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no time is left") if skipped else contextlib.nullcontext():
        rings.skip_late(config)


def test_a_stack_of_the_other_ring_is_not_built_by_the_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_stacks, "_allowed", frozenset(rings.DEFAULT))
    with pytest.raises(pytest.fail.Exception, match="name it by"):
        real_stacks.environment("jax")


def test_what_is_shared_is_computed_once(tmp_path: Path) -> None:
    calls = []
    for _ in range(2):
        assert once(tmp_path / "shared", calls.append) == tmp_path / "shared"
    assert len(calls) == 1


def test_what_went_wrong_once_fails_everyone_without_another_attempt(tmp_path: Path) -> None:
    def fail(_: Path) -> None:
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        once(tmp_path / "shared", fail)
    with pytest.raises(pytest.fail.Exception, match="ValueError: no room"):
        once(tmp_path / "shared", lambda _: None)


def test_times_are_compared_while_no_other_test_runs(tmp_path: Path) -> None:
    if alone.fcntl is None:
        pytest.skip("this system has no flock")
    config: Any = SimpleNamespace(workerinput={}, cache=SimpleNamespace(mkdir=lambda _: tmp_path))
    began = threading.Event()

    def compare() -> None:
        with alone.turn(config, alone=True):
            began.set()

    with alone.turn(config, alone=False), alone.turn(config, alone=False):
        other = threading.Thread(target=compare)
        other.start()
        assert not began.wait(0.2)
    other.join(10)
    assert began.is_set()

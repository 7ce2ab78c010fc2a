"""A step is Keras's own, and another process goes on with a training to the bit, on every Keras."""

import pytest

from tests.support.conformance import Answers
from tests.support.questions import STACKS
from zoo.core import paths


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS["states"])
def test_what_was_taken_and_taken_up_goes_on_to_the_bit(conformance: Answers, stack: str) -> None:
    differences = conformance.of(stack, "states")
    assert differences == dict.fromkeys(("adam", "momentum", "rmsprop", "sgd"), 0.0)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS["steps"])
def test_the_zoo_takes_the_steps_that_keras_takes(conformance: Answers, stack: str) -> None:
    """Losses, accuracies and moments; weights whose gradient is zero but for rounding move by chance with Adam."""
    differences = conformance.of(stack, "steps")
    assert len(differences) == 11
    for name, row in differences.items():
        assert row["learnt"] > 0.01, name
        assert row["loss"] < 1e-4 and row["accuracy"] == 0.0 and row["moments"] < 1e-3, (name, row)  # noqa: PT018
    if stack == "torch":  # the other layers are called without Keras's overhead
        called = {name for name, row in differences.items() if row["calls"]}
        assert called == {"two tables with one gradient", "a dense layer with a softmax, used twice"}


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS["embedding"])
def test_a_word_that_a_batch_has_often_takes_the_same_step_everywhere(conformance: Answers, stack: str) -> None:
    """Adam divides by the root of squared gradients: those of a word's places are to be added up before."""
    first, *others = conformance.of(stack, "embedding")
    expected = 0.0898 if stack == "plaidml-0.7" else 0.0894  # 0.1804 where each place is squared by itself
    assert first == pytest.approx(expected, abs=2e-4)
    assert all(0.066 < each < 0.068 for each in others)


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS["maps"])
def test_maps_that_stay_in_place_are_those_of_keras(conformance: Answers, stack: str) -> None:
    """Outputs, gradients and statistics are about as near to those in float64 as Keras's own.

    PyTorch adds up the gradients of a normalization one after the other, on one thread above all, Keras in pairs.
    """
    rows = conformance.of(stack, "maps")
    assert len(rows) in (6, 8)
    for name, row in rows.items():
        assert row["zoo"] <= 5 * row["keras"] + 1e-6, (name, row)
        assert row["zoo"] < (2e-2 if "bfloat16" in name else 1e-3), (name, row)


def test_models_drop_values_through_compat_alone() -> None:
    """A dropout layer of Keras 2 itself draws from where nothing can be saved."""
    models = [path for path in (paths.PACKAGE / "models").rglob("*.py") if "compat" not in path.parts]
    assert models
    assert [path.name for path in models if "layers.Dropout" in path.read_text(encoding="utf-8")] == []

"""Another process goes on with a training to the bit, on every Keras."""

import pytest

from tests.support.conformance import Answers
from tests.support.questions import STACKS
from zoo.core import paths


@pytest.mark.stacks
@pytest.mark.parametrize("stack", STACKS["states"])
def test_what_was_taken_and_taken_up_goes_on_to_the_bit(conformance: Answers, stack: str) -> None:
    differences = conformance.of(stack, "states")
    assert differences == dict.fromkeys(("adam", "momentum", "rmsprop", "sgd"), 0.0)


def test_models_drop_values_through_compat_alone() -> None:
    """A dropout layer of Keras 2 itself draws from where nothing can be saved."""
    models = [path for path in (paths.PACKAGE / "models").rglob("*.py") if "compat" not in path.parts]
    assert models
    assert [path.name for path in models if "layers.Dropout" in path.read_text(encoding="utf-8")] == []

"""Models are saved alike by every task, also one that was never compiled."""

import pytest

from tests.support.conformance import Answers


@pytest.mark.stacks
@pytest.mark.parametrize("stack", ["tf-1.8"])
def test_a_model_that_was_never_compiled_is_saved(conformance: Answers, stack: str) -> None:
    assert conformance.of(stack, "saving") == {}
    files = sorted(path.name for path in conformance.folder(stack, "saving").iterdir())
    assert files == ["model.h5", "weights.npz"]

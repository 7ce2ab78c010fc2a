"""The style network on every stack: against numpy, in tiles, and its first steps of training."""

import pytest

from tests.support.conformance import Answers
from tests.support.questions import NARROW, STACKS
from zoo.environments import stacks

pytestmark = pytest.mark.stacks

# Of three training steps, as tf-2.5 and PyTorch computed them; PlaidML is within 2e-5 of that.
GOLDEN_LOSS = [3.616203, 3.067144, 2.516232]
# The first of 100 numbers that a drawn predictor tells of a drawn painting, as PyTorch computed them.
GOLDEN_STYLE = [5.222962, 1.255818, -0.892971]


@pytest.mark.parametrize("stack", STACKS["style"])
def test_the_network_and_its_tiles_compute_what_numpy_does(conformance: Answers, stack: str) -> None:
    answer = conformance.of(stack, "style")
    assert answer["whole"] < 0.01, answer  # grey levels, the largest difference
    assert answer["tiles"] < 0.51, answer  # half a grey level is what rounding takes
    if stack == NARROW:
        assert answer["narrow"] > 2, answer  # tiles that overlap too little are seen
    if stacks.load(stack).trains:
        assert answer["loss"] == pytest.approx(GOLDEN_LOSS, rel=1e-4)
        assert answer["resumed"] == pytest.approx(answer["loss"], rel=1e-4)


@pytest.mark.parametrize("stack", STACKS["style"])
def test_the_network_for_any_painting_computes_what_numpy_does(conformance: Answers, stack: str) -> None:
    answer = conformance.of(stack, "style")["any"]
    assert answer["whole"] < 0.02, answer
    assert answer["tiles"] < 0.52, answer
    assert answer["style"] == pytest.approx(GOLDEN_STYLE, abs=1e-3)

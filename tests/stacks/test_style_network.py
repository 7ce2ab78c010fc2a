"""The style network on every stack: against numpy, in tiles, and its first steps of training."""

import pytest

from tests.support.conformance import Answers
from tests.support.questions import NARROW, STACKS
from zoo.environments import stacks

pytestmark = pytest.mark.stacks

# Of three training steps, as tf-2.5 and PyTorch computed them; PlaidML is within 2e-5 of that.
GOLDEN_LOSS = [4.915058, 3.702600, 2.454105]


@pytest.mark.parametrize("stack", STACKS["style"])
def test_the_network_and_its_tiles_compute_what_numpy_does(conformance: Answers, stack: str) -> None:
    answer = conformance.of(stack, "style")
    assert answer["whole"] < 0.01, answer  # grey levels, the largest difference
    assert answer["tiles"] < 0.51, answer  # half a grey level is what rounding takes
    if stack == NARROW:
        assert answer["narrow"] > 2, answer  # tiles that overlap too little are seen
    if stacks.load(stack).trains:
        assert answer["loss"] == pytest.approx(GOLDEN_LOSS, rel=1e-4)

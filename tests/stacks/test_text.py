"""Classifiers and language models of text on real stacks: they learn, agree with each other, and write."""

import numpy as np
import pytest

from tests.support.conformance import Answers
from tests.support.questions import FIRST, STACKS

pytestmark = pytest.mark.stacks


def probabilities(conformance: Answers, stack: str) -> np.ndarray:
    """What a stack gives with the weights that the first stack learnt."""
    given: np.ndarray = np.load(conformance.folder(stack, "text") / "asked" / "probabilities.npy")
    return given


@pytest.mark.parametrize("stack", STACKS["text"])
def test_classifiers_learn_and_agree(conformance: Answers, stack: str) -> None:
    learnt, asked, *_ = conformance.of(stack, "text")
    own = probabilities(conformance, stack)
    assert learnt["metrics"]["test_accuracy"] >= 0.9
    assert np.abs(own.sum(axis=1) - 1).max() < 1e-5
    assert np.abs(own - probabilities(conformance, FIRST)).max() < 1e-4
    assert asked["metrics"]["test_accuracy"] == conformance.of(FIRST, "text")[1]["metrics"]["test_accuracy"]


@pytest.mark.parametrize("stack", STACKS["text"])
def test_language_models_learn_and_write_past_their_memory(conformance: Answers, stack: str) -> None:
    _, _, learnt, generated, scored = conformance.of(stack, "text")
    assert learnt["metrics"]["val_loss"] < 0.5
    assert scored["metrics"]["loss"] == pytest.approx(learnt["metrics"]["val_loss"], rel=1e-4)
    assert scored["metrics"]["perplexity"] == pytest.approx(np.exp(learnt["metrics"]["val_loss"]), rel=1e-4)
    assert scored["metrics"]["items"] == 59
    assert generated["written"] == "abcdefabcdefabcdefabcd"
    assert generated["text"] == generated["written"][2:]

"""Text that language models generate on real stacks: the letters, and the logits behind them."""

from pathlib import Path

import numpy as np
import pytest

from tests.support import real_stacks
from tests.support.conformance import Answers
from tests.support.questions import GENERATED, PLAYWRIGHT, STACKS, generated
from tests.support.serving import serving
from tests.support.workers.transformer import DECODED

pytestmark = pytest.mark.stacks


@pytest.mark.parametrize("stack", STACKS["generation"])
def test_the_same_seed_gives_the_same_letters_everywhere(conformance: Answers, stack: str) -> None:
    """Those of Keras's prediction, in the context window and beyond, where half of it is encoded again."""
    written = [answer["text"] for answer in conformance.of(stack, "generation")]
    assert written == [case["text"] for case in generated(stack)]
    assert sum(case["length"] > 100 for case in generated(stack)) == 3


@pytest.mark.parametrize("stack", STACKS["transformer"])
def test_numpy_decodes_what_the_model_computes(conformance: Answers, stack: str) -> None:
    given = dict(np.load(conformance.folder(stack, "transformer") / "arrays.npz"))
    bound = 1e-5 if stack in STACKS["generation"] else 1e-4  # as for the other outputs of a stack
    for name in DECODED:
        np.testing.assert_allclose(given[f"decoded_{name}"], given[f"whole_{name}"], rtol=1e-5, atol=bound)


@pytest.mark.stacks("torch")
def test_a_server_writes_the_same_letters(tmp_path: Path) -> None:
    """A long prompt is read in parts."""
    real_stacks.environment("torch")
    chosen = [case for case in GENERATED if len(case["prompt"]) > 50 or case["length"] > 100]
    names = ("prompt", "length", "temperature", "top_k", "top_p", "seed")
    with serving(tmp_path, [f"run={PLAYWRIGHT}", "name=play", "stack=torch"], stand_in=False) as server:
        while server.get("/readyz").status_code != 200:
            assert server.process.poll() is None, server.printed
        instances = [{name: case[name] for name in names} for case in chosen]
        answer = server.post("play", json={"instances": instances})
    assert [each["text"] for each in answer.json()["predictions"]] == [case["text"] for case in chosen]

"""PyTorch's compiler, a third of the import of Keras, is imported only by programs that compile."""

import json
import subprocess

import pytest

from tests.support import CHECKOUT, real_stacks
from zoo.environments import store

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from zoo.models import compat
import torch

def draw(x):
    return compat.keras.random.uniform((3,), seed=3) + x

def loaded():
    return "torch._dynamo" in sys.modules

before = [draw(torch.zeros(3)).tolist(), loaded()]
compiled = [torch.compile(draw, backend="eager")(torch.zeros(3)).tolist(), loaded()]
import torch._dynamo
print(json.dumps([before, compiled, torch._dynamo.__spec__ is not None, draw(torch.zeros(3)).tolist()]))
"""


@pytest.mark.stacks
def test_keras_draws_without_the_compiler_and_inside_of_it() -> None:
    """A draw cannot be compiled; it is excluded from compilation as Keras asks for."""
    stack, ready = real_stacks.environment("torch")
    done = subprocess.run(
        [str(ready.python), "-I", "-W", "error", "-c", PROGRAM, str(CHECKOUT)],
        env=store.child_environment(stack) | {"ZOO_KERAS": stack.keras}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (drawn, before), (compiled, after), whole, again = json.loads(done.stdout.splitlines()[-1])
    assert (before, after, whole) == (False, True, True)
    assert drawn == compiled == again

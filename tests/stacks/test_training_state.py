"""Another process goes on with a training to the bit, on every Keras."""

import json
import subprocess

import pytest

from tests.support import SUPPORT, real_stacks
from zoo.core import paths
from zoo.environments import store

WORKER = SUPPORT / "workers/states.py"


@pytest.mark.stacks
@pytest.mark.parametrize("name", ["tf-1.8", "tf-2.5", "tf-2.12", "plaidml-0.7", "tf-2.21", "torch", "jax"])
def test_what_was_taken_and_taken_up_goes_on_to_the_bit(name: str) -> None:
    stack, ready = real_stacks.environment(name)
    variables = store.child_environment(stack) | {"ZOO_KERAS": stack.keras, "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        [str(ready.python), "-I", "-B", str(WORKER), str(paths.PACKAGE)],
        env=variables, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found == dict.fromkeys(("adam", "momentum", "rmsprop", "sgd"), 0.0)


def test_models_drop_values_through_compat_alone() -> None:
    """A dropout layer of Keras 2 itself draws from where nothing can be saved."""
    models = [path for path in (paths.PACKAGE / "models").rglob("*.py") if "compat" not in path.parts]
    assert models
    assert [path.name for path in models if "layers.Dropout" in path.read_text(encoding="utf-8")] == []

"""Weights shrink alike on every Keras: by the learning rate times the decay in a step, and only those of two axes."""

import json
import subprocess

import pytest

from tests.support import CHECKOUT, real_stacks
from zoo.environments import store

# The input is zero, so the kernel has no gradient: only the decay changes it.
TRAIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from zoo.models import compat
layers = compat.keras.layers
inputs = layers.Input(shape=(3,))
model = compat.keras.models.Model(inputs=inputs, outputs=layers.Dense(2, activation="softmax", name="last")(inputs))
model.set_weights([np.ones((3, 2), np.float32), np.ones(2, np.float32)])
compat.compile_classifier(model, "adam", 0.1, False, clip=float(sys.argv[2]) or None, weight_decay=0.5)
compat.set_learning_rate(model, 0.2)
for _ in range(3):
    model.train_on_batch(np.zeros((4, 3), np.float32), np.eye(2, dtype=np.float32)[[0, 0, 0, 1]])
kernel, bias = model.get_weights()
print(json.dumps([kernel.ravel().tolist(), bias.tolist()]))
"""


@pytest.mark.stacks
@pytest.mark.parametrize("clip", ["0", "1"])
@pytest.mark.parametrize(
    "name", ["tf-2.21", "tf-1.8", *(pytest.param(f"tf-2.{n}", marks=pytest.mark.slow) for n in (5, 12))]
)
def test_only_the_decay_shrinks_a_kernel_without_gradient(name: str, clip: str) -> None:
    stack, ready = real_stacks.environment(name)
    done = subprocess.run(
        [str(ready.python), "-I", "-c", TRAIN, str(CHECKOUT), clip],
        env=store.child_environment(stack) | {"ZOO_KERAS": stack.keras},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kernel, bias = json.loads(done.stdout.splitlines()[-1])
    assert kernel == pytest.approx([(1 - 0.2 * 0.5) ** 3] * 6, rel=1e-5)
    # Adam moves the biases by about the learning rate in each step, in opposite directions.
    assert bias == pytest.approx([1.6, 0.4], abs=0.05)

"""Files of transfer learning that real Kerases write: the zoo finds the network in them, and all of its weights."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.support import real_stacks
from zoo.environments import store
from zoo.weights import io, recognition

# As the tutorials do it; argv: folder. Beside the files, what their layers hold by the names of keras.applications.
MADE = """
import sys
import numpy as np
import tensorflow as tf
keras, layers = tf.keras, tf.keras.layers
apps = keras.applications
bases = {
    "v1": apps.MobileNet(input_shape=(96, 96, 3), alpha=0.25, weights=None, include_top=False),
    "v2": apps.MobileNetV2(input_shape=(96, 96, 3), alpha=0.35, weights=None, include_top=False),
}
for name, base in bases.items():
    base.set_weights([np.random.RandomState(1).normal(size=w.shape).astype("f4") for w in base.get_weights()])
    head = layers.Dense(3, activation="softmax")
    inside = [keras.Input((96, 96, 3)), layers.Rescaling(1 / 127.5, offset=-1), base,
              layers.GlobalAveragePooling2D(), layers.Dropout(0.2), head]
    model = keras.Sequential(inside)
    model.save(sys.argv[1] + "/" + name + ".keras")
    model.save(sys.argv[1] + "/" + name + ".h5")
    model.save_weights(sys.argv[1] + "/" + name + ".weights.h5")
    flat = {}
    for layer in base.layers:
        for weight, value in zip(layer.weights, layer.get_weights()):
            own = weight.name.split("/")[-1].split(":")[0]
            own = "depthwise_kernel" if own == "kernel" and "DepthwiseConv2D" in type(layer).__name__ else own
            flat[layer.name + "/" + own] = value
    flat["head"] = head.get_weights()[0]
    np.savez(sys.argv[1] + "/" + name + ".npz", **flat)
"""


@pytest.mark.parametrize(
    "stack",
    [
        pytest.param("tf-2.21", marks=pytest.mark.stacks("tf-2.21")),
        pytest.param("tf-2.12", marks=[pytest.mark.stacks("tf-2.12"), pytest.mark.slow]),
    ],
)
def test_a_network_with_another_head_is_known_in_every_format(tmp_path: Path, stack: str) -> None:
    row, ready = real_stacks.environment(stack)
    command = [str(ready.python), "-I", "-c", MADE, str(tmp_path)]
    subprocess.run(command, env=store.child_environment(row), check=True, capture_output=True)
    for name, model, alpha in (("v1", "mobilenet", 0.25), ("v2", "mobilenet_v2", 0.35)):
        wanted = dict(np.load(tmp_path / f"{name}.npz"))
        head = wanted.pop("head")
        for suffix in (".keras", ".h5", ".weights.h5"):
            network = recognition.recognize(io.read(tmp_path / f"{name}{suffix}"))
            assert (network.name, network.arguments["alpha"], network.classes) == (model, alpha, 3)
            assert (network.top_problem, network.scaling) == ("", None)
            for weight, value in wanted.items():
                np.testing.assert_array_equal(network.arrays[weight], value)
            (top,) = [array for weight, array in network.arrays.items() if array.ndim > 1 and weight not in wanted]
            np.testing.assert_array_equal(top.reshape(head.shape), head)

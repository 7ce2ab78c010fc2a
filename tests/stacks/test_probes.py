"""The probes on real libraries: they pass there, and each catches a wrong operation."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support import real_stacks
from tests.support.conformance import Answers
from zoo.core import paths
from zoo.environments import store

pytestmark = pytest.mark.stacks

METAL = {"backend": "metal", "framework": "tensorflow", "device_kind": "gpu"}
CPU = {**METAL, "backend": "cpu", "device_kind": "cpu"}

# The worker itself, with wrong layers handed to the probes; argv: its path, a request, the kind of the device.
PLANTED = """
import json, os, runpy, sys
runpy.run_path(os.path.join(os.path.dirname(sys.argv[1]), "bootstrap.py"))
from zoo.protocol.events import DeviceProof
from zoo.worker import __main__ as worker
os.environ["ZOO_KERAS"] = "tf.keras"
from zoo.models import compat
from zoo.worker.probes import layers as operations
from zoo.worker.devices import tensorflow

real = compat.keras.layers


class Undropped(real.Dropout):
    def call(self, inputs, training=None):
        return inputs


class Wrong:
    Input, Dot, MaxPooling2D, Dropout = real.Input, real.Dot, real.MaxPooling2D, Undropped
    BatchNormalization, GlobalAveragePooling2D = real.BatchNormalization, real.GlobalAveragePooling2D

    def Dense(self, units, activation=None, **names):
        return real.Dense(units, activation=None if activation == "relu" else activation, **names)

    def Conv2D(self, filters, size, activation=None, **names):
        return real.Conv2D(filters, size, **names)

    def DepthwiseConv2D(self, size, **names):
        return real.DepthwiseConv2D(size, activation="relu", **names)

    def Activation(self, name):
        return real.Activation("sigmoid")

    def Lambda(self, function):
        return real.Lambda(lambda x: function(x) * 0)


def planted(operation):
    return lambda build, *rest, **named: operation(lambda _, *inputs: build(Wrong(), *inputs), *rest, **named)


operations.predict, operations.step = planted(operations.predict), planted(operations.step)
operations.compat = type("Compat", (), dict(vars(compat), backend_name=staticmethod(lambda: "theano")))
tensorflow.proof = lambda device: DeviceProof(name="device:0", device_kind=sys.argv[3], proof="matmul")
sys.exit(worker.main(["worker", sys.argv[2]]))
"""


def work(name: str, folder: Path, request_: dict[str, Any], *program: str) -> tuple[int, list[dict[str, Any]]]:
    """Run the worker, or another program before it, on a request; returns exit status and events."""
    stack, environment_ = real_stacks.environment(name)
    path = folder / "request.json"
    used = {"framework": stack.framework, "keras": stack.keras}
    path.write_text(json.dumps({"protocol": 1, "stack": used, **request_}))
    worker = program or ["-I", str(paths.WORKER)]
    done = subprocess.run(
        [str(environment_.python), "-B", *worker, str(path), request_["device"]["device_kind"]],
        env=store.child_environment(stack), cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events, done.stderr
    return done.returncode, events


@pytest.mark.parametrize("device", [METAL, CPU], ids=["promised", "not promised"])
def test_every_probe_catches_a_wrong_operation_of_a_real_framework(tmp_path: Path, device: dict[str, Any]) -> None:
    script = tmp_path / "planted.py"
    script.write_text(PLANTED)
    asked = {"verb": "probe", "probes": True, "device": device}
    code, events = work("tf-1.8", tmp_path, asked, str(script), str(paths.WORKER))
    rows = events[0]["probes"]
    assert {row["name"] for row in rows if row["ok"]} == {"variable"}
    message = next(event for event in events if event["event"] in ("error", "warning"))["message"]
    assert all(f"{row['name']} (" in message for row in rows if not row["ok"])
    if device is METAL:
        assert (code, [event["event"] for event in events]) == (1, ["start", "error"])
        assert events[1]["type"] == "ProbeError"
        assert "known issue metal-fused-dense-relu-wrong" in message
        assert "known issue metal-random-repeats" in message
        assert "known issue keras-backend-set-late" in message
    else:
        assert (code, [event["event"] for event in events]) == (0, ["start", "warning", "done"])


REAL = {
    "tf-2.21": set(), "tf-1.8": {"variable"}, "plaidml-0.7": {"variable"}, "torch": set(), "jax": {"wide_integers"},
    "openvino": {"wide_integers", "dropout", "train_step", "normalised_step", "variable"},
    "mlx": set(),
}  # fmt: skip


@pytest.mark.parametrize("stack", REAL)
def test_probes_pass_on_real_frameworks(conformance: Answers, stack: str) -> None:
    rows = conformance.of(stack, "probes")
    assert all(row["ok"] for row in rows)
    assert {row["name"] for row in rows if row["skipped"]} == REAL[stack]
    assert max(row["largest_error"] for row in rows if not row["skipped"]) < 1e-5


# PlaidML with its own batch normalisation, which the zoo has mended.
UNMENDED = """
import os, runpy, sys
runpy.run_path(os.path.join(os.path.dirname(sys.argv[1]), "bootstrap.py"))
from zoo.protocol.events import DeviceProof
from zoo.worker import __main__ as worker
os.environ["ZOO_KERAS"] = "keras"
from zoo.models import compat
from plaidml.keras import backend
compat.keras.backend.normalize_batch_in_training = backend.normalize_batch_in_training
sys.exit(worker.main(["worker", sys.argv[2]]))
"""


@pytest.mark.stacks("plaidml-0.7")
def test_wrong_gradients_of_batch_normalisation_are_caught(tmp_path: Path) -> None:
    script = tmp_path / "unmended.py"
    script.write_text(UNMENDED)
    device = {**CPU, "backend": "plaidml", "framework": "plaidml"}
    asked = {"verb": "probe", "probes": True, "device": device}
    _, events = work("plaidml-0.7", tmp_path, asked, str(script), str(paths.WORKER))
    failed = [row for row in events[0]["probes"] if not row["ok"]]
    assert [(row["name"], row["issue"]) for row in failed] == [("normalised_step", "plaidml-batch-norm-gradients")]
    assert failed[0]["largest_error"] > 1


# Steps of gradient descent from the same weights; prints how far apart the first kernel ends.
STEPS = """
import os, runpy, sys
import numpy as np
runpy.run_path(os.path.join(os.path.dirname(sys.argv[1]), "bootstrap.py"))
from zoo.protocol.events import DeviceProof
from zoo.worker import __main__ as worker
os.environ["ZOO_KERAS"] = "tf.keras"
from zoo.models import compat

layers, random = compat.keras.layers, np.random.RandomState(0)
model = compat.keras.models.Sequential([
    layers.Dense(32, activation="relu", input_shape=(24,)), layers.Dense(10, activation="softmax"),
])
compat.compile_classifier(model, "sgd", 0.5, False)
begin = [random.standard_normal(each.shape) / 8 for each in model.get_weights()]
x, y = random.standard_normal((16, 24)), np.eye(10)[np.arange(16) % 10]
ends = []
for _ in range(3000):
    model.set_weights(begin)
    model.train_on_batch(x, y)
    ends.append(model.get_weights()[0])
print(np.ptp(ends, axis=0).max())
"""


@pytest.mark.slow
def test_no_weight_changes_before_every_gradient_is_computed(tmp_path: Path) -> None:
    """In tf.keras 1.8 some do; without the waiting in compat a few of these steps end 0.005 apart."""
    script = tmp_path / "steps.py"
    script.write_text(STEPS)
    stack, environment_ = real_stacks.environment("tf-1.8")
    done = subprocess.run(
        [str(environment_.python), "-B", str(script), str(paths.WORKER)],
        env=store.child_environment(stack), cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert float(done.stdout) < 1e-6

"""``zoo.models`` in an environment of one's own: its Keras builds and fills the models."""

import subprocess
from pathlib import Path

import pytest

from tests.support import CHECKOUT, real_stacks
from zoo.environments import machine, stacks, uv_client
from zoo.execution.proven_stack import models_path

CODE = """
import sys
import numpy as np
from zoo.models import MobileNet, MobileNetV2, TransformerEncoder, load_weights
assert "keras" not in sys.modules

def refused(build, *words):
    try:
        build()
    except ValueError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("nothing was refused")

encoder = TransformerEncoder(d_model=16, nhead=4, dim_feedforward=24, num_encoder_layers=1, length=5)
assert encoder.output_shape == (None, 5, 16)
same = "`nhead` and `heads` are the same argument"
refused(lambda: TransformerEncoder(d_model=16, heads=2, nhead=4), same, "4 and 2")
for build in (MobileNet, MobileNetV2):
    model = build(weights=None, alpha=0.35, input_shape=(32, 32, 3), classes=3)
    assert model.predict(np.zeros((1, 32, 32, 3), "float32"), verbose=0).shape == (1, 3)

from zoo.models import compat
names = [name for name, _ in compat.named_weights(encoder)]
np.savez("own.npz", **{name: np.full(shape, 0.5, "float32") for name, shape in compat.named_weights(encoder)})
load_weights(encoder, "own.npz")
assert all((value == 0.5).all() for value in encoder.get_weights())
encoder.save_weights("own.weights.h5")
encoder.set_weights([value * 0 for value in encoder.get_weights()])
load_weights(encoder, "own.weights.h5")
assert all((value == 0.5).all() for value in encoder.get_weights())
np.savez("other.npz", **{names[0]: np.zeros(3), "more/kernel": np.zeros(3)})
refused(lambda: load_weights(encoder, "other.npz"), "surplus more/kernel", "missing " + names[1], "has shape (3,)")
refused(lambda: load_weights(encoder, "none.npz"), "cannot be read")
refused(lambda: load_weights(encoder, "own.safetensors"), "weights convert")
"""


@pytest.mark.slow
@pytest.mark.stacks
@pytest.mark.parametrize("stack", ["tf-2.21", "tf-1.8"])
def test_models_are_built_and_filled(stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row, environment = real_stacks.environment(stack)
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    own = {"PYTHONPATH": str(models_path()), "HOME": str(tmp_path), "ZOO_KERAS": row.keras, **row.env}
    command = [str(environment.python), "-c", CODE]
    done = subprocess.run(command, env=own, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def uv(*words: str) -> str:
    done = uv_client.run(list(words))
    assert done.code == 0, done.tail()
    return "\n".join(done.words)


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("stack", ["tf-2.21", "torch"])
def test_installing_the_zoo_leaves_the_keras_that_is_there_alone(stack: str, tmp_path: Path) -> None:
    """An environment of one's own, with a Keras and what it computes with, gets the zoo by pip."""
    row, environment = real_stacks.environment(stack)
    folder = tmp_path / "own"
    uv("venv", "--seed", "--python", str(environment.python), str(folder))
    python = folder / "bin" / "python"
    uv("pip", "install", "--python", str(python), "-r", str(stacks.lock_file(row, machine.probe().platform)))
    before = set(uv("pip", "freeze", "--python", str(python)).splitlines())
    command = [str(python), "-m", "pip", "install", "--quiet", str(CHECKOUT)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after = set(uv("pip", "freeze", "--python", str(python)).splitlines())
    assert any(line.startswith("keras==") for line in before)
    assert before - after == set()
    assert any(line.startswith("keras-gpu-zoo") for line in after - before)
    own = {"HOME": str(tmp_path), "ZOO_CACHE": str(tmp_path / "cache"), **row.env}
    done = subprocess.run([str(python), "-c", CODE], env=own, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]

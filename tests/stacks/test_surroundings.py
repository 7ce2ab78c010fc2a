"""What a user's home and shell hold for other projects changes nothing in a worker's environment."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.support import real_stacks
from zoo.core import paths
from zoo.environments import store

SHELL = {
    "KERAS_BACKEND": "nonsense", "JAX_ENABLE_X64": "1", "JAX_DEFAULT_MATMUL_PRECISION": "bfloat16",
    "TF_XLA_FLAGS": "--nonsense", "XLA_FLAGS": "--xla_nonsense", "TF_USE_LEGACY_KERAS": "1",
    "PLAIDML_SETTINGS": "/nowhere", "PYTHONPATH": "BROKEN", "KERAS_MAX_STEPS_PER_EPOCH": "1",
}  # fmt: skip
KERAS_JSON = {"floatx": "float64", "epsilon": 0.1, "backend": "theano", "image_data_format": "channels_first"}

TF_1 = """
import tensorflow as tf
K = tf.keras.backend
print(K.floatx(), K.image_data_format(), K.epsilon())
"""
PLAIDML = """
import os
os.environ.update(PLAIDML_EXPERIMENTAL="1", PLAIDML_DEVICE_IDS="llvm_cpu.0")
import keras.backend as K
ones = K.variable([[1.0, 1.0], [1.0, 1.0]])
print(K.floatx(), K.image_data_format(), K.epsilon(), K.eval(K.dot(ones, ones))[0, 0])
"""
JAX = """
import keras, jax.numpy as jnp
ones = jnp.full((2, 2), 1.0 + 2.0**-12)
settings = keras.backend.backend(), keras.config.floatx(), keras.config.image_data_format()
print(*settings, ones.dtype, (ones @ ones)[0, 0])
"""
TF_2 = """
import keras, tensorflow as tf
product = tf.function(lambda x: x @ x, jit_compile=True)(tf.ones((2, 2)))
print(keras.backend.backend(), keras.config.floatx(), keras.config.image_data_format(), float(product[0, 0]))
"""
EXPECTED = [
    ("tf-1.8", TF_1, "float32 channels_last 1e-07"),
    ("plaidml-0.7", PLAIDML, "float32 channels_last 1e-07 2.0"),
    ("jax", JAX, "jax float32 channels_last float32 2.0009766"),
    ("tf-2.21", TF_2, "tensorflow float32 channels_last 2.0"),
]


@pytest.mark.parametrize(
    ("name", "script", "expected"), [pytest.param(*row, marks=pytest.mark.stacks(row[0])) for row in EXPECTED]
)
def test_nothing_of_the_users_shell_and_home_reaches_a_worker(
    name: str, script: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, environment = real_stacks.environment(name)
    _hostile_home(tmp_path)
    for variable, value in SHELL.items():
        monkeypatch.setenv(variable, value.replace("BROKEN", str(tmp_path / "broken")))
    monkeypatch.setenv("ZOO_CACHE", str(paths.cache_dir()))
    monkeypatch.setenv("HOME", str(tmp_path))
    done = subprocess.run(
        [str(environment.python), "-B", "-c", script],  # not isolated, as a worker is: the variables are in question
        env=store.child_environment(row), cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip().splitlines()[-1:] == [expected], done.stderr[-2000:]


def _hostile_home(home: Path) -> None:
    (home / ".keras").mkdir()
    (home / ".keras" / "keras.json").write_text(json.dumps(KERAS_JSON), encoding="utf-8")
    (home / ".plaidml").write_text('{"PLAIDML_UNKNOWN_KEY": 1}', encoding="utf-8")
    (home / "broken" / "numpy").mkdir(parents=True)
    (home / "broken" / "numpy" / "__init__.py").write_text("raise ImportError('broken')", encoding="utf-8")

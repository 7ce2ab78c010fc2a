"""`zoo run` with real stacks: a script learns, reads input, is killed, is explained, and gets further packages."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.trainings import ready

LEARNS = """
import os
import sys
import numpy as np
try:
    import keras
except ImportError:
    from tensorflow import keras

pairs = np.array([line.split() for line in sys.stdin], "float32")
model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(1,))])
model.compile(keras.optimizers.SGD(0.5), "mse")
model.fit(pairs[:, :1], pairs[:, 1:], epochs=100, verbose=0)
print(sys.argv[1:], round(float(model.predict(np.array([[0.5]], "float32"), verbose=0)[0, 0]), 1))
sys.stdout.flush()
if "kill" in sys.argv:
    os.kill(os.getpid(), 9)
sys.exit(7)
"""
LINE = "".join(f"{x / 16} {1 + 2 * x / 16}\n" for x in range(16))
SLOW = [pytest.param(stack, marks=pytest.mark.slow) for stack in ("tf-2.21", "torch", "jax", "tf-2.12", "mlx")]

pytestmark = pytest.mark.stacks


def zoo_run(stack: str, *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "zoo", "run", *ready(stack), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.parametrize("stack", ["tf-1.8", *SLOW])
def test_a_script_learns_from_standard_input_and_keeps_words_and_exit_status(tmp_path: Path, stack: str) -> None:
    script = tmp_path / "learns.py"
    script.write_text(LEARNS)
    done = zoo_run(stack, str(script), "stack=mine", input=LINE)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (7, "['stack=mine'] 2.0"), done.stderr
    assert "Device: " in done.stderr or f"Stack {stack} on backend cpu, probed here on " in done.stderr
    done = zoo_run(stack, str(script), "kill", input=LINE)
    assert done.returncode == 128 + signal.SIGKILL
    assert "the script was killed by SIGKILL (often by the system, out of memory)" in done.stderr


@pytest.mark.parametrize(
    ("stack", "code", "error", "cause"),
    [
        ("tf-1.8", "import torch", "ModuleNotFoundError: No module named 'torch'", "run --with torch"),
        pytest.param("torch", "import keras; keras.backend.get_session()",
                     "AttributeError: module 'keras.backend' has no attribute 'get_session'",
                     "keras3-backend-functions", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_failure_is_explained_below_the_traceback(stack: str, code: str, error: str, cause: str) -> None:
    done = zoo_run(stack, "-c", code)
    assert done.returncode == 1
    before, _, after = done.stderr.partition(error)
    assert before.endswith("line 1, in <module>\n"), done.stderr
    assert cause in after


@pytest.mark.parametrize("stack", ["tf-1.8", "torch"])
def test_another_numpy_than_the_stack_s_is_refused_with_the_pair(stack: str) -> None:
    done = zoo_run(stack, "--with", "numpy==1.26.4", "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (1, "")
    assert "of the stack against numpy==1.26.4" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize("stack", ["torch"])
def test_a_script_gets_pandas_beside_the_stack(tmp_path: Path, stack: str) -> None:
    script = tmp_path / "frame.py"
    script.write_text("import keras, pandas\nprint(pandas.DataFrame({'a': [1, 2]})['a'].sum(), pandas.__name__)\n")
    done = zoo_run(stack, "--with", "pandas", str(script))
    assert (done.returncode, done.stdout) == (0, "3 pandas\n"), done.stderr

"""The operations of each model's training and inference are those that are listed.

They are recorded as a framework computes them on Linux; `scripts/operations.py` says which of them a Mac's GPU has.
Those of PyTorch are in `test_strict_mps.py`.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.linking import jax_operations, record
from tests.support import CHECKOUT, real_stacks
from tests.support.model_jobs import MODELS
from zoo.core import paths

SUPPORT = CHECKOUT / "tests" / "support"
PLAIN = CHECKOUT / "zoo" / "worker" / "__main__.py"
# JAX writes its programs by itself.
WORKERS = {
    "jax": PLAIN,
    "mlx": SUPPORT / "workers" / "recorded_mlx.py",
    "plaidml-0.7": SUPPORT / "workers" / "recorded_plaidml.py",
    **dict.fromkeys(("tf-2.19", "tf-2.12", "tf-2.11", "tf-2.5"), SUPPORT / "workers" / "recorded_tensorflow.py"),
}
# The other rows are recorded by hand.
CHECKED = [
    ("tf-2.19", "transformer/classifier"), ("jax", "mnist"), ("mlx", "transformer/classifier"),
    ("plaidml-0.7", "mnist_dense"),
]  # fmt: skip
EVERY = [(stack, model) for stack in WORKERS for model in MODELS]
CASES = [
    pytest.param(stack, model, marks=[pytest.mark.stacks(stack), pytest.mark.slow])
    for stack, model in (EVERY if record.UPDATE in os.environ else CHECKED)
]


@pytest.mark.parametrize(("stack", "model"), CASES)
def test_a_model_calls_no_operation_that_is_not_listed(stack: str, model: str, tmp_path: Path) -> None:
    real_stacks.environment(stack)
    problem = record.unlisted(stack, model, _run(stack, model, tmp_path))
    assert not problem, problem


def _run(stack: str, model: str, folder: Path) -> record.Calls:
    """Train a model and use it, and return its operations."""
    calls, programs = folder / "operations.txt", folder / "programs"
    variables = {
        "OPERATIONS": str(calls), "JAX_DUMP_IR_TO": str(programs), "JAX_DUMP_IR_MODES": "stablehlo",
    }  # fmt: skip
    passed = {**variables, "ZOO_WORKER_ENV": ",".join(variables), "ZOO_CACHE": str(paths.cache_dir())}
    program = [sys.executable, str(SUPPORT / "with_worker.py"), str(WORKERS[stack])]
    backend = "plaidml" if stack == "plaidml-0.7" else "cpu"
    for job in MODELS[model](folder)[:2]:
        command = [*program, *job, f"output.root={folder / 'runs'}", f"backend={backend}", f"stack={stack}"]
        done = subprocess.run(command, env=os.environ | passed, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    if stack == "jax":
        return jax_operations.parse(programs)
    return record.parse(calls.read_text(encoding="utf-8"))

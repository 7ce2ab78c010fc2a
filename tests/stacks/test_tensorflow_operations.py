"""The operations of each model's training and inference in TensorFlow are those that are listed.

They are recorded as TensorFlow adds them to a graph or computes them; `scripts/operations.py` says which of them
Apple's plug-in has no kernel for.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import operations
from scripts.linking import tensorflow_operations
from tests.support import CHECKOUT, real_stacks
from tests.support.model_jobs import MODELS
from zoo.core import paths

SUPPORT = CHECKOUT / "tests" / "support"
# The other rows are recorded by hand: these have convolutions and attention.
CHECKED = [("tf-2.19", "mnist"), ("tf-2.19", "transformer/classifier")]
EVERY = [(stack, model) for stack in ("tf-2.19", "tf-2.12", "tf-2.5") for model in MODELS]
CASES = [
    pytest.param(stack, model, marks=[pytest.mark.stacks(stack), pytest.mark.slow])
    for stack, model in (EVERY if operations.UPDATE in os.environ else CHECKED)
]


@pytest.mark.parametrize(("stack", "model"), CASES)
def test_a_model_calls_no_operation_that_is_not_listed(stack: str, model: str, tmp_path: Path) -> None:
    real_stacks.environment(stack)
    seen = _run(stack, model, tmp_path)
    if operations.UPDATE in os.environ:
        tensorflow_operations.update(stack, model, seen)
    listed = tensorflow_operations.recorded()[stack].get(model, {})
    new = {name: sorted(set(kinds) - set(listed.get(name, ()))) for name, kinds in seen.items()}
    new = {name: kinds for name, kinds in new.items() if kinds}
    assert not new, f"not in {tensorflow_operations.CALLS}: {json.dumps(new)}; {operations.UPDATE}=1 adds them"


def _run(stack: str, model: str, folder: Path) -> dict[str, dict[str, str]]:
    """Run the commands of a model, and return its operations."""
    calls = folder / "operations.txt"
    variables = os.environ | {
        "TENSORFLOW_OPERATIONS": str(calls), "ZOO_WORKER_ENV": "TENSORFLOW_OPERATIONS",
        "ZOO_CACHE": str(paths.cache_dir()),
    }  # fmt: skip
    program = [sys.executable, str(SUPPORT / "with_worker.py"), str(SUPPORT / "workers" / "recorded_tensorflow.py")]
    for job in MODELS[model](folder):
        command = [*program, *job, f"output.root={folder / 'runs'}"]
        if "resume=last" not in job:
            command += ["backend=cpu", f"stack={stack}"]
        done = subprocess.run(command, env=variables, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return tensorflow_operations.parse(calls.read_text(encoding="utf-8"))

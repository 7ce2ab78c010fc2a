"""Transposes go from OpenVINO's graphs, and no number changes."""

import json
import subprocess

import pytest

from tests.support import SUPPORT, real_stacks
from zoo.core import paths
from zoo.environments import store

WORKER = SUPPORT / "workers/transposes.py"
# What cannot be passed keeps its transposes.
KEPT = {"softmax": 2, "concat": 3, "maximum by names from the end": 1}


@pytest.mark.stacks
def test_transposes_cancel_and_no_number_changes() -> None:
    stack, ready = real_stacks.environment("openvino")
    done = subprocess.run(
        [str(ready.python), "-I", "-B", str(WORKER), str(paths.PACKAGE)],
        env=store.child_environment(stack), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert {name: error for name, (_, _, error) in found.items() if error > 1e-6} == {}
    assert {name: left for name, (_, left, _) in found.items()} == {name: KEPT.get(name, 0) for name in found}
    assert all(before >= 1 for before, _, _ in found.values())

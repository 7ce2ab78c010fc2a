"""Transposes go from OpenVINO's graphs, and no number changes."""

import json
import subprocess
from pathlib import Path

import pytest
import real_stacks

from zoo import envs, paths

WORKER = Path(__file__).with_name("transposes_worker.py")
# What cannot be passed keeps its transposes.
KEPT = {"softmax": 2, "concat": 3, "maximum by names from the end": 1}


@pytest.mark.stacks
def test_transposes_cancel_and_no_number_changes() -> None:
    stack, ready = real_stacks.environment("openvino")
    done = subprocess.run(
        [str(ready.python), "-I", "-B", str(WORKER), str(paths.PACKAGE)],
        env=envs.child_environment(stack), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert {name: error for name, (_, _, error) in found.items() if error > 1e-6} == {}
    assert {name: left for name, (_, left, _) in found.items()} == {name: KEPT.get(name, 0) for name in found}
    assert all(before >= 1 for before, _, _ in found.values())

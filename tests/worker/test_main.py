"""The worker's entry point, up to the import of a framework, which this interpreter lacks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.core import paths

PROGRAM = """
import os, runpy, sys
runpy.run_path(sys.argv[1])
from zoo.worker import __main__ as worker
code = worker.main(["", sys.argv[2]])
sys.stderr.write("%s %s" % (code, os.environ.get("OPENBLAS_NUM_THREADS")))
"""
WRITING = {"tokens": [2], "prompt": "", "length": 5, "temperature": 0.0, "seed": 1}
LINES = {"generate_text": {"generate": WRITING}, "score_text": {}}


@pytest.mark.parametrize(("job", "own", "threads"), [
    ("generate_text", None, "1"), ("generate_text", "3", "3"), ("score_text", None, "None"),
])  # fmt: skip
def test_text_is_generated_in_one_thread_of_numpy(tmp_path: Path, job: str, own: str | None, threads: str) -> None:
    device = {"device_kind": "cpu", "backend": "cpu", "framework": "torch"}
    request = {"protocol": 1, "verb": "infer", "job": job, "stack": {"framework": "torch", "keras": "keras"},
               "device": device, "run_dir": str(tmp_path), **LINES[job]}  # fmt: skip
    (tmp_path / "request.json").write_text(json.dumps(request))
    variables = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    variables |= {"OPENBLAS_NUM_THREADS": own} if own else {}
    command = [sys.executable, "-I", "-c", PROGRAM, str(paths.PACKAGE / "worker" / "bootstrap.py")]
    done = subprocess.run(
        [*command, str(tmp_path / "request.json")], env=variables, capture_output=True, text=True, check=False
    )
    assert "No module named 'torch'" in done.stdout
    assert done.stderr.split()[-2:] == ["1", threads]

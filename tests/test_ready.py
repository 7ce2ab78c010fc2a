"""Models are saved alike by every task, also one that was never compiled."""

import subprocess
from pathlib import Path

import pytest

from tests.support import real_stacks
from zoo.core import paths
from zoo.environments import store

SAVE = """
import os, runpy, sys
runpy.run_path(os.path.join(sys.argv[1], "worker", "bootstrap.py"))
os.environ["ZOO_KERAS"] = sys.argv[3]
from zoo.models import compat
from zoo.worker import ready
keras = compat.keras
start = keras.layers.Input(shape=(4,))
model = keras.models.Model(inputs=start, outputs=keras.layers.Dense(2)(start))
events = type("Events", (), {"emit": lambda self, event, **fields: None})()
ready.save_all(model, sys.argv[2], events)
"""


@pytest.mark.stacks
def test_a_model_that_was_never_compiled_is_saved(tmp_path: Path) -> None:
    stack, ready = real_stacks.environment("tf-1.8")
    done = subprocess.run(
        [str(ready.python), "-I", "-B", "-c", SAVE, str(paths.PACKAGE), str(tmp_path), stack.keras],
        env=store.child_environment(stack), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.h5", "weights.npz"]

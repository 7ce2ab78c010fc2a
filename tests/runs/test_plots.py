"""Plots are only saved, whatever the surroundings name as their backend."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support import CHECKOUT

# As in an environment without Jupyter: neither the module nor its entry point for matplotlib is there.
DRAW = """
import importlib.metadata
import sys
from pathlib import Path
sys.modules["matplotlib_inline"] = None
importlib.metadata.entry_points = lambda **_: []
import numpy as np
from zoo.runs import plots
plots.confusion(np.eye(2, dtype=np.int64), ["cat", "dog"], "a title", Path(sys.argv[1]))
"""


def test_the_backend_of_a_notebook_need_not_be_installed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRAW, str(tmp_path / "confusion.png")], cwd=CHECKOUT, capture_output=True, text=True,
        env=os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "confusion.png").stat().st_size > 1000

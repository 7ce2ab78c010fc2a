"""`zoo.api` in a notebook: progress while it trains, and the run as a table with its curves."""

import shutil
from pathlib import Path

import nbclient
import nbformat
import pytest

from tests.support import CHECKOUT

SETUP = """
import sys
from pathlib import Path
from zoo.core import paths
from zoo.environments import store
folder = Path.cwd()
(folder / "fake.lock").write_text("six==1.17.0 --hash=sha256:0")
ready = store.Environment(Path(sys.executable), folder, folder / "fake.lock", "0" * 64, {}, 0.0, "3.11.0")
store.ensure = lambda stack, platform, **_: ready
paths.WORKER = Path(paths.ROOT, "tests", "support", "fake_worker.py")
"""


def test_a_notebook_shows_progress_and_the_run(tmp_path: Path, digits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "PYTHONPATH": str(CHECKOUT), "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "FAKE_WORKER": "ok", "ZOO_WORKER_ENV": "FAKE_WORKER",
        "ZOO_CACHE": str(shutil.copytree(digits, tmp_path / "cache")),
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    code = "from zoo.api import train\ntrain(model='mnist', data='digits')"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in (SETUP, code)])
    nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = book.cells[1].outputs
    drawn = [part.data["text/html"] for part in outputs if part.output_type == "display_data"]
    assert 'value="3" max="3"' in drawn[-1]
    assert "epoch 3/3" in drawn[-1]
    (run,) = (part.data["text/html"] for part in outputs if part.output_type == "execute_result")
    assert "<b>mnist on cpu: completed</b>" in run
    assert "<th>test_accuracy</th><td>0.93</td>" in run
    assert "data:image/png;base64," in run

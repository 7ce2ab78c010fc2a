"""Jupyter kernels that are stacks: registered, executed, listed and removed."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from tests.support import stand_in_run
from zoo.cli.main import main
from zoo.core.errors import ZooError
from zoo.execution import kernels, proven_stack


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> proven_stack.ProvenStack:
    """A stack whose Python is that of the tests, and a Jupyter without kernels."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    return stand_in_run.prepare(None, "tf-2.21", [])


def executed(kernel: str, *cells: str) -> list[str]:
    """Execute a notebook of these cells with a kernel; return what each printed."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, kernel_name=kernel, timeout=120, startup_timeout=120).execute()
    return ["".join(part.get("text", "") for part in cell.outputs) for cell in book.cells]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_notebook_runs_in_the_stack(stack: proven_stack.ProvenStack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "theano")
    monkeypatch.setenv("API_KEY", "secret")
    name = kernels.install(stack).name
    shown = executed(
        name,
        "import os, sys; print(sys.executable)",
        "print([os.environ.get(name) for name in ('KERAS_BACKEND', 'CUDA_VISIBLE_DEVICES', 'API_KEY')])",
        "import zoo.models; print(zoo.models.__file__.count('zoo'), os.environ['PATH'].split(os.pathsep)[0])",
    )
    assert shown[0].strip() == str(stack.environment.python)
    assert shown[1].strip() == "['tensorflow', '-1', 'secret']"
    assert shown[2].strip().endswith(str(stack.environment.python.parent))


def test_kernels_are_named_by_what_they_are_listed_and_removed(
    stack: proven_stack.ProvenStack, capsys: pytest.CaptureFixture[str]
) -> None:
    more = dataclasses.replace(stack, label="tf-2.21+ipykernel+pandas")
    first, second, third = kernels.install(stack), kernels.install(more), kernels.install(more, "mine")
    assert [first.name, second.name, third.name] == ["zoo-tf-2.21", "zoo-tf-2.21-pandas", "mine"]
    assert json.loads((second / "kernel.json").read_text())["display_name"] == "tf-2.21 + pandas (zoo)"
    assert main(["kernel", "list", "--json"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == [
        "mine",
        "zoo-tf-2.21",
        "zoo-tf-2.21-pandas",
    ]
    assert main(["kernel", "install", "stack=none", "--name", "../x"]) == 1
    assert "'../x' is not a valid name of a kernel" in capsys.readouterr().err
    assert main(["kernel", "remove", "mine"]) == 0
    assert not third.exists()
    assert main(["kernel", "remove", "--all"]) == 0
    assert kernels.installed() == []


def test_kernels_of_others_are_left_alone(stack: proven_stack.ProvenStack) -> None:
    other = kernels.folder() / "python3"
    other.mkdir(parents=True)
    (other / "kernel.json").write_text('{"argv": ["python"], "display_name": "Python 3"}')
    assert kernels.installed() == []
    with pytest.raises(ZooError, match="was not installed by zoo"):
        kernels.install(stack, "python3")
    with pytest.raises(ZooError, match="no kernel installed by zoo called 'python3'"):
        kernels.remove(["python3"])
    with pytest.raises(ZooError, match="is not a valid name of a kernel"):
        kernels.install(stack, "../outside")


def test_a_kernel_whose_environment_is_gone_says_so(stack: proven_stack.ProvenStack) -> None:
    folder = kernels.install(stack)
    spec = json.loads((folder / "kernel.json").read_text())
    spec["metadata"]["zoo"]["environment"] = os.devnull
    (folder / "kernel.json").write_text(json.dumps(spec))
    assert [row.state for row in kernels.installed()] == ["its environment is missing; install it again"]


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.stacks("tf-2.21")
def test_a_notebook_trains_in_a_real_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    assert main(["kernel", "install", "stack=tf-2.21"]) == 0
    name = Path(capsys.readouterr().out.strip()).name
    shown = executed(
        name,
        "import keras, numpy as np; print(keras.backend.backend(), keras.__version__)",
        "model = keras.Sequential([keras.layers.Dense(1)]); model.compile('sgd', 'mse')",
        "print(model.fit(np.ones((8, 2)), np.ones(8), verbose=0).epoch)",
        "from zoo.models import MobileNet; print(MobileNet(weights=None, alpha=0.25).count_params())",
    )
    assert shown[0].startswith("tensorflow 3.")
    assert shown[2].strip() == "[0]"
    assert int(shown[3]) > 400_000


@pytest.mark.parametrize("variables", [{}, {"XDG_DATA_HOME": "/data"}, {"JUPYTER_PLATFORM_DIRS": "1"}])
def test_kernels_lie_where_jupyter_searches(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_DATA_DIR", "XDG_DATA_HOME", "JUPYTER_PLATFORM_DIRS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    # Jupyter reads some of these variables when it is imported.
    asked = [sys.executable, "-W", "ignore", "-c", "from jupyter_core import paths; print(paths.jupyter_data_dir())"]
    searched = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    assert kernels.folder() == Path(searched) / "kernels"

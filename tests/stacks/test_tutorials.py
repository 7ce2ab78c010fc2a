"""Every tutorial works as written: its files are saved and its commands run, word for word, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from tests.support import CHECKOUT, real_stacks, scripts

TUTORIALS = CHECKOUT / "docs" / "tutorials"
PARTS = re.compile(r"Save this as `([\w.]+)`:\n\n```python\n(.*?)```|```bash\n(.*?)```", re.DOTALL)
# What the text of each promises, and the stacks that its commands choose here.
RESULTS = {
    "mnist": ("tf-2.21", ["runs/*/weights.npz", "runs/*/predictions.csv", "runs/*/report.html"]),
    "painting": ("torch", ["photo.jpg", "painting.png", "glass.png"]),
    "own-images": ("tf-2.21", ["runs/*/confusion.csv", "runs/*/classes.csv", "runs/*/mistakes.csv"]),
    "own-model": ("tf-2.21", ["runs/*/weights.npz", "runs/*/model.keras", "runs/*/predictions.csv"]),
    "reproduce": ("tf-2.21", ["runs/first/config.yaml", "runs/again/weights.npz", "runs/large_batches/run.json"]),
    "export": ("export", ["exported/onnx/model.onnx", "exported/onnx/predict.py", "exported/litert/model.tflite"]),
}


def follow(name: str, folder: Path) -> str:
    """Do what a tutorial says and return what its commands printed."""
    printed = []
    for file, content, commands in PARTS.findall((TUTORIALS / f"{name}.md").read_text(encoding="utf-8")):
        if file:
            (folder / file).write_text(content, encoding="utf-8")
            continue
        done = subprocess.run(["bash", "-ec", commands], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        printed.append(done.stdout + done.stderr)
    return "\n".join(printed)


def execute(name: str, folder: Path) -> str:
    """Execute the notebook of a tutorial in a kernel and return what its cells printed."""
    book = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
    place = folder / "docs" / "tutorials"
    place.mkdir(parents=True)
    resources = {"metadata": {"path": str(place)}}
    nbclient.NotebookClient(book, timeout=600, startup_timeout=120, resources=resources).execute()
    return "".join(part.get("text", "") for cell in book.cells for part in cell.get("outputs", []))


@pytest.mark.stacks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("name", "stack"), [(name, stack) for name, (stack, _) in RESULTS.items()])
def test_a_tutorial_works_word_for_word(name: str, stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with a notebook, which has the same text and commands, are executed in it."""
    real_stacks.environment(stack)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    has_notebook = (TUTORIALS / f"{name}.ipynb").is_file()
    printed = (execute if has_notebook else follow)(name, tmp_path)
    assert not [pattern for pattern in RESULTS[name][1] if not list(tmp_path.glob(pattern))], printed
    if name == "reproduce":
        assert "the same weights" in printed
        assert "Resuming in epoch 4" in printed
        first, large = (tmp_path / "runs" / run / "weights.npz" for run in ("again", "large_batches"))
        assert first.read_bytes() != large.read_bytes()


def test_every_tutorial_is_followed() -> None:
    assert {path.stem for path in TUTORIALS.glob("*.md")} == set(RESULTS)


def test_the_notebooks_are_those_of_the_pages() -> None:
    written = scripts.load("maintenance/notebooks")
    assert {path.stem for path in TUTORIALS.glob("*.ipynb")} == set(written.NAMES)
    for name in written.NAMES:
        content = (TUTORIALS / f"{name}.ipynb").read_text(encoding="utf-8")
        assert content == written.notebook(TUTORIALS / f"{name}.md")
        book = nbformat.reads(content, as_version=4)
        nbformat.validate(book)
        code = [cell.source for cell in book.cells if cell.cell_type == "code"]
        parts = PARTS.findall((TUTORIALS / f"{name}.md").read_text(encoding="utf-8"))
        assert code[0] == "%cd ../.."
        assert code[1:] == [
            f"%%writefile {file}\n{content}".strip() if file else f"%%bash\n{commands}".strip()
            for file, content, commands in parts
        ]

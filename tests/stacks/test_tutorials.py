"""Every tutorial works as written: its files are saved and its commands run, word for word, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import CHECKOUT, real_stacks

TUTORIALS = CHECKOUT / "docs" / "tutorials"
PARTS = re.compile(r"Save this as `([\w.]+)`:\n\n```python\n(.*?)```|```bash\n(.*?)```", re.DOTALL)
# What the text of each promises, and the stacks that its commands choose here.
RESULTS = {
    "mnist": ("tf-2.21", ["runs/*/weights.npz", "runs/*/predictions.csv", "runs/*/report.html"]),
    "painting": ("torch", ["photo.jpg", "painting.png", "glass.png"]),
    "own-images": ("tf-2.21", ["runs/*/confusion.csv", "runs/*/classes.csv", "runs/*/mistakes.csv"]),
    "own-model": ("tf-2.21", ["runs/*/weights.npz", "runs/*/model.keras", "runs/*/predictions.csv"]),
    "reproduce": ("tf-2.21", ["runs/first/config.yaml", "runs/again/weights.npz", "runs/small_batches/run.json"]),
    "export": ("export", ["exported/onnx/model.onnx", "exported/onnx/predict.py", "exported/litert/model.tflite"]),
}


def follow(name: str, folder: Path) -> str:
    """Do what a tutorial says and return what its commands printed."""
    printed = []
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**os.environ, "PATH": path, "PYTHONPATH": str(CHECKOUT)}
    for file, content, commands in PARTS.findall((TUTORIALS / f"{name}.md").read_text(encoding="utf-8")):
        if file:
            (folder / file).write_text(content, encoding="utf-8")
            continue
        done = subprocess.run(["bash", "-ec", commands], cwd=folder, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        printed.append(done.stdout + done.stderr)
    return "\n".join(printed)


@pytest.mark.stacks
@pytest.mark.parametrize(("name", "stack"), [(name, stack) for name, (stack, _) in RESULTS.items()])
def test_a_tutorial_works_word_for_word(name: str, stack: str, tmp_path: Path) -> None:
    real_stacks.environment(stack)
    printed = follow(name, tmp_path)
    assert not [pattern for pattern in RESULTS[name][1] if not list(tmp_path.glob(pattern))], printed
    if name == "reproduce":
        assert "the same weights" in printed


def test_every_tutorial_is_followed() -> None:
    assert {path.stem for path in TUTORIALS.glob("*.md")} == set(RESULTS)

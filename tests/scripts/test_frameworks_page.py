"""The table of models and frameworks of Keras 3, from lines of its log."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import scripts

TRAINED = {"losses": [2.0, 1.0], "resumed": {"done": 1, "difference": 0.0}, "outputs": 2e-7,
           "exports": {"onnx": 1e-7, "litert": 3e-7, "coreml": "Core ML runs on macOS only"}}  # fmt: skip
LINES: list[dict[str, Any]] = [
    {"model": "mnist", "stack": "mlx", "keras": "3.16.0.dev1", **TRAINED, "losses": [2.002, 1.0]},
    {"model": "mnist", "stack": "torch", "keras": "3.15.1", **TRAINED},
    {"model": "mnist", "stack": "openvino", "keras": "3.16.0.dev1", "outputs": 4e-7, "exports": {"onnx": 4e-7},
     "refused": {"train": "It cannot train\nUse another."}},
]  # fmt: skip


@pytest.fixture
def page() -> ModuleType:
    module: ModuleType = scripts.load("maintenance/frameworks_page")
    return module


def test_rows_are_compared_with_the_reference(page: ModuleType) -> None:
    rows = page.table(LINES).splitlines()
    assert rows[2:5] == [
        "| torch | 3.15.1 | mnist | yes | 2.0e-07 | reference | same bits | 3 formats, 3.0e-07 |",
        "| mlx | 3.16.0.dev1 | mnist | yes | 2.0e-07 | 1.0e-03 | same bits | 3 formats, 3.0e-07 |",
        "| openvino | 3.16.0.dev1 | mnist | yes | 4.0e-07 | refused |  | 1 format, 4.0e-07 |",
    ]
    assert rows[-1] == "- `openvino`, train: It cannot train"


def test_a_resumed_run_with_different_weights_is_shown(page: ModuleType) -> None:
    changed = {**LINES[1], "resumed": {"done": 1, "difference": 0.25}}
    assert "| differs by 0.25 |" in page.table([changed])


def test_rows_stay_until_their_stack_and_model_is_asked_again(page: ModuleType) -> None:
    earlier = page.table(LINES)
    newer = {**LINES[0], "keras": "3.16.0.dev2", "outputs": 5e-7}
    rows = page.table([newer, {"model": "mnist", "stack": "torch", "keras": "3.15.1", "losses": [2.0, 1.0]}], earlier)
    assert rows == earlier.replace(*(f"| mlx | {text} |" for text in (
        "3.16.0.dev1 | mnist | yes | 2.0e-07", "3.16.0.dev2 | mnist | yes | 5.0e-07"
    )))  # fmt: skip


def test_the_table_is_written_between_its_marks(
    page: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, log = tmp_path / "page.md", tmp_path / "log.jsonl"
    target.write_text(f"before\n{page.MARKS[0]}\nold\n{page.MARKS[1]}\nafter\n")
    log.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    monkeypatch.setattr(page, "PAGE", target)
    monkeypatch.setattr("sys.argv", ["frameworks_page.py", "write", str(log)])
    assert page.main() == 0
    assert target.read_text() == f"before\n{page.MARKS[0]}\n{page.table(LINES)}\n{page.MARKS[1]}\nafter\n"

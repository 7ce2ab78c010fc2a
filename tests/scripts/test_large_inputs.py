"""What is made for benchmarks of large inputs: runs, epochs, and pictures of all classes."""

import csv
import json
from pathlib import Path

import pytest

from scripts.benchmarks import large_inputs


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"metrics": {"epochs": 2}}))
    (folder / "config.yaml").write_text("{}\n")
    (folder / "history.csv").write_text("epoch,loss\n1,0.5\n2,0.25\n")
    return folder


def test_runs_have_names_of_their_own_and_the_files_of_the_first(run: Path, tmp_path: Path) -> None:
    large_inputs.many_runs(run, tmp_path / "many", 3)
    copies = sorted((tmp_path / "many").iterdir())
    assert [copy.name for copy in copies] == ["run-00000", "run-00001", "run-00002"]
    assert all((copy / "run.json").read_bytes() == (run / "run.json").read_bytes() for copy in copies)


def test_epochs_are_counted_on(run: Path, tmp_path: Path) -> None:
    large_inputs.many_epochs(run, tmp_path / "long", 5)
    with (tmp_path / "long" / "history.csv").open(newline="") as source:
        rows = list(csv.DictReader(source))
    assert [(row["epoch"], row["loss"]) for row in rows] == [
        ("1", "0.5"), ("2", "0.25"), ("3", "0.5"), ("4", "0.25"), ("5", "0.5"),
    ]  # fmt: skip
    assert json.loads((tmp_path / "long" / "run.json").read_text())["metrics"]["epochs"] == 5


def test_each_class_has_as_many_pictures(tmp_path: Path) -> None:
    large_inputs.many_pictures(tmp_path / "pictures", 20)
    folders = sorted((tmp_path / "pictures").iterdir())
    assert [len(list(folder.glob("*.png"))) for folder in folders] == [2] * large_inputs.CLASSES

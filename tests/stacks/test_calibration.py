"""Calibration on real stacks: the point that is taken is one that was timed, and the training has it."""

import json
from pathlib import Path

import pytest

from tests.support.trainings import ready, record
from zoo.cli.main import main
from zoo.config import config_files

pytestmark = pytest.mark.stacks
ROW = {"batch_size": [32, 64], "learning_rate": "sqrt", "precisions": ["float32"]}


@pytest.mark.parametrize("stack", ["tf-2.21", "torch", "tf-1.8", "jax", "mlx", "plaidml-0.7"])
def test_the_training_has_the_fastest_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: str) -> None:
    monkeypatch.setattr(config_files, "recipe_range", lambda *_: ROW)
    settings = ["model=mnist_dense", "data=digits", "trainer.calibrate=true", "trainer.epochs=1"]
    place = ["backend.probes=false", f"output.root={tmp_path}", "output.name=a"]
    assert main(["train", *ready(stack), *settings, *place]) == 0
    run = record(tmp_path / "a")
    rows = [row for row in run["calibration"]["rows"] if "items_per_s" in row]
    assert rows[0]["batch_size"] == 32
    assert all(row["items_per_s"] > 0 for row in rows)
    assert run["calibration"]["taken"]["trainer.batch_size"] in {row["batch_size"] for row in rows}
    sent = json.loads((tmp_path / "a" / "request.json").read_text())["train"]
    assert {f"trainer.{name}": sent[name] for name in ("batch_size", "learning_rate", "precision")} == (
        run["calibration"]["taken"]
    )
    assert run["metrics"]["test_accuracy"] > 0.5

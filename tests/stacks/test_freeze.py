"""Layers that leave off learning before the others do, on real stacks."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.trainings import ready
from zoo.cli.main import main

pytestmark = pytest.mark.stacks

# Two epochs of 11 steps each, with checkpoints as often as can be.
SMALL = ["model=mnist", "data=digits", "data.train_limit=704", "data.validation=0", "trainer.batch_size=64",
         "trainer.epochs=2", "trainer.checkpoint_minutes=0", "trainer.keep_checkpoints=1000",
         "backend.probes=false"]  # fmt: skip


def train(folder: Path, stack: str, *overrides: str) -> int:
    return main(["train", *ready(stack), *SMALL, *overrides, f"output.root={folder.parent}",
                     f"output.name={folder.name}"])  # fmt: skip


@pytest.mark.parametrize("stack", [
    "tf-2.21", "tf-2.19", pytest.param("torch", marks=pytest.mark.slow), "jax", "mlx",
    "tf-2.5", "tf-1.8", "plaidml-0.7",
])  # fmt: skip
def test_the_first_layers_leave_off_learning_when_told(tmp_path: Path, stack: str) -> None:
    assert train(tmp_path / "run", stack, "freeze.before=conv2", "freeze.after=0.25") == 0
    steps = {int(path.stem): np.load(path) for path in (tmp_path / "run" / "checkpoints").glob("*.npz")}
    assert set(steps) == set(range(1, 23))
    left, later = steps[5], steps[6]
    assert not np.array_equal(steps[1]["weights.00000"], left["weights.00000"])
    for weights in ("weights.00000", "weights.00001"):  # the first convolution
        assert all(np.array_equal(left[weights], steps[step][weights]) for step in range(6, 23))
    for weights in ("weights.00002", "weights.00004"):  # what lies after it
        assert not np.array_equal(left[weights], later[weights])
        assert not np.array_equal(later[weights], steps[22][weights])


def test_a_layer_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path / "run", "tf-2.21", "freeze.before=konv2") == 1
    shown = capsys.readouterr().err
    assert "the model has no layer 'konv2' (freeze.before); did you mean 'conv2'?" in shown
    assert "Traceback" not in shown

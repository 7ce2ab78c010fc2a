"""Training data on the device: the same weights as with batches of the host, on real stacks."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.trainings import ready
from zoo.cli.main import main

pytestmark = pytest.mark.stacks
IMAGES = ["model=mnist", "data=digits", "data.balance=true", "data.train_limit=400", "trainer.epochs=2",
          "trainer.label_smoothing=0.1"]  # fmt: skip
TEXT = ["model=transformer/lm", "data=text_file", "data.tokenizer=characters", "model.length=16", "model.layers=1",
        "trainer.epochs=1", "trainer.steps=12", "trainer.batch_size=4", "trainer.label_smoothing=0.1"]  # fmt: skip


@pytest.mark.parametrize("stack", ["torch", "jax", "mlx"])
@pytest.mark.parametrize("job", ["images", "text"])
def test_weights_are_equal_to_the_bit(tmp_path: Path, stack: str, job: str) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{number} sheep are {number * number} legs short of a herd.\n" for number in range(200)))
    settings = IMAGES if job == "images" else [*TEXT, f"data.root={text}"]
    weights = []
    for place in ("host", "device"):
        where = [f"data.placement={place}", f"output.root={tmp_path}", f"output.name={place}", "backend.probes=false"]
        assert main(["train", *ready(stack), *settings, *where]) == 0
        with np.load(tmp_path / place / "weights.npz") as stored:
            weights.append({name: stored[name].tobytes() for name in stored.files})
    assert weights[0] == weights[1]


def test_a_stack_that_keeps_data_on_the_host_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["data.placement=device", f"output.root={tmp_path}", "backend.probes=false"]
    assert main(["train", *ready("tf-2.21"), *IMAGES, *where]) == 1
    assert "data.placement=device is not possible: only PyTorch, JAX and MLX" in capsys.readouterr().err

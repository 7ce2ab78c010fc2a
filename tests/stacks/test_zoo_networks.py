"""The networks that come with the zoo on real stacks: their cards are true, and they answer without any data."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.support import CHECKOUT, scripts, trainings
from zoo.config import config_files
from zoo.config.overrides import Overrides
from zoo.tasks import registry
from zoo.weights import zoo_networks

pytestmark = pytest.mark.stacks
NETWORKS = {f"{row.card.model}/{row.card.name}": row for row in zoo_networks.load_all()}
CHECKED = [name for name, row in NETWORKS.items() if row.card.check]


def seven(path: Path) -> Path:
    image = Image.new("L", (28, 28))
    ImageDraw.Draw(image).line([(7, 7), (20, 7), (13, 22)], 255, 3)
    image.save(path)
    return path


@pytest.mark.parametrize(
    ("name", "stack"),
    [
        *(("mnist/mnist", stack) for stack in ("tf-2.21", "torch", "tf-1.8")),
        *(pytest.param(name, "tf-2.21", marks=pytest.mark.slow) for name in CHECKED if name != "mnist/mnist"),
    ],
)
def test_a_card_is_true(name: str, stack: str, shared_data: Path) -> None:
    trainings.ready(stack)
    network = NETWORKS[name]
    card = network.card
    assert card.check is not None
    module = scripts.load("maintenance/zoo_weights")
    (row,) = module.rows([name])
    value = module.figure(row, network, shared_data, stack, card.check.items)
    assert value == pytest.approx(card.check.value, abs=module.tolerance(card.check))


@pytest.mark.slow
def test_without_data_and_without_a_network_each_answers(tmp_path: Path) -> None:
    """Nothing but the checkout and the environments: an empty cache for data, and no way to reach any host."""
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let a user cut himself off the network")
    Image.new("RGB", (64, 48), (90, 120, 160)).save(tmp_path / "photo.png")
    digit, variables = seven(tmp_path / "digit.png"), {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    inputs = {
        "classify": [f"input={digit}"],
        "restyle": [f"input={tmp_path / 'photo.png'}"],
        "text_classifier": ["input=A film to remember."],
        "language_model": ["prompt=ROMEO:", "length=20"],
    }
    for network in NETWORKS.values():
        named = [f"model={network.card.model}", f"weights={network.source}", f"output.root={tmp_path / 'runs'}"]
        given = [*named, *trainings.ready("torch"), *inputs[config_files.task_of(network.card.model)]]
        command = ["unshare", "-rn", sys.executable, "-m", "zoo", "infer", *given]
        answer = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
        assert answer.returncode == 0, answer.stderr
    assert len(list((tmp_path / "runs").iterdir())) == len(NETWORKS)


def test_a_digit_is_told_with_no_data_at_hand(tmp_path: Path) -> None:
    chosen = [*trainings.ready("tf-2.21"), f"output.root={tmp_path}"]
    run = registry.dispatch(
        "infer", Overrides.parse(["model=mnist", "weights=zoo", f"input={seven(tmp_path / 'digit.png')}", *chosen])
    )
    ((answer),) = run.predictions
    assert answer["class"] == "7"
    assert answer["probability"] > 0.5
    assert run.record["trained_run"] == str(NETWORKS["mnist/mnist"].folder)


def test_a_training_starts_where_the_zoos_network_ended(tmp_path: Path) -> None:
    chosen = [*trainings.ready("tf-2.21"), f"output.root={tmp_path}", "data=digits", "trainer.epochs=1"]
    run = registry.dispatch(
        "train", Overrides.parse(["model=mnist", "weights=zoo", "trainer.learning_rate=1e-6", *chosen])
    )
    assert run.record["weights"]["source"] == "zoo/mnist"
    assert run.metrics["test_accuracy"] > 0.8
    with np.load(run.folder / "weights.npz") as learnt, np.load(NETWORKS["mnist/mnist"].weights) as began:
        assert max(np.abs(learnt[name] - began[name].astype("f4")).max() for name in began.files) < 1e-3

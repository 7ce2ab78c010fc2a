"""The networks that come with the zoo on real stacks: their cards are true, and they answer without any data."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.support import trainings
from zoo.tasks import registry
from zoo.weights import zoo_networks

pytestmark = pytest.mark.stacks
NETWORKS = {f"{row.card.model}/{row.card.name}": row for row in zoo_networks.load_all()}
CHECKED = [name for name, row in NETWORKS.items() if row.card.check]
# Where a data set lies below the folder of shared data, by its name on the card.
PLACES = {
    "mnist": "mnist",
    "fashion": "fashion",
    "text_folder": "text/aclImdb_labelled.tar.xz",
    "text_file": "text/tinyshakespeare_input.txt",
}


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
def test_a_card_is_true(name: str, stack: str, shared_data: Path, tmp_path: Path) -> None:
    card, chosen = NETWORKS[name].card, trainings.ready(stack)
    assert card.check is not None
    test = ["input=test", f"data.root={shared_data / PLACES[card.data.name]}", f"data.test_limit={card.check.items}"]
    named = [f"model={card.model}", f"weights={NETWORKS[name].source}", f"output.root={tmp_path}"]
    run = registry.infer([*named, *test, *chosen])
    assert run.metrics[card.check.metric] == pytest.approx(card.check.value, abs=5e-5)


def test_a_digit_is_told_with_no_data_at_hand(tmp_path: Path) -> None:
    chosen = [*trainings.ready("tf-2.21"), f"output.root={tmp_path}"]
    run = registry.infer(["model=mnist", "weights=zoo", f"input={seven(tmp_path / 'digit.png')}", *chosen])
    ((answer),) = run.predictions
    assert answer["class"] == "7"
    assert answer["probability"] > 0.5
    assert run.record["trained_run"] == str(NETWORKS["mnist/mnist"].folder)


def test_a_training_starts_where_the_zoos_network_ended(tmp_path: Path) -> None:
    chosen = [*trainings.ready("tf-2.21"), f"output.root={tmp_path}", "data=digits", "trainer.epochs=1"]
    run = registry.train(["model=mnist", "weights=zoo", "trainer.learning_rate=1e-6", *chosen])
    assert run.record["weights"]["source"] == "zoo/mnist"
    assert run.metrics["test_accuracy"] > 0.8
    with np.load(run.folder / "weights.npz") as learnt, np.load(NETWORKS["mnist/mnist"].weights) as began:
        assert max(np.abs(learnt[name] - began[name].astype("f4")).max() for name in began.files) < 1e-3

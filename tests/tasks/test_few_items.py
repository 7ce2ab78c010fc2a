"""Settings that follow from the number of items."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from zoo.cli.main import main
from zoo.config import compose
from zoo.config.overrides import Overrides
from zoo.tasks import discovery, few_items

PICTURES, TEXTS = discovery.command("train", "classify"), discovery.command("train", "text_classifier")
TUNED = ("model=mobilenet", "data=folder", "weights=a.h5")


@functools.cache
def settings_and_recipe(command: Any, words: tuple[str, ...]) -> tuple[Any, Any]:
    groups = [word for word in words if word.partition("=")[0] in few_items.GROUPS]
    return compose.compose(command, Overrides.parse(list(words))), compose.compose(command, Overrides.parse(groups))


def derived(*words: str, train: int, validation: int = 10, command: Any = PICTURES) -> dict[str, Any]:
    """What follows from sizes for a training on a processor."""
    settings, recipe = settings_and_recipe(command, ("backend=cpu", *words))
    own = {word.partition("=")[0] for word in words}
    return few_items.derived(settings, recipe, own, {"train": train, "validation": validation, "test": 9})


@pytest.mark.parametrize("train", [1, 7, 20, 94, 200, 1000])
def test_few_pictures_are_fine_tuned_in_enough_steps_and_gently(train: int) -> None:
    values = derived(*TUNED, train=train)
    steps = -(-train // values["trainer.batch_size"])
    assert values["trainer.batch_size"] <= max(8, train / 4)
    assert values["fine_tune.head_epochs"] * steps >= few_items.STEPS
    assert values["trainer.epochs"] * steps >= few_items.TUNING_STEPS
    assert values["trainer.learning_rate"] < 5e-4  # the rate of the recipe


RECIPES = [
    ("mnist", "cpu"),
    ("mnist", "plaidml"),
    ("mnist_conv5", "cpu"),
    ("mnist_fast", "cpu"),
    ("mobilenet", "cpu"),
    ("mobilenet_v2", "mps"),
]


@pytest.mark.parametrize(("model", "backend"), RECIPES)
@pytest.mark.parametrize("train", [20, 100, 3000])
def test_no_recipe_depends_on_a_large_set(model: str, backend: str, train: int) -> None:
    words = (f"model={model}", "data=folder", f"backend={backend}")
    usual = settings_and_recipe(PICTURES, ("backend=cpu", *words))[1].trainer
    values = derived(*words, train=train)
    epochs, size = values.get("trainer.epochs", usual.epochs), values.get("trainer.batch_size", usual.batch_size)
    assert epochs * -(-train // size) >= few_items.LEAST_STEPS


def test_a_smaller_batch_takes_smaller_steps() -> None:
    values = derived("model=mnist", "data=folder", train=94)
    assert values["trainer.learning_rate"] == pytest.approx(0.02 / 32**0.5, rel=0.02)
    assert values["trainer.beta_2"] == pytest.approx(1 - 0.05 / 32, abs=1e-4)


@pytest.mark.parametrize(
    ("words", "train", "left"),
    [
        (("model=mobilenet",), 147, 1e-5),
        (("model=mobilenet_v2",), 147, 1e-5),
        (("model=mobilenet_v2",), 4860, 1e-5),
        (("model=keras/MobileNetV3Small",), 4860, 1e-5),
        (("model=mobilenet_v2", "trainer.epochs=50"), 4860, 1e-5),
        (("model=mobilenet", "trainer.epochs=1", "trainer.batch_size=32"), 200, 0.25),
    ],
)
def test_normalization_forgets_its_first_averages_in_the_steps_that_there_are(
    words: tuple[str, ...], train: int, left: float
) -> None:
    words = (*words, "data=folder")
    values, usual = derived(*words, train=train), settings_and_recipe(PICTURES, ("backend=cpu", *words))[0]
    epochs = values.get("trainer.epochs", usual.trainer.epochs)
    size = values.get("trainer.batch_size", usual.trainer.batch_size)
    assert values["model.bn_momentum"] ** (epochs * -(-train // size)) < left


def test_normalization_of_learnt_weights_and_of_long_trainings_stays_as_it_is() -> None:
    assert "model.bn_momentum" not in derived(*TUNED, train=94)
    assert derived("model=mobilenet", "data=folder", train=54_000) == {}


@pytest.mark.parametrize(
    ("words", "train", "command"),
    [
        (("model=mnist", "data=mnist"), 54_000, PICTURES),
        (("model=mnist", "data=digits"), 1294, PICTURES),
        (("model=mnist_conv5", "data=fashion"), 54_000, PICTURES),
        (TUNED, 4860, PICTURES),
        (("model=transformer/classifier", "data=text_folder"), 23_750, TEXTS),
        (("model=transformer/classifier", "data=text_lines"), 9116, TEXTS),
    ],
)
def test_a_recipe_that_fits_stays_as_it_is(words: tuple[str, ...], train: int, command: Any) -> None:
    assert derived(*words, train=train, validation=train // 9, command=command) == {}


def test_few_items_to_validate_by_are_judged_by_the_loss() -> None:
    assert derived(*TUNED, train=94, validation=12)["trainer.best_by"] == "loss"
    assert "trainer.best_by" not in derived(*TUNED, train=500, validation=500)


@pytest.mark.parametrize("without", ["model.pair_buckets=0", "weights=zoo"])
def test_texts_are_adapted_too_but_where_a_classifier_is_fitted_to_all_of_them_first(without: str) -> None:
    words = ("model=transformer/classifier", "data=text_folder")
    values = derived(*words, without, train=60, command=TEXTS)
    assert values["trainer.epochs"] * -(-60 // values["trainer.batch_size"]) >= few_items.STEPS
    assert derived(*words, train=60, command=TEXTS) == {}


def test_a_batch_size_of_the_user_decides_the_number_of_passes() -> None:
    values = derived(*TUNED, "trainer.batch_size=64", train=94)
    assert values["trainer.batch_size"] == 64
    assert values["fine_tune.head_epochs"] == few_items.STEPS // 2


def test_who_asks_for_few_passes_gets_no_more_of_them_for_the_last_layer() -> None:
    assert derived(*TUNED, "trainer.epochs=1", train=50)["fine_tune.head_epochs"] == 1
    assert derived(*TUNED, "trainer.epochs=9999", train=50)["fine_tune.head_epochs"] == 58


def test_a_run_names_what_was_changed_and_keeps_it_when_it_is_resumed(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_WORKER", "dies-once")
    few = ["model=mnist", "data=digits", "data.train_limit=60", "trainer.batch_size=20", "output.name=a"]
    assert main(["train", *few]) == 1
    assert "The recipe is changed for only 54 training items" in capsys.readouterr().err
    begun = json.loads(Path("runs/a/run.json").read_text())
    trainer = begun["config"]["trainer"]
    assert (trainer["batch_size"], trainer["epochs"], trainer["best_by"]) == (20, 134, "loss")
    assert "trainer.epochs=134" in begun["command"]
    assert main(["train", "resume=runs/a"]) == 0
    assert json.loads(Path("runs/a/run.json").read_text())["config"] == begun["config"]


@pytest.mark.parametrize("chosen", ["preset=smoke", "data.train_limit=1400"])
def test_a_preset_and_a_recipe_that_fits_are_left_alone(
    pretending: Path, capsys: pytest.CaptureFixture[str], chosen: str
) -> None:
    assert main(["train", "model=mnist", "data=digits", chosen]) == 0
    assert "The recipe is changed" not in capsys.readouterr().err

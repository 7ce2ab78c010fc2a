"""A promise is held in its direction, and only against a training that it was made for."""

import json
from pathlib import Path
from typing import Any

import pytest

from zoo.cli.main import main
from zoo.config import config_files
from zoo.config.overrides import Overrides
from zoo.config.schemas.image_classification import TrainConfig
from zoo.config.schemas.style_network import StyleNetworkConfig
from zoo.config.schemas.text import TextTraining
from zoo.runs import promises
from zoo.runs.records import RunRecord
from zoo.tasks import discovery, registry

SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
LANGUAGE = ["model=transformer/lm", "backend=cpu", "data=text_file", "data.root=play.txt"]
DIGITS = ["model=mnist", "backend=cpu", "data=digits"]


def judged(*overrides: str, loss: float = 1.79, sha256: str = SHA256, **more: Any) -> dict[str, Any]:
    settings = registry.compose_settings("train", Overrides.parse([*LANGUAGE, *overrides]))
    assert isinstance(settings, TextTraining)
    record = {"exit": "completed", "data": {"name": "text_file", "sha256": sha256}, "metrics": {"val_loss": loss}}
    return promises.judge(
        discovery.command_of("train", Overrides.parse(LANGUAGE)), settings, RunRecord.from_json(record | more)
    )


@pytest.mark.parametrize(("loss", "met"), [(1.79, True), (2.5, False)])
def test_a_loss_stays_below_what_is_promised(loss: float, met: bool) -> None:
    assert judged(loss=loss) == {"expected": {"val_loss": {"at_most": 1.88, "met": met}}}


@pytest.mark.parametrize(
    "override",
    ["seed=7", "data.root=other.txt", "output.root=there", "trainer.hang_minutes=3", "backend.probes=false",
     "tensorboard=true", "trainer.epochs=4", "trainer.export=[npz]", "distributed.processes=2",
     "distributed.threads=3"],
)  # fmt: skip
def test_settings_that_do_not_bear_on_the_figure_leave_the_promise(override: str) -> None:
    assert "expected" in judged(override)


@pytest.mark.parametrize(
    ("override", "difference"),
    [
        ("trainer.epochs=1", "trainer.epochs=1 (recipe: 4)"),
        ("trainer.learning_rate=0.1", "trainer.learning_rate=0.1 (recipe: 0.002)"),
        ("data.train_limit=1000", "data.train_limit=1000 (recipe: null)"),
        ("data.validation=0.2", "data.validation=0.2 (recipe: 0.1)"),
        ("model.layers=1", "model.layers=1 (recipe: 4)"),
        ("preset=smoke", "preset=smoke (recipe: full)"),
    ],
)
def test_another_training_is_not_held_to_it(override: str, difference: str) -> None:
    (key, row), *rest = judged(override).items()
    assert (key, rest) == ("expected_not_applicable", [])
    assert row["expected"] == {"val_loss": {"at_most": 1.88}}
    assert difference in row["because"]


def test_other_texts_are_not_held_to_it() -> None:
    because = judged(sha256="0" * 64)["expected_not_applicable"]["because"]
    assert because == ["the data differ from the data of the promise"]


def test_a_training_that_was_stopped_is_not_held_to_it() -> None:
    assert judged(stopped="max_minutes")["expected_not_applicable"]["because"] == ["stopped by trainer.max_minutes"]
    assert judged(exit="interrupted") == {}


@pytest.mark.parametrize(
    ("override", "difference"),
    [("trainer.epochs=1", "trainer.epochs=1 (recipe: 8)"), ("model.dropout=0.4", "model.dropout=0.4 (recipe: 0.0)"),
     ("preset=smoke", "preset=smoke (recipe: full)"), ("augment.flip=true", "augment.flip=True (recipe: False)")],
)  # fmt: skip
def test_a_run_says_that_the_promise_does_not_apply_and_why(
    pretending: Path, capsys: pytest.CaptureFixture[str], override: str, difference: str
) -> None:
    assert main(["train", *DIGITS, override]) == 0
    said = capsys.readouterr().out
    assert "MISSED" not in said
    assert "The recipe's promise (test_accuracy of at least 0.97) does not apply to this run: " in said
    assert difference in said
    (folder,) = (pretending / "runs").iterdir()
    record = json.loads((folder / "run.json").read_text())
    assert "expected" not in record
    assert difference in record["expected_not_applicable"]["because"]


def test_other_data_than_the_promise_is_for_is_named(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pretending / "play.txt").write_text("To be, or not to be: that is the question.\n" * 20)
    assert main(["train", *LANGUAGE]) == 0
    assert "of at most 1.88) does not apply to this run: the data differ" in capsys.readouterr().out
    assert main(["train", "model=mnist_conv5", "backend=cpu", "data=digits"]) == 0
    assert "The recipe's promise does not apply to this run: data=digits (promised for: mnist)" in (
        capsys.readouterr().out
    )


def judged_mnist(*overrides: str) -> dict[str, Any]:
    given = Overrides.parse(["model=mnist", "backend=cpu", "data=mnist", *overrides])
    settings = registry.compose_settings("train", given)
    assert isinstance(settings, TrainConfig)
    record = {"exit": "completed", "data": {"name": "mnist", "sha256": None}, "metrics": {"test_accuracy": 0.991}}
    return promises.judge(discovery.command_of("train", given), settings, RunRecord.from_json(record))


def test_the_promise_holds_inside_of_the_range_that_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"batch_size": [128, 512], "learning_rate": "sqrt", "precisions": ["float32"]}
    monkeypatch.setattr(config_files, "recipe_range", lambda *_: row)
    assert judged_mnist()["expected"]["test_accuracy"]["met"]
    inside = judged_mnist("trainer.batch_size=512", "trainer.learning_rate=0.0283", "trainer.precision=float32")
    assert inside["expected"]["test_accuracy"]["met"]
    outside = judged_mnist("trainer.batch_size=2048", "trainer.learning_rate=0.0566")["expected_not_applicable"]
    assert outside["because"][0] == (
        "trainer.batch_size=2048 (recipe: 256, measured with 128 to 512, learning rate sqrt, float32)"
    )
    more = judged_mnist("trainer.batch_size=512", "trainer.learning_rate=0.0283", "model.dropout=0.5")
    assert more["expected_not_applicable"]["because"] == ["model.dropout=0.5 (recipe: 0.0)"]


def judged_mobilenet(monkeypatch: pytest.MonkeyPatch, *overrides: str) -> dict[str, Any]:
    given = Overrides.parse(["model=mobilenet", "backend=cpu", "data=folder", "data.root=images", *overrides])
    own = {"model": {"alpha": 0.25}, "weights_checksum": "1" * 64}
    promise = {"sha256": "0" * 64, "settings": own, "test_accuracy": 0.8}
    compose = promises.compose.compose

    def composed(*arguments: Any) -> Any:
        settings = compose(*arguments)
        settings.expect["folder"] = promise
        return settings

    monkeypatch.setattr(promises.compose, "compose", composed)
    settings = registry.compose_settings("train", given)
    assert isinstance(settings, TrainConfig)
    settings.expect["folder"] = promise
    record = {"exit": "completed", "data": {"name": "folder", "sha256": "0" * 64}, "metrics": {"test_accuracy": 0.85}}
    return promises.judge(discovery.command_of("train", given), settings, RunRecord.from_json(record))


def test_a_promise_with_settings_holds_with_these_only(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["model.alpha=0.25", "weights=somewhere/any.h5", f"weights.checksum={'1' * 64}"]
    assert judged_mobilenet(monkeypatch, *given) == {"expected": {"test_accuracy": {"at_least": 0.8, "met": True}}}
    because = {
        tuple(left): judged_mobilenet(monkeypatch, *left)["expected_not_applicable"]["because"]
        for left in (given[1:], given[:1], given[:2])
    }
    checksum = f"weights_checksum=null (recipe: {'1' * 64})"
    assert list(because.values()) == [["model.alpha=1.0 (recipe: 0.25)"], [checksum], [checksum]]


def judged_style(monkeypatch: pytest.MonkeyPatch, *overrides: str, sha256: str = "0" * 64) -> dict[str, Any]:
    promise = {"photos": {"sha256": "0" * 64, "settings": {"features": "distilled"}, "loss": 3.0}}
    given = Overrides.parse(["model=style_transfer/fast", "backend=cpu", *overrides])
    compose = promises.compose.compose

    def composed(*arguments: Any) -> Any:
        settings = compose(*arguments)
        settings.expect = promise
        return settings

    monkeypatch.setattr(promises.compose, "compose", composed)
    row = {"batch_size": [1, 4], "learning_rate": "fixed", "precisions": ["float32"]}
    monkeypatch.setattr(config_files, "recipe_range", lambda *_: row)
    settings = registry.compose_settings("train", given)
    assert isinstance(settings, StyleNetworkConfig)
    settings.expect = promise
    record = {"exit": "completed", "data": {"name": "photos", "sha256": sha256}, "metrics": {"loss": 2.5}}
    return promises.judge(discovery.command_of("train", given), settings, RunRecord.from_json(record))


def test_a_style_network_is_held_to_its_loss_on_its_photos(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"expected": {"loss": {"at_most": 3.0, "met": True}}}
    assert judged_style(monkeypatch, "features=distilled", "trainer.batch_size=4", "precision=float32") == kept
    others = [
        (("features=distilled", "precision=bfloat16"), "precision=bfloat16 (recipe: auto)"),
        (("features=distilled", "trainer.steps=20"), "trainer.steps=20 (recipe: 500)"),
        (("features=distilled", "photos=mine"), "photos=mine (recipe: null)"),
        ((), "features=auto (recipe: distilled)"),
    ]
    for given, because in others:
        assert judged_style(monkeypatch, *given)["expected_not_applicable"]["because"] == [because]
    other = judged_style(monkeypatch, "features=distilled", sha256="1" * 64)["expected_not_applicable"]
    assert other["because"] == ["the data differ from the data of the promise"]


def test_what_a_backend_does_not_promise_is_not_judged() -> None:
    given = Overrides.parse(
        ["model=transformer/classifier", "backend=plaidml", "data=text_folder", "data.root=reviews"]
    )
    settings = registry.compose_settings("train", given)
    assert isinstance(settings, TextTraining)
    data = {"name": "text_folder", "sha256": "0" * 64}
    record = {"exit": "completed", "data": data, "metrics": {"test_accuracy": 0.9}}
    assert promises.judge(discovery.command_of("train", given), settings, RunRecord.from_json(record)) == {}


def test_a_backend_has_a_promise_for_fewer_steps() -> None:
    words = ["backend=plaidml", "trainer.epochs=1", "trainer.steps=200"]
    assert judged(*words, loss=2.5) == {"expected": {"val_loss": {"at_most": 2.75, "met": True}}}
    assert judged("backend=plaidml")["expected_not_applicable"]["because"][1] == "trainer.steps=500 (recipe: 200)"

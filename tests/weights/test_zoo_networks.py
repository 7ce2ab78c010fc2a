"""The trained networks that come with the package: their cards, their files, and what ``weights=zoo`` means."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support import CHECKOUT
from zoo.config import config_files
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.tasks import registry
from zoo.weights import io, pretrained, zoo_networks

NETWORKS = zoo_networks.load_all()
MOST_BYTES = 12_000_000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))


def named(network: zoo_networks.ZooNetwork) -> str:
    return f"{network.card.model}/{network.card.name}"


@pytest.mark.parametrize("network", NETWORKS, ids=named)
def test_a_card_is_of_its_files(network: zoo_networks.ZooNetwork) -> None:
    card = network.card
    assert network.folder == zoo_networks.FOLDER / card.model / card.name
    assert card.model in config_files.options("model")
    assert zoo_networks.find(card.model, network.source) == network
    there = {path.name for path in network.folder.iterdir()}
    assert there == {zoo_networks.CARD, *card.files}
    weights = io.read(network.weights)
    assert sum(array.size for array in weights.arrays.values()) == card.parameters
    assert card.licence
    assert card.data.licence
    assert card.limits
    assert re.fullmatch("[0-9a-f]{40}(-dirty)?", card.commit)
    assert card.recipe.startswith(f"python -m zoo train model={card.model} ")
    assert (card.painting is not None) == (card.model == "style_transfer/fast")
    for stack, value in (pair for figures in card.figures.values() for pair in figures.items()):
        first = next(iter(next(iter(card.figures.values())).values()))
        off = 5e-5 * first if card.model == "style_transfer/fast" else 5e-5
        assert value == pytest.approx(first, abs=off, rel=0), stack


@pytest.mark.parametrize("network", NETWORKS, ids=named)
def test_no_file_tells_of_the_machine_that_trained(network: zoo_networks.ZooNetwork) -> None:
    for path in network.folder.glob("*.[jy]*"):
        text = path.read_text(encoding="utf-8")
        assert str(Path.home()) not in text
        assert str(CHECKOUT.parent) not in text
    record = json.loads((network.folder / "run.json").read_text(encoding="utf-8"))
    assert "machine" not in record


def test_they_are_small_and_one_of_each_model_is_meant_by_zoo_alone() -> None:
    assert sum(network.bytes for network in NETWORKS) <= MOST_BYTES
    models = [network.card.model for network in NETWORKS]
    for model in set(models):
        defaults = [row for row in zoo_networks.of_model(model) if row.card.default]
        assert len(defaults) == 1
        assert zoo_networks.find(model, "zoo") == defaults[0]


def test_infer_takes_one_as_a_run() -> None:
    given = ["model=mnist", "weights=zoo", "input=digit.png"]
    assert registry.expand("infer", Overrides.parse(given)).words == [
        f"run={zoo_networks.FOLDER / 'mnist' / 'mnist'}",
        "input=digit.png",
    ]
    assert registry.expand("infer", Overrides.parse(["run=last", "weights=none"])).words == [
        "run=last",
        "weights=none",
    ]
    assert registry.expand("train", Overrides.parse(given)).words == given


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["weights=zoo", "input=a.png"], ["needs a model", "mnist"]),
        (["model=mnist", "weights=zoo/mnits"], ["did you mean 'zoo/mnist'", "zoo list weights"]),
        (["model=mobilenet_v2", "weights=zoo"], ["no trained network of mobilenet_v2", "mnist"]),
        (
            ["model=mnist", "weights=zoo", "model.dropout=0.1"],
            ["has no effect", "Remove model.dropout"],
        ),
        (["model=mnist", "weights=zoo", "run=last"], ["run=last has no effect"]),
        (
            ["model=transformer/lm", "prompt=x"],
            ["weights is missing", "weights=zoo/shakespeare", "run="],
        ),
        (["model=mnist", "input=x.png"], ["weights is missing", "weights=zoo"]),
        (["model=mnist", "weights=zoo/../mnist"], ["There is no weights=zoo/../mnist"]),
    ],
)
def test_what_cannot_be_had_is_told(overrides: list[str], words: list[str]) -> None:
    with pytest.raises(ZooError) as error:
        registry.dispatch("infer", Overrides.parse(overrides))
    assert all(word in str(error.value) for word in words), error.value


def test_training_starts_from_one() -> None:
    chosen = pretrained.choose("zoo", {"name": "mnist", "dropout": 0.1}, ())
    assert chosen is not None
    assert chosen.record["source"] == "zoo/mnist"
    assert chosen.record["parameters"] == 34_826
    assert {array.dtype.name for array in io.read(chosen.npz).arrays.values()} == {"float32"}


def test_a_file_that_is_not_the_cards_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(zoo_networks.FOLDER / "mnist" / "mnist", tmp_path / "mnist" / "mnist")
    monkeypatch.setattr(zoo_networks, "FOLDER", tmp_path)
    with (tmp_path / "mnist" / "mnist" / "weights.npz").open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(ZooError, match="differs from the checksum in its card"):
        pretrained.choose("zoo", {"name": "mnist"})
    (tmp_path / "mnist" / "mnist" / "card.yaml").write_text("model: mnist\nnames: x\n")
    with pytest.raises(ZooError, match="about: missing"):
        registry.dispatch("infer", Overrides.parse(["model=mnist", "weights=zoo", "input=x.png"]))

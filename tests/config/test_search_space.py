"""zoo.config.search_space: what a search may try, and the winners of earlier ones."""

import json
from pathlib import Path

import pytest
import yaml

from zoo.config import search_space
from zoo.config.search_space import Range
from zoo.core.errors import ZooError


def written(folder: Path, values: object, **changed: object) -> str:
    row = {"metric": "val_accuracy", "target": {"digits": 0.9}, "values": values} | changed
    path = folder / "space.yaml"
    path.write_text(yaml.safe_dump(row))
    return str(path)


def test_a_bundled_space_is_read_by_model_and_backend() -> None:
    space = search_space.load("mnist_dense", "cpu")
    assert space.metric.startswith("val_")
    assert space.values
    with pytest.raises(ZooError, match="mnist_dense on metal declares no search space\nSee configs/tune"):
        search_space.load("mnist_dense", "metal")


def test_a_file_has_choices_and_ranges(tmp_path: Path) -> None:
    values = {
        "trainer.batch_size": {"choices": [16, 64]},
        "trainer.learning_rate": {"low": 0.001, "high": 0.1, "log": True},
    }
    space = search_space.load("any", "cpu", written(tmp_path, values))
    assert space.target == {"digits": 0.9}
    assert space.values == {
        "trainer.batch_size": Range(choices=[16, 64]), "trainer.learning_rate": Range(low=0.001, high=0.1, log=True),
    }  # fmt: skip
    with pytest.raises(ZooError, match=r"There is no file .*nowhere\.yaml"):
        search_space.load("any", "cpu", str(tmp_path / "nowhere.yaml"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"choices": [1], "low": 1}, "values.trainer.a: give choices, or low and high"),
        ({"choices": [1], "high": 1}, "values.trainer.a: give choices, or low and high"),
        ({"choices": []}, "values.trainer.a: give choices, or low and high"),
        ({"low": 1}, "values.trainer.a: give choices, or low and high"),
        ({"high": 1}, "values.trainer.a: give choices, or low and high"),
        ({"low": 2, "high": 2}, "values.trainer.a: low must be less than high"),
        ({"low": 3, "high": 2}, "values.trainer.a: low must be less than high"),
        ({"low": 0, "high": 2, "log": True}, "and more than 0 with log: true"),
        ({"low": 1, "hihg": 2}, "did you mean 'high'"),
        (None, "values: name at least one setting"),
    ],
)
def test_a_space_with_nothing_to_try_is_refused(tmp_path: Path, row: dict[str, object] | None, said: str) -> None:
    with pytest.raises(ZooError, match=r"space\.yaml") as caught:
        search_space.load("any", "cpu", written(tmp_path, {} if row is None else {"trainer.a": row}))
    assert said in str(caught.value)
    assert (
        search_space.load("any", "cpu", written(tmp_path, {"trainer.a": {"low": 0, "high": 2}})).values["trainer.a"].low
        == 0
    )


def test_values_are_shown_as_on_the_command_line() -> None:
    assert search_space.words({"seed": 1, "model.name": "a b"}) == "seed=1 model.name='a b'"


@pytest.mark.parametrize(("text", "said"), [("{", "cannot be read"), ("{}", "does not contain a list of winners"),
                                            ("[1]", "does not contain a list of winners")])  # fmt: skip
def test_a_file_of_winners_is_a_list(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "winners.json"
    assert search_space.existing(path) == []
    path.write_text(json.dumps([{"a": 1}]))
    assert search_space.existing(path) == [{"a": 1}]
    path.write_text(text)
    with pytest.raises(ZooError, match=said):
        search_space.existing(path)

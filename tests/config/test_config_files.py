"""zoo.config.config_files: groups, recipes and their layers, from the files under configs and recipes."""

from pathlib import Path

import pytest

from zoo.config import config_files
from zoo.core import paths


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file ``train`` with a recipe, a data set and a preset."""
    texts = {
        "configs/train.yaml": "defaults:\n- model: a\n- backend: cpu\n- data: big\n- preset: full\n- _self_\n"
        "- optional recipes: ${model}/${backend}\n",
        "configs/bench.yaml": "defaults:\n- model: a\n",
        "configs/model/a.yaml": "name: a\nabout: x\ntask: swim\nunits: {default: 3, meaning: m}\nrate: 1\n",
        "configs/model/b/c.yaml": "name: b/c\nabout: x\n",
        "configs/data/big.yaml": "data: {name: big, validation: 0.2}\ntrainer: {epochs: 5}\n",
        "configs/data/small.yaml": "data: {name: small}\ntrainer: {epochs: 9}\n",
        "configs/preset/full.yaml": "preset: full\n",
        "configs/preset/smoke.yaml": "preset: smoke\ntrainer: {epochs: 1}\n",
        "recipes/a/recipe.yaml": "trainer: {epochs: 2, schedule: x}\nexpect: {big: {test_accuracy: 0.9}}\n"
        "range: {big: {trainer.batch_size: [1, 2], seed: [1]}}\n",
        "recipes/a/cpu.yaml": "trainer: {schedule: y}\nrange: {big: {seed: [2]}}\n",
        "recipes/any/small.yaml": "trainer: {warmup: 1}\n",
        "recipes/any/large.yaml": "trainer: {epochs: 4}\n",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(paths, "CONFIGS", tmp_path / "configs")
    monkeypatch.setattr(paths, "RECIPES", tmp_path / "recipes")
    return tmp_path


def test_groups_have_the_names_of_their_files(files: Path) -> None:
    assert config_files.options("model") == ["a", "b/c"]
    assert config_files.groups("train") == {
        "model": ["a", "b/c"], "backend": [], "data": ["big", "small"], "preset": ["full", "smoke"],
    }  # fmt: skip
    assert not config_files.recipes_by_size("bench")


def test_layers_are_the_values_of_each_file(files: Path) -> None:
    of_a = {"trainer.epochs": 2, "trainer.schedule": "y", "expect.big.test_accuracy": 0.9,
            "range.big.trainer.batch_size": [1, 2], "range.big.seed": [2]}  # fmt: skip
    of_big = {"data.validation": 0.2, "trainer.epochs": 5}
    assert config_files.layers("train", {}) == {"recipe": of_a, "data": of_big, "preset": {}}
    picked = {"backend": "metal", "data": "small", "preset": "smoke"}
    assert config_files.layers("train", picked) == {
        "recipe": of_a | {"trainer.schedule": "x", "range.big.seed": [1]}, "data": {"trainer.epochs": 9},
        "preset": {"trainer.epochs": 1},
    }  # fmt: skip
    assert config_files.layers("train", {"recipes": "any/small"})["recipe"] == {"trainer.warmup": 1}
    assert config_files.layers("bench", {}) == {"data": {}, "preset": {}}


def test_arguments_of_a_model_are_what_its_file_says_of_no_model(files: Path) -> None:
    assert config_files.default_arguments("a") == {"units": 3, "rate": 1}
    assert config_files.default_arguments("d") == {}
    assert [config_files.task_of(name) for name in ("a", "b/c", "d", None)] == ["swim", *["classify"] * 3]


def test_a_recipe_has_a_file_for_all_backends_and_one_for_each(files: Path) -> None:
    assert [path.name for path in config_files.recipe_files("a", "cpu")] == ["recipe.yaml", "cpu.yaml"]
    assert [path.name for path in config_files.recipe_files("a", "metal")] == ["recipe.yaml"]
    assert config_files.recipe_range("a", "cpu", "big") == {"trainer.batch_size": [1, 2], "seed": [2]}
    assert config_files.recipe_range("a", "metal", "big") == {"trainer.batch_size": [1, 2], "seed": [1]}
    assert config_files.recipe_range("a", "cpu", "small") == {}


def test_keys_of_recipes_are_settings(files: Path) -> None:
    assert config_files.recipe_keys("a") == {"trainer.epochs", "trainer.schedule"}
    assert config_files.recipe_keys("b/c") == config_files.recipe_keys("own.py") == {"trainer.epochs", "trainer.warmup"}
    assert config_files.recipes_by_size("train") == ["any/large", "any/small"]

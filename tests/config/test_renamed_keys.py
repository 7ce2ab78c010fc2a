"""Old names of settings keep working, and one line says the new name."""

import json
from pathlib import Path
from typing import Any

import pytest

from zoo.config import compose, references, renamed_keys
from zoo.runs import records
from zoo.tasks import registry
from zoo.tasks.text import predict

# old key, a value that is not the default, and what else the settings need.
CASES = {
    "augment.colour": ("0.3", "train", []),
    "beside": ("[jax]", "bench", ["bench=stacks"]),
    "colours": ("content", "train", ["model=style_transfer"]),
    "data.normalise": ("unit", "train", []),
    "data.tokeniser": ("bpe", "train", ["model=transformer/lm"]),
    "fine_tune.freeze_normalisation": ("false", "train", []),
    "model.edge": ("7", "train", ["model=style_transfer/fast"]),
    "most_s": ("3.0", "bench", ["bench=matmul"]),
    "smallest": ("64", "train", ["model=style_transfer"]),
    "strength.roughness": ("0.5", "train", ["model=style_transfer"]),
    "text_column": ("review", "infer", ["run=x", "input=y"]),
    "trainer.final": ("0.2", "train", ["model=transformer/lm"]),
}


def composed(verb: str, overrides: list[str]) -> Any:
    # What a run was trained for says of which task `infer` is, and there is no run here.
    return (
        compose.compose(predict.INFER, overrides) if verb == "infer" else registry.compose_settings(verb, overrides)
    )


def test_every_renamed_key_has_a_case() -> None:
    assert set(CASES) == set(renamed_keys.RENAMED)


@pytest.mark.parametrize("key", CASES)
def test_an_old_key_is_the_new_one(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    renamed_keys._announce.cache_clear()
    value, verb, rest = CASES[key]
    plain, old = composed(verb, rest), composed(verb, [*rest, f"{key}={value}"])
    printed = capsys.readouterr().err
    assert f"The setting {key} is now called {renamed_keys.RENAMED[key]}" in " ".join(printed.split())
    assert old == composed(verb, [*rest, f"{renamed_keys.RENAMED[key]}={value}"])
    assert old != plain


def test_an_old_key_is_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    renamed_keys._announce.cache_clear()
    for value in ("0.1", "0.2"):
        composed("train", [f"augment.colour={value}"])
    assert capsys.readouterr().err.count("augment.color") == 1


def test_a_recipe_may_hold_old_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = tmp_path / "recipes" / "mnist_dense" / "openvino.yaml"
    recipe.parent.mkdir(parents=True)
    recipe.write_text("# @package _global_\naugment:\n  colour: 0.4\n", encoding="utf-8")
    monkeypatch.setattr(compose.paths, "ROOT", tmp_path)
    settings = composed("train", ["model=mnist_dense", "backend=openvino"])
    assert settings.augment.color == 0.4


def test_a_reference_may_hold_old_keys(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "about: mine\nmachine: {about: any}\nsettings:\n  model: mnist\n  augment: {colour: 0.4}\n", encoding="utf-8"
    )
    assert composed("train", references.expand([f"reference={path}", "backend=cpu"])).augment.color == 0.4


def test_the_record_of_an_older_run_is_read_with_present_keys(tmp_path: Path) -> None:
    config = {"data": {"name": "digits", "normalise": "unit"}, "colours": "content", "seed": 1}
    record = {
        "format": 1, "verb": "train", "exit": "completed", "started": "2026-01-01T00:00:00", "config": config,
        "backend": "cpu", "model": "mnist", "stack": {"name": "tf-2.21"}, "data": {}, "metrics": {}, "phases": {},
    }  # fmt: skip
    (tmp_path / "run.json").write_text(json.dumps(record), encoding="utf-8")
    read = records.read(tmp_path)["config"]
    assert read == {"data": {"name": "digits", "normalize": "unit"}, "colors": "content", "seed": 1}

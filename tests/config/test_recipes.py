"""The recipes of the zoo: one a model, files of backends for differences only, ranges that can be used."""

import dataclasses
from pathlib import Path

import pytest

from zoo.config import compose, config_files
from zoo.config.overrides import Overrides, leaves
from zoo.config.schemas.text import TextTraining
from zoo.core import paths
from zoo.core import schema as files
from zoo.core.errors import ZooError
from zoo.environments import backends
from zoo.runs import ranges
from zoo.tasks import discovery

BACKENDS = [row.name for row in backends.load_all() if row.trains and row.runnable]
# The bare encoder is timed and built with; the restyler of any painting is used as it was published; a painting that
# is optimized is not trained.
UNTRAINED = ("transformer", "style_transfer/any", "style_transfer")
MODELS = [name for name in config_files.options("model") if name not in UNTRAINED]
OWN = sorted(
    path
    for path in paths.RECIPES.glob("*/**/*.yaml")
    if not path.is_relative_to(paths.STACKS) and path.stem in BACKENDS
)
RANGES = [
    (model, data)
    for model in MODELS
    for path in config_files.recipe_files(model, "")
    for data in files.read_yaml(path).get("range", {})
]


def named(path: Path) -> tuple[str, str]:
    return path.parent.relative_to(paths.RECIPES).as_posix(), path.stem


def test_the_backends_that_train_are_the_known_eight() -> None:
    assert BACKENDS == ["cpu", "cuda", "cuda-mac", "jax", "metal", "mlx", "mps", "plaidml"]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_that_trains_has_a_recipe_for_every_backend_that_trains(model: str) -> None:
    command = discovery.command("train", config_files.task_of(model))
    for backend in BACKENDS:
        recipe = config_files.recipe_files(model, backend)
        assert recipe[0].name == "recipe.yaml"
        wanted = {key: value for path in recipe for key, value in leaves(files.read_yaml(path))}
        settings = dict(leaves(dataclasses.asdict(compose.compose(command, Overrides.of(
            {"model": model, "backend": backend} | ({} if model.startswith("style") else {"data": data_of(model)})
        )))))  # fmt: skip
        promised = ("expect.", "range.")
        kept = {key: value for key, value in wanted.items() if not key.startswith(promised)}
        assert {key: settings[key] for key in kept} == kept


def data_of(model: str) -> str:
    return {"transformer/lm": "text_file", "transformer/classifier": "text_folder"}.get(model, "mnist")


@pytest.mark.parametrize("path", OWN, ids=lambda path: "-".join(named(path)))
def test_a_file_of_a_backend_holds_differences_and_their_reason_only(path: Path) -> None:
    model, _ = named(path)
    inherited = dict(leaves(defaults(model)))
    for base in config_files.recipe_files(model, ""):
        inherited |= dict(leaves(files.read_yaml(base)))
    same = {key for key, value in leaves(files.read_yaml(path)) if inherited.get(key, ...) == value}
    assert not same, f"{path} repeats what it would inherit"
    header, block, rest = path.read_text(encoding="utf-8").partition("# End of the validated versions.\n")
    written_by_hand = rest if block else header.partition("\n")[2]
    assert written_by_hand.startswith("# "), f"{path} gives no reason"


def defaults(model: str) -> dict[str, object]:
    task = config_files.task_of(model)
    command = discovery.command("train", task)
    return {"model": config_files.default_arguments(model)} | {
        part.name: dataclasses.asdict(part.default_factory())  # type: ignore[misc]
        for part in dataclasses.fields(command.schema)
        if part.name == "trainer"
    }


@pytest.mark.parametrize(("model", "data"), RANGES)
def test_a_range_holds_the_recipe_s_own_point_and_has_a_target(model: str, data: str) -> None:
    command = discovery.command("train", config_files.task_of(model))
    for backend in BACKENDS:
        proven = ranges.of(command, model, data, backend)
        if proven is None:
            continue
        size, rate = proven.usual
        assert proven.contains(size, rate, "float32")
        assert proven.precisions[0] == "float32"
        low, high = proven.batch_size
        assert low <= size <= high
        assert proven.target or backend in {path.stem for path in OWN if path.parent.name in model}


def test_a_backend_that_is_not_trusted_with_a_precision_keeps_it_out_of_the_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = {"batch_size": [128, 512], "learning_rate": "sqrt", "precisions": ["float32", "mixed_bfloat16"]}
    monkeypatch.setattr(config_files, "recipe_range", lambda *_: row)
    command = discovery.command("train", "classify")
    cpu, metal = (ranges.of(command, "mnist", "mnist", backend) for backend in ("cpu", "metal"))
    assert cpu is not None
    assert metal is not None
    assert (cpu.precisions, metal.precisions) == (("float32", "mixed_bfloat16"), ("float32",))
    assert cpu.target == {"test_accuracy": 0.99}
    assert cpu.usual == (256, 0.02)
    assert cpu.settings(512, "float32") == {
        "trainer.batch_size": 512, "trainer.learning_rate": 0.02828, "trainer.precision": "float32",
    }  # fmt: skip
    assert cpu.contains(512, 0.0283, "mixed_bfloat16")
    assert not cpu.contains(512, 0.02, "float32")
    assert not cpu.contains(1024, 0.04, "float32")
    assert not metal.contains(256, 0.02, "mixed_bfloat16")


@pytest.mark.parametrize(("rule", "rate"), [("linear", 0.04), ("fixed", 0.02)])
def test_the_rule_of_the_learning_rate(monkeypatch: pytest.MonkeyPatch, rule: str, rate: float) -> None:
    row = {"batch_size": [64, 512], "learning_rate": rule, "precisions": ["float32"]}
    monkeypatch.setattr(config_files, "recipe_range", lambda *_: row)
    proven = ranges.of(discovery.command("train", "classify"), "mnist", "mnist", "cpu")
    assert proven is not None
    assert proven.rate(512) == rate
    row["learning_rate"] = "cubic"
    with pytest.raises(ZooError, match="learning_rate is 'cubic'"):
        ranges.of(discovery.command("train", "classify"), "mnist", "mnist", "cpu")


def test_a_model_file_gets_nothing_of_the_default_model_s_recipe() -> None:
    command = discovery.command("train", "classify")
    settings = compose.compose(command, Overrides.of({"model": "keras/MobileNetV3Small", "data": "folder"}))
    assert (settings.trainer.batch_size, settings.freeze.before, settings.expect) == (128, None, {})


def test_a_backend_takes_back_a_promise() -> None:
    command = discovery.command("train", "text_classifier")
    chosen = {"model": "transformer/classifier", "data": "text_folder", "backend": "plaidml"}
    settings = compose.compose(command, Overrides.of(chosen))
    assert isinstance(settings, TextTraining)
    assert settings.expect == {"text_folder": None}

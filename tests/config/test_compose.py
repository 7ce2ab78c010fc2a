"""Composing settings: what is laid over what, and every mistake at once."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from zoo.config import arguments, compose, config_files, setting
from zoo.config.overrides import Overrides
from zoo.config.schemas import classifiers, common
from zoo.config.schemas import image_classification as schemas
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.tasks import discovery, registry


def train(*overrides: str) -> schemas.TrainConfig:
    settings = registry.compose_settings("train", Overrides.parse(list(overrides)))
    assert isinstance(settings, schemas.TrainConfig)
    return settings


def refusal(*overrides: str, verb: str = "train") -> str:
    with pytest.raises(ZooError) as caught:
        registry.compose_settings(verb, Overrides.parse(list(overrides)))
    return str(caught.value)


def test_recipe_is_laid_over_the_defaults_and_the_command_line_over_the_recipe() -> None:
    assert train("model=mnist", "backend=cpu").trainer.schedule == "one_cycle"
    assert train("model=mnist", "backend=cpu", "trainer.schedule=constant").trainer.schedule == "constant"


def test_a_recipe_that_is_edited_meanwhile_is_composed_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("configs", "recipes"):
        shutil.copytree(paths.ROOT / name, tmp_path / name)
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "CONFIGS", tmp_path / "configs")
    assert train("model=mnist", "backend=cpu").trainer.schedule == "one_cycle"
    recipe = tmp_path / "recipes" / "mnist" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("one_cycle", "cosine"))
    assert train("model=mnist", "backend=cpu").trainer.schedule == "cosine"
    recipe.unlink()
    assert train("model=mnist", "backend=cpu").trainer == common.Trainer()


@pytest.mark.parametrize(("verb", "words", "said"), [
    ("train", "augment.magnitude=3",
     "augment.magnitude has no effect with augment.randaugment=0: remove it, or set augment.randaugment"),
    ("train", "trainer.optimizer=sgd trainer.beta_2=0.9",
     "trainer.beta_2 has no effect with trainer.optimizer=sgd: remove it, or set trainer.optimizer=adam"),
    ("train", "data=mnist data.size=32", "data.size has no effect with data=mnist: remove it, or set data=folder"),
    ("train", "fine_tune.head_epochs=2", "fine_tune.head_epochs has no effect with weights=none"),
    ("train", "launcher.minutes=3", "launcher.minutes has no effect with launcher=local: remove it, or set la"),
    ("train", "distributed.port=2000", "distributed.port has no effect with distributed.processes=1: remove it"),
    ("train", "model=transformer/lm data=text_file data.root=x trainer.word_dropout=0.1", "with data=text_file"),
    ("train", "model=transformer/classifier data=text_lines data.root=x data.header=true", "with data=text_lines"),
    ("bench", "bench=matmul operations=[square] row_column=[10]", "row_column has no effect with operations="),
    ("export", "model=mobilenet weights=imagenet format=onnx calibration_items=3", "with quantize=none"),
])  # fmt: skip
def test_a_setting_that_has_no_effect_beside_the_others_is_refused(verb: str, words: str, said: str) -> None:
    assert said in refusal(*words.split(), verb=verb)


def test_what_a_recipe_sets_without_effect_is_left_alone() -> None:
    assert train("model=mobilenet", "backend=cpu", "data=folder", "data.root=x").fine_tune.head_epochs


def test_every_condition_names_settings_that_exist() -> None:
    schemas_of = [command.schema for command in discovery.commands()]
    known = {key for schema in schemas_of for key in setting.by_key(schema)}
    conditions = {each for schema in schemas_of for row in setting.by_key(schema).values()
                  for each in row.needs.split(" and ") if each}  # fmt: skip
    assert {re.split("!?=", each)[0] for each in conditions} <= known
    assert len(conditions) > 10


def test_the_last_of_several_values_counts() -> None:
    assert train("seed=3", "trainer.epochs=7", "seed=5", "seed=4").seed == 4
    assert Overrides.parse(["seed=3", "trainer.epochs=7", "seed=5", "seed=4"]).get("seed") == "4"
    several = train("model=mnist_dense", "backend=openvino", "model=mnist", "backend=cpu")
    assert (several.model["name"], several.trainer.schedule) == ("mnist", "one_cycle"), "the recipe is of the last, too"


def test_data_is_laid_over_the_recipe_and_the_preset_over_both() -> None:
    assert train("data=digits").trainer.epochs == 8
    smoke = train("data=digits", "preset=smoke")
    assert (smoke.trainer.epochs, smoke.data.train_limit) == (1, 2000)


def test_model_arguments_can_be_set() -> None:
    assert train("model=mnist_dense", "model.units=64").model["units"] == 64


def test_all_mistakes_are_reported_at_once() -> None:
    wrong = ("modle=mnist", "trainer.epochs=many", "trainer.lr=1", "data=mnits", "model.dropout=yes")
    message = refusal(*wrong, "trainer.batch_size=0")
    assert "6 settings are wrong" in message
    for part in (
        "'modle'",
        "trainer.epochs must be a whole number, got 'many'",
        "'trainer.lr'",
        "'mnist'",
        "trainer.batch_size",
        "got",
    ):
        assert part in message


@pytest.mark.parametrize(("verb", "words", "count"), [
    ("infer", ["model=mobilnet", "weights=imagenet", "input=cat.jpg"], 1),
    ("infer", ["model=mobilnet", "weights=imagenet", "input=cat.jpg", "batch_size=0", "model.alpha=9"], 3),
    ("train", ["model=transformer/clasifier", "trainer.epochs=0"], 2),
])  # fmt: skip
def test_beside_a_misspelt_model_nothing_seems_wrong_that_is_not(verb: str, words: list[str], count: int) -> None:
    message = refusal(*words, verb=verb)
    assert f"There is no model called {words[0].partition('=')[2]!r}; did you mean" in message
    assert ("settings are wrong" in message) == (count > 1)
    assert count == 1 or f"{count} settings are wrong" in message


@pytest.mark.parametrize(("word", "message"), [
    ("trainer.epochs=${seed}", "trainer.epochs must be a whole number, got '${seed}'"),
    ("trainer.epochs=null", "trainer.epochs must be a whole number, got null"),
    ("seed=true", "seed must be a whole number, got true"),
    ("model.dropout=[a,b]", "model.dropout must be of the same type as its default 0.0, got [a,b]"),
    ("output.export=[[onnx]]", "openvino, savedmodel, got [onnx]"),
])  # fmt: skip
def test_a_rejected_value_is_shown_as_it_was_typed(word: str, message: str) -> None:
    assert message in refusal("model=mnist", word)


def test_a_setting_of_a_different_command_is_named_as_such() -> None:
    assert "there is no key 'data.text_column' for this command and model\n" in refusal("data.text_column=x")
    message = refusal("batch_size=3")
    assert "no key 'batch_size' for this command and model; did you mean 'trainer.batch_size'?" in message


def test_all_values_out_of_range_are_reported_at_once() -> None:
    message = refusal(
        "trainer.epochs=0", "trainer.learning_rate=-1", "model.dropout=1", "data.train_limit=0", "seed=-1"
    )
    for key in ("trainer.epochs", "trainer.learning_rate", "model.dropout", "data.train_limit", "seed"):
        assert key in message


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("model=mnits", "did you mean 'mnist'?"),
        ("backend=metl", "did you mean 'metal'?"),
        ("preset=fast", "Choose one of: full, smoke"),
        ("trainer.epoch=3", "did you mean 'trainer.epochs'?"),
        ("trainer.epochs=2.5", "a whole number"),
        ("trainer.jit=7", "true or false"),
        ("trainer=fast", "'trainer' is a group of keys"),
        ("trainer.optimizer=adm", "did you mean 'adam'?"),
        ("nonsense", "write KEY=VALUE"),
        ("+trainer.new=1", "not added"),
        ("trainer.epochs=1,2", "add -m"),
        ("model.dropout=[1", "cannot read"),
        ("trainer.epochs=3;ls", "needs quotes: trainer.epochs='\"3;ls\"'"),
        ("trainer.epochs=$(id)", "needs quotes"),
        ("trainer..epochs=3", "'trainer..epochs' is not the name of a setting"),
        ("data.validation=nan", "data.validation must be from"),
        ("data.target=species", "A column is named with data.label_column=species"),
        ("data.placement=gpu", "data.placement must be one of auto, host, device"),
        ("trainer.learning_rate=inf", "trainer.learning_rate must be from"),
        ("trainer.epochs=" + "9" * 5000, "cannot read"),
        ("trainer.epochs=" + "[" * 3000 + "]" * 3000, "more than 50 brackets"),
        ("model=" + "{a:" * 3000 + "1" + "}" * 3000, "more than 50 brackets"),
        ("trainer.epochs=${oc.env:HOME}", "a whole number"),
        ("seed=${trainer.epochs}", "a whole number"),
        ("model=mnist" + "9" * 5000, "There is no model called"),
        ("model=../train", "There is no model called"),
    ],
)
def test_one_mistake_names_what_was_received_and_what_is_valid(override: str, part: str) -> None:
    message = refusal(override)
    assert part in message
    assert override.split("=")[0].lstrip("+") in message


@pytest.mark.parametrize(
    ("model", "override", "words"),
    [
        ("mnist_dense", "units=0", "model.units must be from 1 to 65,536, got 0"),
        ("transformer/classifier", "layers=0", "model.layers must be from 1 to 256, got 0"),
        ("transformer/lm", "d_model=0", "model.d_model must be from 1 to 16,384, got 0"),
        ("transformer/lm", "heads=3", "model.heads must divide model.d_model, 128, got 3"),
        (
            "transformer/classifier",
            "pooling=men",
            "model.pooling must be one of mean, max, first, got 'men'",
        ),
        ("mobilenet", "activation=gelu", "model.activation must be one of relu6, relu, got 'gelu'"),
        ("style_transfer/fast", "filters=0", "model.filters must be from 1 to 256, got 0"),
        ("keras/ResNet50", "input_size=8", "model.input_size must be from 32 to 1,024, got 8"),
    ],
)
def test_arguments_of_a_model_are_checked_by_the_host(model: str, override: str, words: str) -> None:
    assert words in refusal(f"model={model}", f"model.{override}")


@pytest.mark.parametrize("model", config_files.options("model"))
def test_every_argument_of_every_model_is_declared(model: str) -> None:
    row = arguments.row_of(model)
    declared = arguments.declared(row)
    assert declared.keys() == config_files.model_arguments(row).keys()
    assert all(each.meaning for each in declared.values())
    assert not [key for key, each in declared.items()
                if not isinstance(each.default, bool) and not each.valid and not each.range()]  # fmt: skip
    assert arguments.problems(arguments.plain(row)) == []


def test_items_that_the_host_has_to_prepare_cannot_be_on_the_device() -> None:
    assert "does not support augmentation: remove augment.flip, augment.mixup" in refusal(
        "model=mnist", "data.placement=device", "augment.flip=true", "augment.mixup=0.2"
    )
    texts = ["model=transformer/classifier", "data=text_lines", "data.placement=device"]
    assert "the host pads each batch" in refusal(*texts)
    assert train("model=mnist", "data.placement=device").data.placement == "device"


def test_infer_says_what_is_missing() -> None:
    message = refusal(verb="infer")
    assert "run is missing" in message
    assert "input is missing" in message


@pytest.mark.parametrize("path", ["/a b/c,d.png", "x=y.png", "[1].png", "it's.png", "${oops}.png", "ü.png", "C:\\x"])
def test_paths_need_no_quotes(path: str) -> None:
    settings = compose.compose(discovery.command("infer", "classify"), Overrides.parse(["run=r", f"input={path}"]))
    assert isinstance(settings, classifiers.InferConfig)
    assert settings.input == path
    assert Overrides.parse([f"input={path}"]).get("input") == path


def test_sweeps_expand_to_every_combination() -> None:
    combinations = Overrides.parse(["model=mnist,mnist_dense", "seed=range(1,3)", "data=digits"]).combinations()
    assert [each.words for each in combinations] == [
        ["model=mnist", "seed=1", "data=digits"],
        ["model=mnist", "seed=2", "data=digits"],
        ["model=mnist_dense", "seed=1", "data=digits"],
        ["model=mnist_dense", "seed=2", "data=digits"],
    ]


# It was trained elsewhere.
PUBLISHED = "style_transfer/any"


@pytest.mark.parametrize("model", [name for name in config_files.options("model") if name != PUBLISHED])
@pytest.mark.parametrize("backend", config_files.options("backend"))
def test_every_model_composes_with_every_backend(model: str, backend: str) -> None:
    verb = discovery.tasks()[config_files.task_of(model)].commands[0].verb
    settings: Any = registry.compose_settings(verb, Overrides.parse([f"model={model}", f"backend={backend}"]))
    assert (settings.model["name"], settings.backend.name) == (model, backend)
    assert settings.model["about"]


def test_a_model_that_is_used_as_published_composes_for_that_alone() -> None:
    words = [f"model={PUBLISHED}", "input=a.jpg", "style=b.jpg"]
    assert registry.compose_settings("infer", Overrides.parse(words)).model["name"] == PUBLISHED
    with pytest.raises(ZooError, match="train style_transfer/fast"):
        registry.compose_settings("train", Overrides.parse(words[:1]))


@pytest.mark.parametrize("data", config_files.options("data"))
@pytest.mark.parametrize("preset", config_files.options("preset"))
def test_every_data_set_composes_with_every_preset(data: str, preset: str) -> None:
    settings = train(f"data={data}", f"preset={preset}")
    assert (settings.data.name, settings.preset) == (data, preset)


def test_every_setting_is_documented() -> None:
    for schema in (command.schema for command in discovery.commands()):
        keys = {key for key, _, declared in setting.walk(schema()) if declared.meaning}
        internal = {"model", "preset", "backend.name", "data.name"}
        assert set(_leaves(schema)) - keys <= internal


def _leaves(schema: type, prefix: str = "") -> list[str]:
    import dataclasses
    import typing

    leaves = []
    for part in dataclasses.fields(schema):
        kind = typing.get_type_hints(schema)[part.name]
        inside = dataclasses.is_dataclass(kind)
        leaves += _leaves(kind, f"{prefix}{part.name}.") if inside else [prefix + part.name]
    return leaves


def test_formats_to_export_are_the_exporters_of_the_worker() -> None:
    assert train("trainer.export=[npz]").trainer.export == ["npz"]
    assert "trainer.export must be one of" in refusal("trainer.export=[onxn]")


def test_one_word_is_a_list_of_one() -> None:
    chosen: Any = registry.compose_settings(
        "bench", Overrides.parse(["bench=networks", "networks=mnist", "batch_sizes=4"])
    )
    assert (chosen.networks, chosen.batch_sizes) == (["mnist"], [4])
    assert train("model=mnist", "trainer.export=npz").trainer.export == ["npz"]
    with pytest.raises(ZooError, match=r"or give a list: 'networks=\[mnist,mnist_dense\]'"):
        registry.compose_settings("bench", Overrides.parse(["bench=networks", "networks=mnist,mnist_dense"]))
    assert "a list" not in refusal("trainer.epochs=1,2")


@pytest.mark.parametrize("key", ["output.name", "output.root", "data.root", "weights", "mlflow"])
def test_an_empty_value_is_refused(key: str) -> None:
    assert f"{key}= has no value; give one, or remove {key}=" in refusal("data=folder", f"{key}=")
    assert "has no value" not in refusal("data=folder", f"{key}=null", "trainer.epochs=-1")


def test_a_name_of_a_run_that_no_folder_can_have_is_refused() -> None:
    assert "output.name must have at most 200 bytes, got 400" in refusal(
        f"output.name={'ü' * 200}", "trainer.epochs=-1"
    )
    assert "trainer.export must be one of" in refusal("trainer.export=[x]", "data.root=a")


@pytest.mark.parametrize("text", ["${oc.env:HOME}", "\\${oc.env:HOME}", "a\\\\${oc.env:HOME}b", "${seed}"])
def test_no_value_is_replaced_by_variables_or_other_settings(text: str) -> None:
    assert train("model=mnist", f"output.name={text}").output.name == text
    given = Overrides.of({"model": "mnist", "output": {"name": text}})
    assert registry.compose_settings("train", given).output.name == text
    with pytest.raises(ZooError, match=r"trainer\.export must be one of .*, got"):
        registry.compose_settings("train", Overrides.of({"model": "mnist", "trainer.export": [text]}))


def test_a_missing_value_is_named() -> None:
    """OmegaConf takes ??? for a value that is still to be given."""
    message = refusal("model=mnist", "trainer.epochs=???", "trainer.export=[???]", "trainer.rate=2")
    for words in (
        "trainer.epochs has no value: ???",
        "trainer.export[0] has no value",
        "there is no key 'trainer.rate'",
    ):
        assert words in message


def test_a_time_limit_shorter_than_the_warning_of_slurm_is_refused() -> None:
    assert "launcher.minutes must be from 3 to" in refusal("model=mnist", "launcher=slurm", "launcher.minutes=2")

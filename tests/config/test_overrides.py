"""Overrides: parsed once, the last of a key wins, and each keeps the layer that set it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.config import compose, references
from zoo.config.overrides import Override, Overrides
from zoo.core.errors import ZooError
from zoo.tasks import discovery, registry

TRAIN = discovery.command("train", "classify")


def composed(*words: str) -> compose.Composed[Any]:
    return compose.composed(TRAIN, Overrides.parse(["backend=cpu", *words]))


def test_the_last_override_of_a_key_wins() -> None:
    given = Overrides.parse(["model=mnist", "trainer.epochs=1", "model=mnist_dense", "trainer.epochs=3"])
    assert (given.get("model"), given.get("trainer.epochs")) == ("mnist_dense", "3")
    assert given.words == ["model=mnist_dense", "trainer.epochs=3"]
    settings = registry.compose_settings("train", given)
    assert (settings.model["name"], settings.trainer.epochs) == ("mnist_dense", 3)
    assert (given | Overrides.parse(["trainer.epochs=5"])).get("trainer.epochs") == "5"
    assert given.with_("weights", {"trainer.epochs": 7}).layers["trainer.epochs"] == "weights"


def test_a_key_that_is_set_twice_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    Overrides.parse(["seed=1", "model=mnist", "seed=2"])
    assert "seed is set 2 times; the last value is used: 2" in capsys.readouterr().err
    Overrides.parse(["seed=1", "model=mnist"])
    assert capsys.readouterr().err == ""


def test_one_key_is_found_taken_out_and_kept() -> None:
    given = Overrides.parse(["model=mnist", "model.dropout=0.1", "seed=2"])
    assert given.is_given("model")
    assert not given.is_given("data")
    assert given.get("data") is None
    assert given.given("model") == {"dropout"}
    assert given.without("model", "seed").words == ["model.dropout=0.1"]
    assert given.only("seed", "model").words == ["model=mnist", "seed=2"]
    assert len(given) == 3
    assert given == Overrides.parse(given.words)
    assert given != given.with_("user", {"seed": 3})


def test_overrides_do_not_change() -> None:
    given = Overrides.parse(["seed=1"])
    given.with_("user", {"seed": 2})
    given.layers["seed"] = "other"
    given.words.append("data=digits")
    assert list(given) == [Override("seed", 1, "seed=1")]


@pytest.mark.parametrize("value", [
    3, -0.5, True, None, "plain", "tf-2.21", "12", "1e3", "true", "null", "a, b", "it's \\ a = [b]", "\\'\\\\",
    "", ["a", "b c"], [1, 2],
])  # fmt: skip
def test_values_of_python_are_the_same_after_the_command_line(value: Any) -> None:
    given = Overrides.of({"group": {"key": value}})
    (parsed,) = Overrides.parse(given.words)
    assert parsed.value == next(iter(given)).value
    assert parsed.key == "group.key"


def test_paths_and_numbers_of_numpy_become_plain() -> None:
    given = Overrides.of({"input": Path("a b.png"), "seed": np.int64(3), "rate": np.float32(0.5), "trainer": {}})
    assert [entry.value for entry in given] == ["a b.png", 3, 0.5]
    assert given.words == ["input=a b.png", "seed=3", "rate=0.5"]


def test_a_sweep_has_a_combination_for_every_value() -> None:
    given = Overrides.parse(["seed=1,2", "model=mnist"])
    assert [entry.choices for entry in given] == [("seed=1", "seed=2"), ()]
    assert [each.get("seed") for each in given.combinations()] == ["1", "2"]


def test_too_many_runs_are_refused_before_they_fill_the_memory() -> None:
    with pytest.raises(ZooError, match="the sweep of seed has more than 10,000 values: range"):
        Overrides.parse(["seed=range(0,1000000000)"])
    given = Overrides.parse(["seed=range(0,200)", "trainer.epochs=range(0,200)"])
    with pytest.raises(ZooError, match="40,000 runs, more than 10,000"):
        given.combinations()


def test_every_word_that_cannot_be_read_is_reported() -> None:
    with pytest.raises(ZooError, match="2 settings are wrong"):
        Overrides.parse(["model.dropout=[1", "seed=1", "nonsense"])


def test_each_value_says_what_set_it() -> None:
    given = Overrides.parse(["model=mnist", "data=digits", "trainer.warmup=0.1"]).with_("machine", {"backend": "cpu"})
    set_by = compose.composed(TRAIN, given).set_by
    assert set_by["model.name"] == set_by["data.name"] == set_by["trainer.warmup"] == "user"
    assert set_by["backend.name"] == "machine"
    assert set_by["trainer.schedule"] == "recipe"
    assert set_by["trainer.batch_size"] == "data"  # which is laid over the recipe
    assert "trainer.optimizer" not in set_by
    assert composed("preset=smoke").set_by["trainer.epochs"] == "preset"
    reference = references.expand(Overrides.parse(["reference=cpu-only", "seed=7"]))
    layers = compose.composed(TRAIN, reference).set_by
    assert (layers["seed"], layers["model.name"]) == ("user", "reference")


def test_an_overlay_is_laid_over_what_is_composed() -> None:
    before = composed("model=mnist", "data=digits")
    after = before.overlay("few items", {"trainer.epochs": 40, "freeze.before": None})
    assert (after.settings.trainer.epochs, after.settings.freeze.before) == (40, None)
    assert after.set_by["trainer.epochs"] == after.set_by["freeze.before"] == "few items"
    assert (before.settings.trainer.epochs, before.set_by["trainer.epochs"]) == (8, "data")
    assert after.settings == compose.compose(TRAIN, after.overrides)
    with pytest.raises(ZooError, match=r"trainer\.epochs must be"):
        before.overlay("few items", {"trainer.epochs": -1})


def test_an_overlay_of_a_group_brings_its_file() -> None:
    smoke = composed("model=mnist", "data=digits").overlay("machine", {"data": "mnist"})
    assert (smoke.settings.data.name, smoke.settings.trainer.epochs) == ("mnist", 2)
    assert smoke.set_by["data.name"] == "machine"


def test_an_overlay_and_a_second_composition_let_hydra_compose_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import hydra

    calls, whole = [], hydra.compose
    monkeypatch.setattr(hydra, "compose", lambda *words, **options: calls.append(words) or whole(*words, **options))
    compose._compose_files.cache_clear()
    before = composed("model=mnist", "data=digits")
    before.overlay("few items", {"trainer.epochs": 40})
    compose.compose(TRAIN, Overrides.of({"data": "digits", "model": "mnist", "backend": "cpu"}))
    assert len(calls) == 1


def test_the_settings_as_yaml_say_what_set_them() -> None:
    lines = composed("model=mnist", "data=digits", "trainer.export=[npz]", "data.root=null").text.splitlines()
    for line in (
        "  name: mnist  # user",
        "  schedule: one_cycle  # recipe",
        "  batch_size: 32  # data",
        "  export:  # user",
    ):
        assert line in lines
    assert "  optimizer: adam" in lines


def test_comments_leave_the_yaml_as_it_is() -> None:
    from omegaconf import OmegaConf

    long = "word " * 60 + "# and 'more': [of] it"
    given = composed("model=mnist", "data=digits").overlay("user", {"data.root": long, "output.root": "a\nb\n"})
    assert OmegaConf.create(given.text) == OmegaConf.create(OmegaConf.to_yaml(given.tree))
    assert given.text.count("# user") == 5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("data.root=null", None), ("data.root=", ""), ("data.root='null'", None), ("data.root='a'", "a"),
        ('data.root="a b"', "a b"), ("data.root='a\"", "'a\""), ("launcher.hosts=[a, 'b c',]", ["a", "b c"]),
        ("launcher.options=account=x,-p", ["account=x", "-p"]), ("launcher.hosts=[]", []),
    ],
)  # fmt: skip
def test_paths_and_lists_of_words_are_read_without_the_grammar(text: str, value: Any) -> None:
    (entry,) = Overrides.parse([text])
    assert (entry.value, entry.choices) == (value, ())


def test_further_keys_can_be_read_as_text() -> None:
    assert Overrides.parse(["x=a,b"], literal=("x",)).get("x") == "a,b"
    assert [each.choices for each in Overrides.parse(["y=a,b"], literal=("x",))] == [("y=a", "y=b")]


def test_a_list_of_words_is_shown_without_quotes() -> None:
    given = Overrides.of({"launcher.hosts": ["a", "b c"], "networks": ["a", "b c"]})
    assert given.words == ["launcher.hosts=[a,b c]", "networks=[a,'b c']"]


def test_too_many_words_and_brackets_are_refused() -> None:
    assert len(Overrides.parse([f"a.k{number}=1" for number in range(1000)])) == 1000
    with pytest.raises(ZooError, match="The command has 1,001 settings, more than 1,000"):
        Overrides.parse(["seed=1"] * 1001)
    (entry,) = Overrides.parse(["x=" + "[" * 50 + "]" * 50])
    assert entry.choices == ()
    with pytest.raises(ZooError, match="the value of 'x' has more than 50 brackets"):
        Overrides.parse(["x=" + "[" * 51 + "]" * 51])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=3", "has no name before the ="),
        ("seed=range(5,1)", "the sweep of seed has no values: range"),
        ("x=interval(0,1)", "interval.. is not supported"),
        ("x=glob(*)", "glob.. is not supported"),
        ("x=\uff11\uff12", "is not a number with the digits 0 to 9; write x=12"),
        ("x=-\u0660.\u0661", "is not a number with the digits 0 to 9; write x=-0.1"),
        ("tr\u0430iner.epochs=3", r"'tr\\u0430iner.epochs' is not the name of a setting"),
        ("x=" + "9" * 5000, "a number with 5,000 digits is too long"),
    ],
)
def test_words_that_nothing_can_be_read_from_are_refused_with_the_cause(text: str, message: str) -> None:
    with pytest.raises(ZooError, match=message):
        Overrides.parse([text])


def test_a_sweep_may_have_as_many_runs_as_are_allowed() -> None:
    (entry,) = Overrides.parse(["seed=range(0,10000)"])
    assert len(entry.choices) == 10_000
    given = Overrides.parse(["seed=range(0,100)", "x=range(0,101)"])
    with pytest.raises(ZooError, match="10,100 runs"):
        given.combinations()


def test_a_setting_without_a_key_is_refused_with_what_to_write() -> None:
    for text, said in (("a b=3", "'a b' is not the name of a setting"),
                       ("seed", "write KEY=VALUE"), ("x=a\"b;c", "x='\"a\\\"b;c\"'"),
                       ("seed==3", "write one equal sign: seed=3"), ("seed=1,,2", "next to a comma is empty"),
                       ("seed=1,", "next to a comma is empty"), ("x=1\u00a02", "U+00A0")):  # fmt: skip
        with pytest.raises(ZooError) as caught:
            Overrides.parse([text])
        assert said in str(caught.value)


def test_the_path_of_a_model_may_have_commas(tmp_path: Path) -> None:
    path = tmp_path / "cats, final"
    path.write_bytes(b"")
    assert Overrides.parse([f"model={path}"]).get("model") == str(path)
    (entry,) = Overrides.parse(["model=a.keras,b.keras"])
    assert entry.choices == ("model=a.keras", "model=b.keras")


def test_an_array_as_a_value_is_text_that_no_setting_accepts() -> None:
    (entry,) = Overrides.of({"trainer": {"epochs": np.array([1, 2])}})
    assert entry.value == "[1 2]"

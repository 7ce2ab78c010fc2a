"""`zoo help`: every setting once, with its default, its meaning, its range, and the tasks that differ."""

import re

import pytest

from zoo.cli import settings_help
from zoo.cli.main import main
from zoo.core.errors import ZooError
from zoo.tasks import discovery


def test_a_choice_of_nothing_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "data"]) == 0
    assert "one of classes, labels, number" in " ".join(capsys.readouterr().out.split())


def described(topic: str) -> dict[str, str]:
    lines = [line.split(maxsplit=1) for line in settings_help.lines(topic) if re.match(r"  [\w.]+\.\w+ ", line)]
    keys = [key for key, _ in lines]
    assert len(keys) == len(set(keys)), "a setting is listed twice"
    return dict(lines)


@pytest.mark.parametrize("group", ["trainer", "data", "output", "strength", "backend", "launcher", "distributed"])
def test_each_setting_of_a_group_is_listed_once(group: str) -> None:
    assert described(group)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("trainer.batch_size", r"128 .*; from 1 to 65,536; 4 for restyle$"),
        ("trainer.checkpoint_minutes", r"10.0 .*; 1.0 for restyle$"),
        ("trainer.learning_rate", r"0.001 .*; 0.002 for restyle$"),
        ("trainer.epochs", r"12 .*passes over the training data; from 0 to 100,000; not for restyle$"),
        ("trainer.clip", r"1.0 .*; only for language_model, text_classifier$"),
        ("trainer.optimizer", r"adam .*; one of adam, momentum, rmsprop, sgd$"),
        ("trainer.steps", r"250 .*; not for classify; 2000 for restyle$"),
    ],
)
def test_a_line_names_default_range_and_the_tasks_that_differ(key: str, words: str) -> None:
    assert re.match(words, described("trainer")[key])


def test_a_setting_of_two_verbs_names_them() -> None:
    assert described("data")["data.train_limit"].endswith("; only for train")
    assert described("output")["output.folder"].endswith("; only for export")


def test_the_arguments_of_a_model_have_meanings_and_ranges() -> None:
    (line,) = [line for line in settings_help.lines("model=mnist_dense") if "model.units" in line]
    assert " ".join(line.split()) == "model.units 128 width of the hidden layer; from 1 to 65,536"


def test_every_schema_has_help_of_its_own() -> None:
    files = {command.file for command in discovery.commands()}
    assert all(settings_help.lines(file) for file in files)


def test_a_command_is_referred_to_its_own_help() -> None:
    with pytest.raises(ZooError, match="doctor is a command") as caught:
        settings_help.lines("doctor")
    assert "python -m zoo doctor --help" in caught.value.remedy


def test_the_settings_of_a_search_are_listed() -> None:
    assert any(line.startswith("  trials=50 ") for line in settings_help.lines("tune"))


def test_the_settings_of_a_command_show_the_value_of_the_recipe_and_of_the_user() -> None:
    lines = settings_help.of_command("train", ["model=mnist", "trainer.epochs=3"])
    shown = {line.split()[0]: " ".join(line.split()[1:]) for line in lines if line.startswith("  ")}
    assert lines[0] == "general:"
    assert shown["trainer.epochs"].startswith("3 passes over the training data; from 0 to 100,000; set by user; ")
    assert shown["model.dropout"] == "0.0 share of features dropped before the last layer; from 0 to 0.99; " + (
        "set by recipe; default 0.5"
    )
    assert "trainer.clip" not in shown, "a setting of texts"


def test_a_word_finds_settings() -> None:
    lines = settings_help.lines("epochs")
    assert any(line.startswith("  trainer.epochs ") for line in lines)
    assert not any(line.startswith("  seed ") for line in lines)


def test_several_words_are_explained_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "epochs", "backend"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("  trainer.epochs ") < shown.index("backend=NAME:")


@pytest.mark.parametrize("words", [[], ["train", "model=mobilenet"], ["model=mobilenet"], ["epochs"]])
def test_lines_fit_a_screen(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["help", *words]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["epochz"], "did you mean 'epochs'"),
        (["nonsense"], "`python -m zoo help` lists all"),
        (["a" * 300], f"called '{'a' * 60}'"),
        (["epochs", "zzz"], "called 'zzz'"),
        (["train", "model=mnst"], "'mnist'"),
    ],
)
def test_an_unknown_topic_is_an_error(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", *words]) == 1
    assert said in capsys.readouterr().err

"""`zoo help`: every setting once, with its default, its meaning, its range, and the tasks that differ."""

import re

import pytest

from zoo.cli import settings_help
from zoo.tasks import discovery


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


def test_the_settings_of_a_search_are_listed() -> None:
    assert any(line.startswith("  trials=50 ") for line in settings_help.lines("tune"))

"""zoo.config.schemas.text: what does not fit together with texts is refused."""

from typing import Any

import pytest

from zoo.config.schemas import text


def said(settings: Any) -> list[str]:
    return [each for each in settings.checks() if each]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, []),
        ({"fold": 9}, []),
        ({"fold": 10}, ["data.fold must be from 0 to 9 with data.folds=10, got 10"]),
        ({"folds": 3, "fold": 3}, ["data.fold must be from 0 to 2 with data.folds=3, got 3"]),
        ({"classes": ["a"]}, []),
        ({"classes": ["a"], "target": "classes"}, []),
        ({"classes": ["a"], "target": "labels"}, ["data.classes has no effect with data.target=labels or number"]),
        ({"classes": ["a"], "label_column": "a,b"}, ["data.classes has no effect with data.target=labels or number"]),
        ({"delimiter": "tabb"}, ["data.delimiter must be one of auto, comma, tab, semicolon, pipe, space, signs"]),
    ],
)
def test_what_texts_with_classes_need(settings: dict[str, Any], words: list[str]) -> None:
    problems = said(text.LabelledData(**settings))
    assert [begin for begin, each in zip(words, problems, strict=True) if not each.startswith(begin)] == []


@pytest.mark.parametrize(
    ("settings", "kind"),
    [({}, "classes"), ({"label_column": "a,b"}, "labels"), ({"target": "number", "label_column": "a,b"}, "number")],
)
def test_several_columns_are_labels_unless_the_target_is_named(settings: dict[str, Any], kind: str) -> None:
    assert text.LabelledData(**settings).kind == kind


@pytest.mark.parametrize(("weights", "valid"), [("none", True), ("zoo", True), ("zoo/mine", True), ("w.npz", False)])
def test_a_text_model_starts_from_weights_of_the_zoo(weights: str, valid: bool) -> None:
    for schema in (text.TextTrainConfig, text.LanguageTrainConfig):
        words = [] if valid else [f"weights must be zoo, zoo/NAME or none, got {weights!r}"]
        assert said(schema(weights=weights)) == words


def test_texts_with_classes_stay_on_the_host() -> None:
    data = text.LabelledData(placement="device")
    (problem,) = said(text.TextTrainConfig(data=data))
    assert "data.placement=device is not possible for texts with classes" in problem
    assert said(text.LanguageTrainConfig(data=text.LanguageData(placement="device"))) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (text.TextInferConfig(run="a", input="x"), []),
        (text.TextInferConfig(input="x"), ["run is missing"]),
        (text.TextInferConfig(run="a"), ["input is missing"]),
        (text.GenerateConfig(run="a"), []),
        (text.GenerateConfig(), ["run is missing"]),
        (text.GenerateConfig(run="a", input="x"), []),
        (text.GenerateConfig(run="a", prompt="y"), []),
        (text.GenerateConfig(run="a", input="x", prompt="y"), ["input= evaluates a text, prompt= starts one"]),
        (text.TextReading(), []),
        (text.TextReading(delimiter="tab"), []),
        (text.TextReading(delimiter="tabb"), ["data.delimiter must be one of"]),
    ],
)
def test_what_the_use_of_a_text_model_needs(settings: Any, words: list[str]) -> None:
    assert [begin for begin, each in zip(words, said(settings), strict=True) if not each.startswith(begin)] == []

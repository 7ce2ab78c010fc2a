"""zoo.config.schemas.classifiers: what does not fit together is refused, each with the way out."""

from typing import Any

import pytest

from zoo.config.schemas import classifiers
from zoo.config.schemas.common import TestData as DataOfTest

SHA256 = "0" * 64
SAVED = {"name": "a.keras", "about": "", "saved": "/a.keras"}
OWN = {"name": "own.py", "about": "", "file": "/own.py"}
KERAS = {"name": "keras/MobileNet"}


def infer(**changed: Any) -> list[str]:
    output = classifiers.InferOutput(**changed.pop("output", {}))
    return classifiers.InferConfig(**{"input": "a.png", "run": "a", "output": output} | changed).problems()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, []),
        ({"run": None}, ["run is missing: give run=RUN_FOLDER"]),
        ({"run": None, "model": KERAS}, ["weights is missing: give weights=zoo"]),
        ({"run": None, "model": KERAS, "weights": "imagenet"}, []),
        ({"model": KERAS}, ["run=a has its own model and weights"]),
        ({"weights": "zoo"}, ["run=a has its own model and weights"]),
        ({"classes": "c.txt"}, ["run=a has its own classes and scaling"]),
        ({"scale": "0..1"}, ["run=a has its own classes and scaling"]),
        ({"size": "64"}, ["size= is for saved models"]),
        ({"model": OWN}, []),
        ({"model": OWN, "weights": "w.npz"}, ["run is missing: give run=RUN_FOLDER, a run trained with own.py"]),
        ({"run": None, "model": OWN}, ["run is missing: give run=RUN_FOLDER, a run trained with own.py"]),
        ({"run": None, "model": SAVED, "size": "64", "classes": "c.txt", "scale": "none"}, []),
        ({"run": None, "model": SAVED, "size": "0"}, ["size must be auto or a number of pixels, got '0'"]),
        ({"run": None, "model": SAVED, "size": "12345"}, ["size must be auto or a number of pixels"]),
        ({"model": SAVED}, ["a.keras has its own weights: remove weights= and run="]),
        ({"run": None, "model": SAVED, "weights": "zoo"}, ["a.keras has its own weights"]),
        ({"input": None}, ["input is missing: give input=IMAGE"]),
        ({"weights_checksum": SHA256}, ["weights_checksum has no effect with weights=none"]),
        ({"output": {"layer": "pool"}}, ["output.layer is for features only"]),
        ({"output": {"layer": "pool", "kind": "features"}}, []),
        ({"output": {"kind": "features"}, "probabilities": True}, ["output=features writes no probabilities"]),
        ({"output": {"kind": "features"}, "precision": "auto"}, ["precision=auto compares classes"]),
        ({"probabilities": True, "precision": "auto"}, []),
        ({"top": 0, "sheets": -1}, ["top must be from 1 to 1,000, got 0", "sheets must be from 0 to 10,000, got -1"]),
    ],
)
def test_what_a_prediction_needs(settings: dict[str, Any], words: list[str]) -> None:
    problems = infer(**settings)
    assert [begin for begin, said in zip(words, problems, strict=True) if not said.startswith(begin)] == []


def test_features_are_wanted_where_the_output_is_of_them() -> None:
    assert classifiers.InferConfig(output=classifiers.InferOutput(kind="features")).wants_features
    assert not classifiers.InferConfig().wants_features
    assert not classifiers.ClassifierConfig().wants_features


@pytest.mark.parametrize(
    ("run", "data", "words", "own"),
    [
        ("a", {}, [], True),
        (None, {}, ["run is missing", "data is missing: give data=folder"], True),
        ("a", {"name": "mnist"}, [], False),
        ("a", {"root": "x"}, [], False),
        ("a", {"name": "text_folder"}, ["data=text_folder contains texts; give images"], False),
        ("a", {"delimiter": "much"}, ["data.delimiter must be one of"], True),
    ],
)
def test_what_an_evaluation_needs(run: str | None, data: dict[str, Any], words: list[str], own: bool) -> None:
    settings = classifiers.EvaluateConfig(run=run, data=classifiers.EvaluationData(**data))
    assert settings.uses_own_data is own
    problems = sorted(settings.problems())
    assert [begin for begin, said in zip(sorted(words), problems, strict=True) if not said.startswith(begin)] == []


def test_short_names_of_keys() -> None:
    assert classifiers.InferConfig.shorthands["output"] == "output.kind"
    assert classifiers.InferConfig.shorthands["weights.checksum"] == "weights_checksum"
    assert DataOfTest().root is None

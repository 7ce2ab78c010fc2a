"""zoo.config.arguments: arguments of models have defaults, ranges and divisors."""

from typing import Any

import pytest

from zoo.config import arguments


def test_declarations_become_their_defaults() -> None:
    row = {"name": "a", "units": {"default": 3, "meaning": "m"}, "table": {"x": 1}, "size": [1, 2]}
    assert arguments.plain(row) == {"name": "a", "units": 3, "table": {"x": 1}, "size": [1, 2]}


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        ({}, set()),
        ({"name": "mnist_dense", "file": "/a.py"}, set()),
        ({"name": "mnist_dense", "saved": "/a.keras"}, set()),
        ({"name": "nowhere"}, set()),
        ({"name": "mnist_dense"}, {"units", "dropout"}),
    ],
)
def test_bundled_models_declare_their_arguments(model: dict[str, Any], keys: set[str]) -> None:
    assert arguments.declared(model).keys() & {"units", "dropout"} == keys
    assert bool(arguments.declared(model)) is bool(keys)


def test_architectures_of_keras_have_the_arguments_of_mobilenet() -> None:
    assert arguments.declared({"name": "keras/ResNet50"}) == arguments.declared({"name": "mobilenet"})


@pytest.mark.parametrize(
    ("changed", "problems"),
    [
        ({}, []),
        ({"heads": 8}, []),
        ({"heads": 3}, ["model.heads must divide model.d_model, 128, got 3"]),
        ({"heads": 0}, ["model.heads must be from 1 to "]),
        ({"heads": 0, "layers": 0}, ["model.heads must be from 1 to ", "model.layers must be from 1 to "]),
    ],
)
def test_arguments_are_in_their_range_and_divide_what_they_must(changed: dict[str, int], problems: list[str]) -> None:
    model = arguments.plain(arguments.row_of("transformer/lm")) | changed
    said = sorted(arguments.problems(model))
    assert [begin for begin, each in zip(problems, said, strict=True) if not each.startswith(begin)] == []

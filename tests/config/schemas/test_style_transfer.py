"""zoo.config.schemas.style_transfer and style_network: paintings, weights and masks fit together."""

import math
from typing import Any

import pytest

from zoo.config.schemas import style_network, style_transfer


def said(settings: Any) -> list[str]:
    return [each for each in settings.checks() if each]


AB = ["a.jpg", "b.jpg"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, []),
        ({"style": "a.jpg"}, []),
        ({"styles": AB}, []),
        ({"style": "a.jpg", "styles": AB}, ["give style or styles, not both"]),
        ({"styles": ["a.jpg"] * 8}, []),
        ({"styles": ["a.jpg"] * 9}, ["styles must be at most 8, got 9"]),
        ({"style_weights": [2.0]}, []),
        ({"styles": AB, "style_weights": [2.0, 0.0]}, []),
        ({"styles": AB, "style_weights": [2.0]}, ["style_weights must be one for each style, 2, got 1"]),
        ({"style_weights": [1.0, 1.0]}, ["style_weights must be one for each style, 1, got 2"]),
        ({"styles": AB, "style_weights": [2.0, -1.0]}, ["style_weights must be numbers of at least 0, one of them"]),
        ({"styles": AB, "style_weights": [0.0, 0.0]}, ["style_weights must be numbers of at least 0, one of them"]),
        ({"style_weights": [math.inf]}, ["style_weights must be numbers of at least 0, one of them"]),
        ({"masks": ["m.png"]}, []),
        ({"masks": ["m.png", ""]}, ["masks must be one for each style, 1, got 2"]),
        ({"styles": AB, "masks": ["m.png"]}, ["masks must be one for each style, 2, got 1"]),
        ({"strength": style_transfer.LossWeights(style=0, content=0)}, ["strength.style and strength.content are"]),
        ({"strength": style_transfer.LossWeights(style=0, content=1)}, []),
        ({"strength": style_transfer.LossWeights(style=1, content=0)}, []),
    ],
)
def test_what_an_optimized_image_needs(settings: dict[str, Any], words: list[str]) -> None:
    problems = said(style_transfer.StyleConfig(**settings))
    assert [begin for begin, each in zip(words, problems, strict=True) if not each.startswith(begin)] == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, []),
        ({"size": 254}, ["trainer.size must be a multiple of 4, got 254"]),
        ({"schedule": "constant"}, []),
        ({"schedule": "one_cycle"}, ["trainer.schedule must be constant or cosine for a style network"]),
        ({"batch_size": 256}, []),
        ({"batch_size": 257}, ["trainer.batch_size must be at most 256 for a style network, got 257"]),
    ],
)
def test_what_the_training_of_a_style_network_needs(settings: dict[str, Any], words: list[str]) -> None:
    problems = said(style_network.StyleTrainer(**settings))
    assert [begin for begin, each in zip(words, problems, strict=True) if not each.startswith(begin)] == []


@pytest.mark.parametrize(("name", "kernel_size", "words"), [
    ("style_transfer/fast", 3, []),
    ("style_transfer/fast", 4, ["model.kernel_size must be odd, got 4"]),
    ("style_transfer/any", 4, ["style_transfer/any cannot be trained; train style_transfer/fast"]),
])  # fmt: skip
def test_what_a_style_network_is(name: str, kernel_size: int, words: list[str]) -> None:
    model = {"name": name, "kernel_size": kernel_size}
    problems = style_network.StyleNetworkConfig(model=model).problems()
    assert [each for each in problems if "kernel_size must be odd" in each or "trained" in each] == words


FAST, ANY = {"name": "style_transfer/fast"}, {"name": "style_transfer/any"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": FAST, "run": "a"}, []),
        ({"model": FAST, "weights": "zoo/x"}, []),
        ({"model": FAST}, ["give either run=RUN_FOLDER"]),
        ({"model": FAST, "run": "a", "weights": "zoo/x"}, ["give either run=RUN_FOLDER"]),
        ({"model": FAST, "run": "a", "style": "a.jpg"}, ["style= is for model=style_transfer/any"]),
        ({"model": FAST, "run": "a", "styles": AB}, ["styles= is for model=style_transfer/any"]),
        ({"model": FAST, "run": "a", "input": None}, ["input is missing"]),
        ({"model": ANY, "style": "a.jpg"}, []),
        ({"model": ANY, "styles": AB}, []),
        ({"model": ANY}, ["give either style=PAINTING or styles=[A,B]"]),
        ({"model": ANY, "style": "a.jpg", "styles": AB}, ["give either style=PAINTING or styles=[A,B]"]),
        ({"model": ANY, "style": "a.jpg", "run": "a"}, ["style_transfer/any is not trained here"]),
        (
            {"model": ANY, "styles": AB, "style_weights": [1.0]},
            ["style_weights must be one for each style, 2, got 1"],
        ),
    ],
)
def test_what_the_use_of_a_style_network_needs(settings: dict[str, Any], words: list[str]) -> None:
    problems = said(style_network.RestyleConfig(**{"input": "x.jpg"} | settings))
    assert [begin for begin, each in zip(words, problems, strict=True) if not each.startswith(begin)] == []


def test_a_size_of_zero_keeps_that_of_the_photo() -> None:
    assert style_transfer.StyleConfig(size=0).problems() == []
    assert style_transfer.StyleConfig(size=15).problems() == ["size must be 0 or from 16 to 8,192, got 15"]

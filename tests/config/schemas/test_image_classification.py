"""zoo.config.schemas.image_classification: what does not fit together in a training is refused."""

from typing import Any

import pytest

from zoo.config.schemas import common
from zoo.config.schemas import image_classification as schemas


def problems(data: dict[str, Any] | None = None, trainer: dict[str, Any] | None = None, **changed: Any) -> list[str]:
    settings = schemas.TrainConfig(
        data=schemas.DataSettings(**data or {}), trainer=common.Trainer(**trainer or {}), **changed
    )
    return settings.checks()  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, None),
        ({"data": {"size": 32}, "model": {"input_size": 64}}, "data.size is 32, but model.input_size is 64: remove"),
        ({"data": {"size": 64}, "model": {"input_size": 64}}, None),
        ({"data": {"size": 32}, "model": {"input_size": None}}, None),
        ({"model": {"input_size": 64}}, None),
        ({"trainer": {"epochs": 0}}, "trainer.epochs must be at least 1, got 0; 0 is valid only with"),
        ({"trainer": {"epochs": 0}, "weights": "zoo"}, "trainer.epochs must be at least 1, got 0"),
        ({"trainer": {"epochs": 0}, "fine_tune": schemas.FineTune(head_epochs=2)}, "trainer.epochs must be at least"),
        ({"trainer": {"epochs": 0}, "fine_tune": schemas.FineTune(head_epochs=2), "weights": "zoo"}, None),
        ({"data": {"placement": "device"}}, None),
        ({"augment": schemas.Augment(flip=True)}, None),
        ({"data": {"placement": "device"}, "augment": schemas.Augment(magnitude=3.0)}, None),
        ({"data": {"placement": "device"}, "augment": schemas.Augment(flip=True, crop=0.1)},
         "data.placement=device does not support augmentation: remove augment.flip, augment.crop"),
        ({"weights_checksum": "x"}, "weights_checksum must be a sha256"),
    ],
)  # fmt: skip
def test_what_a_training_needs(settings: dict[str, Any], words: str | None) -> None:
    said = [each for each in problems(**settings) if each]
    assert [each[: len(words or "")] for each in said] == ([] if words is None else [words])


@pytest.mark.parametrize(("value", "valid"), [("auto", True), (";", True), ("::", True), ("words", False),
                                              ("", False), ("_", True), ("  ", False)])  # fmt: skip
def test_the_delimiter_of_a_table_is_a_name_or_signs(value: str, valid: bool) -> None:
    said = [each for each in schemas.DataSettings(delimiter=value).checks() if each]
    assert bool(said) is not valid
    assert all(each.startswith("data.delimiter must be one of auto, comma, tab") for each in said)

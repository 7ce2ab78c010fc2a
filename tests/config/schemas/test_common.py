"""zoo.config.schemas.common: checksums, and the settings that every run has."""

from typing import Any

import pytest

from zoo.config.schemas import common, image_classification


@pytest.mark.parametrize(
    ("value", "weights", "words"),
    [
        (None, "none", None),
        ("0123456789abcdef" * 4, "w.npz", None),
        ("0123456789abcdef" * 4, "imagenet", None),
        ("0" * 63, "w.npz", "weights_checksum must be a sha256"),
        ("A" * 64, "w.npz", "weights_checksum must be a sha256"),
        ("0" * 64, "none", "weights_checksum has no effect with weights=none"),
        ("0" * 64, "zoo", "weights_checksum has no effect with weights=zoo"),
        ("0" * 64, "zoo/mnist", "weights_checksum has no effect with weights=zoo/mnist"),
    ],
)
def test_a_checksum_is_of_a_named_file(value: str | None, weights: str, words: str | None) -> None:
    problem = common.checksum_problem(value, weights)
    assert problem is None if words is None else (problem or "").startswith(words)


def test_only_training_has_limits_of_its_own_and_is_ended_when_it_hangs() -> None:
    settings = image_classification.TrainConfig()
    settings.trainer.max_minutes = 3.0
    assert settings.fault_tolerance.max_minutes == 3.0
    assert settings.fault_tolerance.hang_minutes == 30.0
    assert common.Settings().fault_tolerance == common.FaultTolerance(hang_minutes=0.0)


def test_tracking_is_that_of_the_run_or_none() -> None:
    settings = image_classification.TrainConfig(tensorboard=True)
    assert settings.tracking is settings
    assert common.Settings().tracking == common.Tracking()
    assert not common.Settings().tracking.tensorboard


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (image_classification.TrainConfig(seed=2**31 - 1), []),
        (image_classification.TrainConfig(seed=2**31), ["seed must be from 0 to 2,147,483,647, got 2147483648"]),
        (image_classification.TrainConfig(seed=-1), ["seed must be from 0 to 2,147,483,647, got -1"]),
    ],
)
def test_a_number_out_of_range_is_refused(settings: Any, words: list[str]) -> None:
    assert [each for each in settings.problems() if "seed" in each] == words


def test_formats_to_export_are_checked_where_they_are_set() -> None:
    output = common.TrainingOutput(export=["onnx", "onxn"])
    (problem,) = image_classification.TrainConfig(output=output).problems()
    assert problem.startswith("output.export must be one of ")
    trainer = common.Trainer(export=["onnx"])
    (problem,) = image_classification.TrainConfig(trainer=trainer).problems()
    assert problem == (
        "trainer.export cannot be onnx, because training stacks cannot write it: use output.export=[onnx]"
    )

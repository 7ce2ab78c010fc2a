"""zoo.runs.ranges: batch sizes, learning rates and precisions with which a recipe was measured."""

from typing import Any

import pytest

from zoo.config import config_files
from zoo.core.errors import ZooError
from zoo.runs import ranges
from zoo.tasks import discovery


def of_rule(rule: str) -> ranges.Range:
    return ranges.Range((64, 512), rule, ("float32", "mixed_bfloat16"), {"test_accuracy": 0.99}, (128, 0.01))


@pytest.mark.parametrize(("rule", "rates"), [("linear", (0.005, 0.04)), ("sqrt", (0.007071, 0.02)),
                                             ("fixed", (0.01, 0.01))])  # fmt: skip
def test_the_learning_rate_follows_the_batch_size_by_its_rule(rule: str, rates: tuple[float, float]) -> None:
    row = of_rule(rule)
    assert (row.rate(64), row.rate(512)) == rates
    assert row.settings(512, "auto") == {
        "trainer.batch_size": 512, "trainer.learning_rate": rates[1], "trainer.precision": "auto",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("size", "rate", "precision", "inside"),
    [
        (64, 0.005, "float32", True),
        (512, 0.04, "mixed_bfloat16", True),
        (512, 0.0402, "auto", True),
        (512, 0.0399, "auto", True),
        (512, 0.0403, "auto", False),
        (512, 0.0397, "auto", False),
        (63, 0.00492, "auto", False),
        (513, 0.0401, "auto", False),
        (128, 0.01, "mixed_float16", False),
    ],
)
def test_a_point_is_inside_with_size_rate_and_precision(size: int, rate: float, precision: str, inside: bool) -> None:
    assert of_rule("linear").contains(size, rate, precision) is inside


def test_a_range_in_words() -> None:
    assert str(of_rule("sqrt")) == "64 to 512, learning rate sqrt, float32 or mixed_bfloat16"


def test_a_range_has_the_recipe_s_own_point_and_target(monkeypatch: pytest.MonkeyPatch) -> None:
    command = discovery.command("train", "classify")
    row: dict[str, Any] = {"batch_size": [64, 512], "learning_rate": "sqrt", "precisions": ["float32", "slow16"]}
    monkeypatch.setattr(config_files, "recipe_range", lambda *words: row if words == ("mnist", "cpu", "mnist") else {})
    measured = ranges.of(command, "mnist", "mnist", "cpu")
    assert measured is not None
    assert (measured.batch_size, measured.precisions, measured.usual[0]) == ((64, 512), ("float32",), 256)
    assert measured.rate(256) == measured.usual[1]
    assert measured.target.keys() == {"test_accuracy"}
    assert ranges.of(command, "mnist", "digits", "cpu") is None
    row["learning_rate"] = "steep"
    with pytest.raises(
        ZooError, match=r"Recipe mnist: range\.mnist\.learning_rate is 'steep'\nUse one of: linear, sqrt"
    ):
        ranges.of(command, "mnist", "mnist", "cpu")

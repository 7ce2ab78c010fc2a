"""zoo.config.schemas.export: formats and quantizations fit together, and each has a tolerance."""

from typing import Any

import pytest

from zoo.config.schemas.export import ExportConfig


def said(**settings: Any) -> list[str]:
    return [each for each in ExportConfig(run="a", **settings).checks() if each]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"format": ["onnx"]}, []),
        ({}, ["format is missing: give format="]),
        ({"format": ["onxn"]}, ["format must be one of"]),
        ({"format": ["hub"], "quantize": ["int8"]}, ["hub takes quantize=none; int8 is for"]),
        ({"format": ["onnx"], "quantize": ["int8"], "preprocessing": "inside"},
         ["with preprocessing=inside, quantize must be one of none, float16, dynamic, got 'int8'"]),
        ({"format": ["onnx"], "quantize": ["dynamic"], "preprocessing": "inside"}, []),
        ({"format": ["hub"], "preprocessing": "inside"}, ["with preprocessing=inside, format must be one of"]),
    ],
)  # fmt: skip
def test_what_an_export_needs(settings: dict[str, Any], words: list[str]) -> None:
    problems = said(**settings)
    assert [begin for begin, each in zip(words, problems, strict=True) if not each.startswith(begin)] == []


def test_tolerances_are_those_of_the_quantization_unless_they_are_set() -> None:
    usual = ExportConfig(quantize=["none", "int8"]).tolerance
    assert usual.keys() == {"none", "int8"}
    assert usual["none"]["difference"] < usual["int8"]["difference"]
    assert usual["none"]["changed"] < usual["int8"]["changed"]
    assert ExportConfig(max_difference=0.0).tolerance["none"] == {**usual["none"], "difference": 0.0}
    assert ExportConfig(max_changed=7.0).tolerance["none"] == {**usual["none"], "changed": 7.0}

"""The catalogue of architectures, asked of a Keras that is a stub."""

import importlib
import types
from typing import Any

import pytest


def function_of(size: int, fails: bool = False) -> Any:
    """An architecture as Keras writes them, in a module of its own."""
    module = types.ModuleType("architecture")
    text = f"""
def Network(include_top=True, weights="imagenet", input_shape=None, classes=1000):
    if {fails}:
        raise OSError("no such thing")
    return imagenet_utils.obtain_input_shape(input_shape, default_size={size}, min_size=32)

def helper(x):
    return x
"""
    utilities = types.ModuleType("imagenet_utils")
    vars(utilities)["obtain_input_shape"] = lambda shape, default_size, min_size: (default_size, default_size, 3)
    vars(module)["imagenet_utils"] = utilities
    exec(text, vars(module))  # noqa: S102
    return module


def test_every_architecture_is_named_with_its_size(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    good, broken = function_of(224), function_of(1, fails=True)
    applications = types.SimpleNamespace(
        Good=vars(good)["Network"], Broken=vars(broken)["Network"], helper=vars(good)["helper"], other=types
    )
    keras.__dict__.update(applications=applications, backend=types.SimpleNamespace(backend=lambda: "tensorflow"))
    keras_application = importlib.import_module("zoo.worker.keras_application")
    assert keras_application.catalogue() == {"Broken": None, "Good": 224}
    assert good.imagenet_utils.obtain_input_shape(None, 7, 1) == (7, 7, 3)


def test_names_of_layers_may_be_written_as_by_another_keras(keras: types.ModuleType) -> None:
    weights = importlib.import_module("zoo.models.saved_weights")
    there = {"conv2d_1/kernel": 1, "conv2d_2/kernel": 2, "answer/bias": 3}
    assert weights.renamed(there, ["conv2d/kernel", "conv2d_1/kernel", "answer/bias"]) == {
        "conv2d/kernel": 1, "conv2d_1/kernel": 2, "answer/bias": 3,
    }  # fmt: skip
    assert weights.renamed(there, ["conv2d/kernel", "other/kernel"]) is there
    assert weights.renamed(there, list(there)) is there
    two, three = ["Conv/kernel", "Conv_1/BatchNorm/gamma"], ["conv/kernel", "conv_1_bn/gamma"]
    assert weights.renamed(dict.fromkeys(two, 1), three) == dict.fromkeys(three, 1)
    assert weights.renamed(dict.fromkeys(three, 1), two) == dict.fromkeys(two, 1)
    clash = {"a/b": 1, "a_b": 2}
    assert weights.renamed(clash, ["a_b"]) is clash

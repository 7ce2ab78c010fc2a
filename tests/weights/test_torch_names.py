"""zoo.weights.torch_names: PyTorch's names of an encoder become the zoo's, and back."""

import numpy as np
import pytest

from zoo.weights import torch_names
from zoo.weights.formats import Weights

PARTS = {"self_attn.in_proj_weight": (6, 2), "linear1.weight": (8, 2), "linear1.bias": (8,), "norm2.bias": (2,)}


@pytest.mark.parametrize("prefix", ["", "encoder."])
def test_layers_are_numbered_from_one_and_kernels_turned(prefix: str) -> None:
    arrays = {
        f"{prefix}layers.{layer}.{name}": np.random.default_rng(layer).normal(size=shape).astype("f4")
        for layer in (10, 2, 0)
        for name, shape in PARTS.items()
    }
    ours = torch_names.to_zoo(Weights(arrays, "test"))
    assert list(ours.arrays)[:2] == ["layer1/attention_kernel", "layer1/inner_kernel"]
    assert list(dict.fromkeys(name.split("/")[0] for name in ours.arrays)) == ["layer1", "layer3", "layer11"]
    assert ours.arrays["layer1/inner_kernel"].shape == (2, 8)
    theirs = torch_names.to_torch(ours).arrays
    assert {f"{prefix}{name}" for name in theirs} == set(arrays)
    for name, array in theirs.items():
        np.testing.assert_array_equal(array, arrays[f"{prefix}{name}"])


def test_other_weights_keep_their_names() -> None:
    weights = Weights({"conv/kernel": np.zeros((1, 1, 1, 1), np.float32)}, "test")
    assert torch_names.to_zoo(weights) is weights


def test_every_part_of_a_layer_has_its_name_in_order_and_the_last_norm_follows() -> None:
    random = np.random.default_rng(0)
    theirs = {f"layers.0.{name}": random.normal(size=(2, 2)) for name in reversed(torch_names._OURS)}
    theirs |= {"norm.bias": np.ones(2), "norm.weight": np.zeros(2), "head.kernel": np.eye(2)}
    ours = torch_names.to_zoo(Weights(theirs, "test"))
    assert list(ours.arrays) == [
        "layer1/attention_kernel", "layer1/attention_bias", "layer1/output_kernel", "layer1/output_bias",
        "layer1/norm1_gamma", "layer1/norm1_beta", "layer1/inner_kernel", "layer1/inner_bias", "layer1/outer_kernel",
        "layer1/outer_bias", "layer1/norm2_gamma", "layer1/norm2_beta", "head.kernel", "norm/beta", "norm/gamma",
    ]  # fmt: skip
    assert ours.kind == "test with PyTorch's names"
    assert (ours.classes, ours.order_problems) == ({}, ())
    np.testing.assert_array_equal(ours.arrays["layer1/attention_kernel"], theirs["layers.0.self_attn.in_proj_weight"].T)
    np.testing.assert_array_equal(ours.arrays["layer1/norm1_beta"], theirs["layers.0.norm1.bias"])
    assert torch_names.to_torch(ours).arrays.keys() == theirs.keys()

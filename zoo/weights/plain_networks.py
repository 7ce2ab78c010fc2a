"""MobileNet v1 and v2 in NumPy (slow), to check the predictions of weights before a framework loads them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.weights.formats import Arrays

# Products of NumPy arrays have no declared type.
Array = Any

EPSILON = 1e-3
# Blocks whose depthwise convolution has stride 2.
STRIDES = {"mobilenet": (2, 4, 6, 12), "mobilenet_v2": (1, 3, 6, 13)}


def probabilities(name: str, arrays: "Arrays", pixels: "NDArray[np.uint8]") -> "Array":
    """Return the probability of each class.

    Args:
        arrays: float32 weights of a whole network by ``layer/weight``.
        pixels: (edge, edge, 3), RGB; the edge is a multiple of 32.
    """
    x = pixels.astype(np.float32) / np.float32(127.5) - np.float32(1)
    logits = _v1(arrays, x) if name == "mobilenet" else _v2(arrays, x)
    chances = np.exp(logits - logits.max())
    return chances / chances.sum()


def _v1(arrays: "Arrays", x: "Array") -> "Array":
    x = _relu6(_norm(arrays, "conv1_bn", _conv(x, arrays["conv1/kernel"])))
    for number in range(1, 14):
        stride = 2 if number in STRIDES["mobilenet"] else 1
        x = _depthwise(x, arrays[f"conv_dw_{number}/depthwise_kernel"], stride)
        x = _relu6(_norm(arrays, f"conv_dw_{number}_bn", x))
        x = x @ arrays[f"conv_pw_{number}/kernel"][0, 0]
        x = _relu6(_norm(arrays, f"conv_pw_{number}_bn", x))
    return x.mean((0, 1)) @ arrays["conv_preds/kernel"][0, 0] + arrays["conv_preds/bias"]


def _v2(arrays: "Arrays", x: "Array") -> "Array":
    x = _relu6(_norm(arrays, "bn_Conv1", _conv(x, arrays["Conv1/kernel"])))
    for number in range(17):
        x = _inverted_residual(arrays, f"block_{number}" if number else "expanded_conv", number, x)
    x = _relu6(_norm(arrays, "Conv_1_bn", x @ arrays["Conv_1/kernel"][0, 0]))
    return x.mean((0, 1)) @ arrays["predictions/kernel"] + arrays["predictions/bias"]


def _inverted_residual(arrays: "Arrays", name: str, number: int, inputs: "Array") -> "Array":
    x, stride = inputs, 2 if number in STRIDES["mobilenet_v2"] else 1
    if number:
        x = _relu6(_norm(arrays, f"{name}_expand_BN", x @ arrays[f"{name}_expand/kernel"][0, 0]))
    x = _depthwise(x, arrays[f"{name}_depthwise/depthwise_kernel"], stride)
    x = _relu6(_norm(arrays, f"{name}_depthwise_BN", x))
    x = _norm(arrays, f"{name}_project_BN", x @ arrays[f"{name}_project/kernel"][0, 0])
    return x + inputs if x.shape == inputs.shape else x


def _relu6(x: "Array") -> "Array":
    return np.clip(x, 0, 6)


def _norm(arrays: "Arrays", layer: str, x: "Array") -> "Array":
    names = ("gamma", "beta", "moving_mean", "moving_variance")
    gamma, beta, mean, variance = (arrays[f"{layer}/{name}"] for name in names)
    scale = gamma / np.sqrt(variance + np.float32(EPSILON))
    return x * scale + (beta - mean * scale)


def _windows(x: "Array", stride: int) -> "list[Array]":
    """Return the input of each weight of a 3x3 kernel. Edges are even, so stride 2 pads the far side only."""
    near = 1 if stride == 1 else 0
    padded = np.pad(x, ((near, 1), (near, 1), (0, 0)))
    rows, columns = (-(-edge // stride) for edge in x.shape[:2])
    return [
        padded[top : top + stride * rows : stride, left : left + stride * columns : stride]
        for top in range(3)
        for left in range(3)
    ]


def _conv(x: "Array", kernel: "Array") -> "Array":
    return np.concatenate(_windows(x, 2), -1) @ kernel.reshape(-1, kernel.shape[-1])


def _depthwise(x: "Array", kernel: "Array", stride: int) -> "Array":
    weights = kernel.reshape(9, -1)
    return np.sum([seen * weight for seen, weight in zip(_windows(x, stride), weights, strict=True)], 0)

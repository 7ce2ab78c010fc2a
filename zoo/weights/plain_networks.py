"""MobileNet v1 and v2 in NumPy (slow), to check the predictions of weights before a framework loads them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.weights.architectures import STEPS
from zoo.weights.formats import Arrays

# Products of NumPy arrays have no declared type.
Array = Any

EPSILON = 1e-3


def probabilities(name: str, arrays: "Arrays", pixels: "NDArray[np.uint8]") -> "Array":
    """Return the probability of each class.

    Args:
        arrays: float32 weights of a whole network by ``layer/weight``.
        pixels: (edge, edge, 3), RGB; the edge is a multiple of 32.
    """
    x = pixels.astype(np.float32) / np.float32(127.5) - np.float32(1)
    block = x  # the input of the current block of MobileNetV2, a residual
    for step in STEPS[name][0]:
        if step.kind == "norm":
            x = _norm(arrays, step.name, x)
            if step.name.endswith("project_BN"):
                x = block = x + block if x.shape == block.shape else x
            else:
                x = np.clip(x, 0, 6)
        elif step.kind == "depthwise":
            weights = arrays[f"{step.name}/depthwise_kernel"].reshape(9, -1)
            windows = _windows(x, step.stride)
            x = np.sum([seen * weight for seen, weight in zip(windows, weights, strict=True)], 0)
        else:
            x = _conv(x, arrays[f"{step.name}/kernel"])
    top = "conv_preds" if name == "mobilenet" else "predictions"
    kernel = arrays[f"{top}/kernel"]
    logits = x.mean((0, 1)) @ kernel.reshape(kernel.shape[-2:]) + arrays[f"{top}/bias"]
    chances = np.exp(logits - logits.max())
    return chances / chances.sum()


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
    """Apply a 1x1 convolution, or the first convolution, 3x3 with stride 2."""
    if kernel.shape[:2] == (1, 1):
        return x @ kernel[0, 0]
    return np.concatenate(_windows(x, 2), -1) @ kernel.reshape(-1, kernel.shape[-1])

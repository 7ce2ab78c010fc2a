"""PyTorch: the CPU, CUDA, or Apple's Metal Performance Shaders."""

import functools
import os

import numpy as np
import torch

OPERATIONS = ("product", "convolution")


def places():
    """Return the CPU, and the device that Keras is set to use, if different."""
    chosen = torch.device(os.environ.get("KERAS_TORCH_DEVICE", "cpu"))
    return [("cpu", "cpu")] + ([] if chosen.type == "cpu" else [(str(chosen), "gpu")])


def prepare(what, arrays, place):
    if what == "convolution":
        arrays = [arrays[0].transpose(0, 3, 1, 2), arrays[1].transpose(3, 2, 0, 1)]
    tensors = [torch.from_numpy(np.ascontiguousarray(array)).to(place) for array in arrays]
    operation = torch.matmul if what == "product" else functools.partial(torch.nn.functional.conv2d, padding=1)
    kind = torch.device(place).type

    @torch.no_grad()
    def call():
        result = operation(*tensors)
        if kind in ("cuda", "mps"):
            getattr(torch, kind).synchronize()
        return result

    def as_array(result):
        array = result.cpu().numpy()
        return array if what == "product" else array.transpose(0, 2, 3, 1)

    return call, as_array


def product(x, precision):
    """Return a function that multiplies a matrix by itself on Keras's device."""
    matrix = torch.from_numpy(x).to(os.environ.get("KERAS_TORCH_DEVICE", "cpu"), getattr(torch, precision))
    return lambda: torch.matmul(matrix, matrix)[None]

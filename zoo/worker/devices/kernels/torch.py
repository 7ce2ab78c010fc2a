"""PyTorch: the CPU, CUDA, or Apple's Metal Performance Shaders."""

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
    kind, results = torch.device(place).type, []

    def call():
        with torch.no_grad():
            if what == "product":
                results[:] = [torch.matmul(*tensors)]
            else:
                results[:] = [torch.nn.functional.conv2d(tensors[0], tensors[1], padding=1)]
        if kind in ("cuda", "mps"):
            getattr(torch, kind).synchronize()

    def result():
        array = results[0].cpu().numpy()
        return array if what == "product" else array.transpose(0, 2, 3, 1)

    return call, result


def product(x, precision):
    """Return a function that multiplies a matrix by itself on Keras's device."""
    matrix = torch.from_numpy(x).to(os.environ.get("KERAS_TORCH_DEVICE", "cpu"), getattr(torch, precision))
    return lambda: torch.matmul(matrix, matrix)[None]

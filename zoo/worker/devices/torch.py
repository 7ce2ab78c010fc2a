"""Keras 3 on PyTorch: the CPU, Apple's Metal Performance Shaders or CUDA."""

import os

import numpy as np

from zoo.protocol import memory
from zoo.protocol.events import DeviceProof
from zoo.worker.errors import UserError

CAPABILITIES = {
    "modes": ("eager", "compiled"),
    "encoders": ("torch",),
    "bfloat16_gains": ("style", "classifiers", "mobilenets", "language models", "text classifiers"),
    # PyTorch keeps every layer's output until the end: 2.8 GB for 0.7 megapixels, three times as much as TensorFlow.
    "tiles_at_once": 1,
    "copies_ahead": True,
    "variables": ("KERAS_TORCH_DEVICE",),
}


def start(device):
    """Set the device that Keras reads when it is imported."""
    import torch

    os.environ["KERAS_TORCH_DEVICE"] = choose(device, torch)


def choose(device, torch):
    """Return the PyTorch device: the requested id, ``cpu``, or the available GPU (``mps`` or ``cuda``)."""
    if device.id:
        return device.id
    if device.device_kind == "cpu":
        return "cpu"
    mps = getattr(torch.backends, "mps", None)
    if mps is not None and mps.is_available():
        return "mps"
    if torch.cuda.is_available():
        return "cuda"
    raise UserError("PyTorch %s cannot use a GPU: %s" % (torch.__version__, _why_not(torch, mps)))


def _why_not(torch, mps):
    if mps is not None and mps.is_built():
        return "it was built with MPS, but this macOS is too old for it, or there is no Metal GPU"
    if torch.version.cuda:
        return "it was built for CUDA %s, but finds no NVIDIA GPU or driver" % torch.version.cuda
    return "it was built for the CPU only"


def proof(device):
    """Multiply two matrices on Keras's device, synchronize, and return the device of the product.

    A separate probe checks where Keras really puts its variables; a stack without Keras has only this proof.
    """
    import torch

    ones = torch.ones((64, 64), device=os.environ["KERAS_TORCH_DEVICE"])
    product = torch.matmul(ones, ones)
    if product.device.type in ("cuda", "mps"):
        getattr(torch, product.device.type).synchronize()
    if float(product[0, 0]) != 64.0:
        words = "PyTorch multiplied two matrices of ones on %s and got %r"
        raise RuntimeError(words % (product.device, product[0, 0]))
    kind = "cpu" if product.device.type == "cpu" else "gpu"
    description = torch.cuda.get_device_name(product.device) if product.device.type == "cuda" else ""
    return DeviceProof(name=str(product.device), device_kind=kind, proof="matmul", description=description)


def place(variable):
    device = variable.value.device
    return str(device), "cpu" if device.type == "cpu" else "gpu"


def memory_bytes():
    import torch

    device = torch.device(os.environ["KERAS_TORCH_DEVICE"])
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    limit = getattr(getattr(torch, "mps", None), "recommended_max_memory", None)  # since 2.5
    return limit() if limit and device.type == "mps" else memory.available_bytes()


def put(array):
    """Copy an array to the device, on CUDA from pinned memory in its own stream; on a CPU, share its memory."""
    import torch

    device, tensor = torch.device(os.environ["KERAS_TORCH_DEVICE"]), torch.from_numpy(np.ascontiguousarray(array))
    if device.type != "cuda":
        return tensor.to(device)
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        copied = tensor.pin_memory().to(device, non_blocking=True)
    stream.synchronize()
    copied.record_stream(torch.cuda.default_stream(device))  # keeps its memory until that stream has used it
    return copied


def take(kept, places):
    """Gather rows; on a CPU, use NumPy to avoid PyTorch's threads."""
    import torch

    if kept.device.type == "cpu":
        return torch.from_numpy(kept.numpy()[np.asarray(places)])
    return kept[torch.as_tensor(places, dtype=torch.int64, device=kept.device)]

"""Keras 3 on MLX, Apple's own framework: the GPU of Apple silicon, or a CPU."""

import os

from zoo.protocol import memory
from zoo.protocol.events import DeviceProof
from zoo.worker.errors import UserError

CAPABILITIES = {"modes": ("eager", "compiled"), "variables": ("MLX_DISABLE_COMPILE",)}


def start(device):
    """Set MLX's default device, and disable compilation on CPUs, before Keras is imported.

    On a CPU, MLX needs the system's C++ compiler, which may be missing; the first steps of MobileNet took 110 s.
    """
    kind = choose(device)
    if kind == "cpu":
        os.environ.setdefault("MLX_DISABLE_COMPILE", "1")
    import mlx.core as mx

    wanted = mx.gpu if kind == "gpu" else mx.cpu
    if not mx.is_available(wanted):
        raise UserError("MLX %s has no GPU here: this build supports only the CPU" % mx.__version__)
    mx.set_default_device(wanted)
    if kind == "gpu":
        # With the default, 1.5 times this limit, macOS swaps instead of MLX waiting for free memory.
        most = mx.device_info().get("max_recommended_working_set_size")
        if most:
            mx.set_memory_limit(most)


def choose(device):
    """Return the kind of MLX device for a request, ``cpu`` or ``gpu``."""
    wanted = device.id or device.device_kind
    kind, _, number = wanted.partition(":")
    if kind not in ("cpu", "gpu") or number not in ("", "0"):
        raise UserError("MLX has no device %r; it has cpu and gpu" % wanted)
    return kind


def proof(device):
    """Multiply two matrices on the default device, wait, and return the device."""
    import mlx.core as mx

    ones = mx.ones((64, 64))
    product = mx.matmul(ones, ones)
    mx.eval(product)
    if float(product[0, 0]) != 64.0:
        raise RuntimeError("MLX multiplied two matrices of ones and got %r" % float(product[0, 0]))
    name, kind = place(product)
    description = str(mx.device_info().get("device_name", "")) if kind == "gpu" else ""
    return DeviceProof(name=name, device_kind=kind, proof="matmul", description=description)


def place(variable):
    """Return the default device: MLX's arrays are in memory that all devices share."""
    import mlx.core as mx

    used = mx.default_device()
    return str(used), "gpu" if used.type == mx.DeviceType.gpu else "cpu"


def memory_bytes():
    import mlx.core as mx

    known = mx.device_info() if place(None)[1] == "gpu" else {}
    return known.get("max_recommended_working_set_size") or memory.available_bytes()


def put(array):
    import mlx.core as mx

    return mx.array(array)


def take(kept, places):
    import mlx.core as mx

    return mx.take(kept, mx.array(places), axis=0)


def versions():
    import importlib.metadata  # novermin: MLX needs Python 3.11

    return {name: importlib.metadata.version(name) for name in ("mlx", "keras-mlx")}

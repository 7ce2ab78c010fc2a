"""Keras 3 on JAX: the CPU, CUDA, or Apple silicon through the plug-in jax-mps."""

import contextlib
import functools
import os
import sys

from zoo.protocol import memory
from zoo.protocol.events import DeviceProof

CAPABILITIES = {
    "modes": ("xla",),
    "copies_ahead": True,
    "variables": ("JAX_PLATFORMS",),
    "skipped_probes": {"wide_integers": "JAX uses 32-bit integers by default"},
}


def start(device):
    """Set the platforms that JAX opens, before JAX is imported; an unavailable platform is then an error."""
    os.environ["JAX_PLATFORMS"] = choose(device, sys.platform)


def choose(device, system):
    """Return the JAX platforms for a device, the one to compute on first; ``system`` is ``sys.platform``."""
    wanted = device.id or {"cpu": "cpu", "gpu": "mps" if system == "darwin" else "cuda"}[device.device_kind]
    platform = wanted.split(":")[0]
    # Keras keeps some variables on the CPU even if it computes on a GPU.
    return "cpu" if platform == "cpu" else platform + ",cpu"


def proof(device):
    """Multiply two matrices, wait, and ask JAX for the device of the product."""
    import jax
    import jax.numpy as jnp

    product = jax.block_until_ready(jnp.matmul(jnp.ones((64, 64)), jnp.ones((64, 64))))
    (used,) = product.devices()
    kind = "cpu" if used.platform == "cpu" else "gpu"
    described = "" if kind == "cpu" else used.device_kind
    return DeviceProof(name=str(used), device_kind=kind, proof="matmul", description=described)


def place(variable):
    (device,) = variable.value.devices()
    return str(device), "cpu" if device.platform == "cpu" else "gpu"


def memory_bytes():
    import jax

    stats = None
    with contextlib.suppress(RuntimeError):  # a plug-in may not have it
        stats = jax.devices()[0].memory_stats()
    return (stats or {}).get("bytes_limit") or memory.available_bytes()


def put(array):
    import jax

    return jax.device_put(array)


def take(kept, places):
    return _compiled_take()(kept, places)


@functools.lru_cache(maxsize=None)
def _compiled_take():
    import jax

    return jax.jit(lambda kept, places: kept.at[places].get(mode="promise_in_bounds"))

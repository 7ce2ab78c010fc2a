"""JAX: the CPU, CUDA, or Apple silicon through its plug-in; XLA compiles all operations."""

import jax
import jax.numpy as jnp
import numpy as np

OPERATIONS = ("product", "convolution")


def places():
    chosen = jax.devices()[0]
    return [("cpu", "cpu")] + ([] if chosen.platform == "cpu" else [(chosen.platform, "gpu")])


def prepare(what, arrays, place):
    device = jax.devices(place)[0]
    tensors = [jax.device_put(array, device) for array in arrays]
    operation = jax.jit(jnp.matmul if what == "product" else _convolution)
    return (lambda: jax.block_until_ready(operation(*tensors))), np.asarray


def _convolution(x, kernel):
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def product(x, precision):
    """Return a function that multiplies a matrix by itself."""
    matrix, multiply = jax.device_put(x).astype(precision), jax.jit(lambda x: x @ x)
    return lambda: multiply(matrix)

"""Compute depthwise convolutions with JAX on CPUs as sums of shifted feature maps.

On CPUs, XLA computes grouped convolutions and their gradients in plain loops, which take longer than nine products.
"""

import jax
import jax.numpy as jnp

from zoo.models.compat.version import network_operations

# Largest area of a kernel; kernels larger than 5x5 were not measured.
MOST = 25


def install():
    """Patch Keras in this process; call this only once."""
    nn = network_operations()
    original = nn.depthwise_conv

    def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
        x, table = nn.convert_to_tensor(inputs), nn.convert_to_tensor(kernel)
        strides = (strides,) * 2 if isinstance(strides, int) else tuple(strides)
        last = nn.backend.standardize_data_format(data_format) == "channels_last"
        if last and applies(x, table, dilation_rate):
            return _shifted(x, table, strides, padding)
        return original(inputs, kernel, strides, padding, data_format, dilation_rate)

    nn.depthwise_conv = depthwise_conv


def applies(x, kernel, dilation_rate):
    """Return whether to use shifted maps: for known sizes, and only on CPUs, where they were measured."""
    known = x.ndim == 4 and all(isinstance(size, int) for size in x.shape[1:])
    dense = dilation_rate in (1, (1, 1), [1, 1]) and kernel.ndim == 4 and kernel.shape[0] * kernel.shape[1] <= MOST
    return known and dense and jax.default_backend() == "cpu"


def _shifted(x, kernel, strides, padding):
    sizes, wide = kernel.shape[:2], jnp.promote_types(x.dtype, jnp.float32)
    pads = jax.lax.padtype_to_pads(x.shape[1:3], sizes, strides, padding.upper())
    padded = jnp.pad(x, ((0, 0), *pads, (0, 0))).astype(wide)
    sides = zip(padded.shape[1:3], sizes, strides)
    spans = [((whole - size) // stride) * stride + 1 for whole, size, stride in sides]
    total = 0
    for row in range(sizes[0]):
        for column in range(sizes[1]):
            part = padded[:, row : row + spans[0] : strides[0], column : column + spans[1] : strides[1]]
            total += part[..., None] * kernel[row, column].astype(wide)
    return total.reshape(*total.shape[:3], -1).astype(x.dtype)

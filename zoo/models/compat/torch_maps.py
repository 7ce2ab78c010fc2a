"""Faster convolution, pooling and batch normalization with PyTorch on CPUs.

Keras copies maps to channels-first memory before each convolution and pooling, and normalizes them in a dozen passes
in float32. PyTorch can compute with channels last in memory, and normalizes in one operation, forward and backward.
Weights, results and statistics are the same up to rounding.
"""

import functools
from pathlib import Path

import torch
from torch.autograd.function import once_differentiable

from zoo.models.compat.version import keras, network_operations

DTYPES = (torch.float32, torch.float64, torch.bfloat16)


def install():
    """Patch Keras in this process; call this only once."""
    nn = network_operations()
    original = nn._transpose_spatial_inputs

    def transpose(inputs, *layout, **settings):  # Keras 3.16 may ask for a layout in memory
        return inputs.permute(0, 3, 1, 2) if applies(inputs) else original(inputs, *layout, **settings)

    nn._transpose_spatial_inputs = transpose
    _choose_convolutions(nn)
    _normalize_at_once(keras.layers.BatchNormalization)


def applies(x):
    """Return whether to use this module: only CPUs were measured, and exporters need Keras's operations."""
    exported = torch.compiler.is_compiling() or torch.jit.is_tracing()
    return x.device.type == "cpu" and x.dim() == 4 and x.dtype in DTYPES and not exported


def _choose_convolutions(nn):
    """Use matrix products for 1x1 convolutions, and faster gradients for strided depthwise ones in bfloat16."""
    original = nn.conv

    def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
        x, table = nn.convert_to_tensor(inputs), nn.convert_to_tensor(kernel)
        order = keras.config.image_data_format() if data_format is None else data_format
        if table.dim() == 4 and order == "channels_last" and applies(x):
            stride = {strides} if isinstance(strides, int) else set(strides)
            points = tuple(table.shape[:2]) == (1, 1) and x.shape[-1] == table.shape[2]
            if points and stride == {1} and _multiplies_fast(x.dtype):
                return torch.matmul(x, table.reshape(table.shape[2:]))
            by_channel = table.shape[2] == 1 and x.shape[-1] == table.shape[3]
            leaps = len(stride) == 1 and stride != {1} and padding == "valid" and dilation_rate in (1, (1, 1), [1, 1])
            if by_channel and leaps and x.dtype == torch.bfloat16 and x.requires_grad:
                return _LeapingDepthwise.apply(x.permute(0, 3, 1, 2), table, *stride).permute(0, 2, 3, 1)
        return original(inputs, kernel, strides, padding, data_format, dilation_rate)

    nn.conv = conv


@functools.lru_cache(maxsize=None)
def _multiplies_fast(kind):
    """Return whether matrix products are as fast as 1x1 convolutions: float32 uses MKL, which favors Intel CPUs."""
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return True
    return kind != torch.float32 or "AuthenticAMD" not in facts


class _LeapingDepthwise(torch.autograd.Function):
    """Depthwise convolution with a stride and without padding.

    In bfloat16, PyTorch 2.13 needs 93 ms for the gradient of inputs of 32 x 113 x 113 x 64. Here, the gradient of the
    outputs is spread out, with zeros in between, and convolved with the mirrored kernel: 9 ms.
    """

    @staticmethod
    def forward(ctx, maps, table, stride):
        kernel = table.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
        ctx.save_for_backward(maps, kernel)
        ctx.stride = stride
        return torch.nn.functional.conv2d(maps, kernel, None, stride, groups=len(kernel))

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (maps, kernel), stride, channels = ctx.saved_tensors, ctx.stride, gradient.shape[1]
        whole = [size - edge + 1 for size, edge in zip(maps.shape[2:], kernel.shape[2:])]
        spread = gradient.new_zeros((len(maps), *whole, channels)).permute(0, 3, 1, 2)
        spread[:, :, ::stride, ::stride] = gradient
        mirrored = kernel.flip(2, 3).contiguous(memory_format=torch.channels_last)
        edges = [edge - 1 for edge in kernel.shape[2:]]
        of_maps = torch.nn.functional.conv2d(spread, mirrored, None, 1, edges, groups=channels)
        of_kernel = torch.ops.aten.convolution_backward(
            gradient, maps, kernel, None, [stride] * 2, [0, 0], [1, 1], False, [0, 0], channels, [False, True, False]
        )[1]
        return of_maps, of_kernel.permute(2, 3, 1, 0), None


def _normalize_at_once(kind):
    original = kind.call

    def call(self, inputs, training=None, mask=None):
        plain = mask is None and not self.renorm and self.axis in (-1, 3)
        single = _by["normalize"] is _normalize_alone and inputs.numel() <= inputs.shape[-1]
        if not plain or single or not applies(inputs):
            return original(self, inputs, training=training, mask=mask)
        return _normalized(self, inputs.permute(0, 3, 1, 2), training and self.trainable).permute(0, 2, 3, 1)

    kind.call = call


def _normalized(layer, maps, learns):
    gamma, beta = (getattr(each, "value", None) for each in (layer.gamma, layer.beta))
    mean, variance = layer.moving_mean.value, layer.moving_variance.value
    if not learns:
        return torch.nn.functional.batch_norm(maps, mean, variance, gamma, beta, False, 0.0, layer.epsilon)
    normalized, *own = _by["normalize"](maps, gamma, beta, layer.epsilon)
    with torch.no_grad():
        for moving, new in zip((mean, variance), own):
            moving.mul_(layer.momentum).add_(new, alpha=1.0 - layer.momentum)
    return normalized


def _normalize_alone(maps, gamma, beta, epsilon):
    wide = torch.promote_types(maps.dtype, torch.float32)
    mean, variance = (torch.zeros(maps.shape[1], dtype=wide) for _ in range(2))
    normalized = torch.nn.functional.batch_norm(maps, mean, variance, gamma, beta, True, 1.0, epsilon)
    count = maps.numel() // maps.shape[1]
    # PyTorch computes the sample variance, Keras the variance of the batch.
    return normalized, mean, variance * ((count - 1) / count)


_by = {"normalize": _normalize_alone}


def normalize_by(function):
    """Replace the normalization of maps in training, for processes that share a batch.

    Args:
        function: takes maps (N, C, H, W), gamma and beta, (C,) or None, and epsilon. It returns normalized maps, and
            mean and variance (C,) of the batch.
    """
    _by["normalize"] = function

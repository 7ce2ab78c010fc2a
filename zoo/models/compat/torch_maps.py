"""Feature maps on PyTorch's processor without the copies that Keras makes of them.

Keras puts the channels first, in memory too, before each convolution and pooling, and normalizes by a dozen passes
over the maps, in float32. PyTorch computes maps whose channels come last in memory as they are, and normalizes,
forwards and backwards, in one operation. Weights, results and statistics are the same to rounding.
"""

import torch

from zoo.models.compat.version import keras

DTYPES = (torch.float32, torch.float64, torch.bfloat16)


def install():
    """Change Keras in this process; once."""
    from keras.src.backend.torch import nn

    _leave_maps_in_place(nn)
    _multiply_pointwise(nn)
    _normalize_at_once(keras.layers.BatchNormalization)


def applies(x):
    """On other devices nothing was measured; what is exported keeps the operations that exporters know."""
    exported = torch.compiler.is_compiling() or torch.jit.is_tracing()
    return x.device.type == "cpu" and x.dim() == 4 and x.dtype in DTYPES and not exported


def _leave_maps_in_place(nn):
    original = nn._transpose_spatial_inputs

    def transpose(inputs):
        return inputs.permute(0, 3, 1, 2) if applies(inputs) else original(inputs)

    nn._transpose_spatial_inputs = transpose


def _multiply_pointwise(nn):
    """A convolution of single points is a product of matrices, whose kernel needs no other layout."""
    original = nn.conv

    def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
        x, table = nn.convert_to_tensor(inputs), nn.convert_to_tensor(kernel)
        points = table.dim() == 4 and tuple(table.shape[:2]) == (1, 1) and strides in (1, [1, 1], (1, 1))
        order = keras.config.image_data_format() if data_format is None else data_format
        if points and order == "channels_last" and applies(x) and x.shape[-1] == table.shape[2]:
            return torch.matmul(x, table.reshape(table.shape[2:]))
        return original(inputs, kernel, strides, padding, data_format, dilation_rate)

    nn.conv = conv


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
    # PyTorch's variance is that of a sample, Keras's that of the batch.
    return normalized, mean, variance * ((count - 1) / count)


_by = {"normalize": _normalize_alone}


def normalize_by(function):
    """Normalize maps of training otherwise from now on: where processes share a batch.

    Args:
        function: from maps (N, C, H, W), gamma, beta (C,) or None, and epsilon to normalized maps, and mean and
            variance (C,) of the batch.
    """
    _by["normalize"] = function

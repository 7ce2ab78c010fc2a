"""Blocks shared by the MobileNets: normalized convolutions, arguments and published weights.

Arguments follow the rules of keras.applications, so that the zoo's networks can replace its networks. Invalid
arguments raise ``ValueError`` with the value received.
"""

import os
import warnings
from collections import namedtuple

MIN_SIZE = 32
DEFAULT_SIZE = 224

# Weights published for one architecture. ``file_name`` takes alpha, the size in pixels and ``include_top``.
Published = namedtuple("Published", "address sizes alphas file_name")

# Parts of a network. ``trunk`` takes a tensor, ``top`` a tensor and an activation. ``tensor_shape`` is the shape of
# the caller's tensor, including the batch, if it sets the default size.
Network = namedtuple("Network", "published alpha name trunk top tensor_shape")


def channel_axis(compat):
    return 1 if compat.keras.backend.image_data_format() == "channels_first" else -1


def batch_norm(compat, x, name, momentum=0.99, activation=None):
    """Normalize, then apply the layer ``activation``, if any."""
    layer = compat.keras.layers.BatchNormalization
    x = layer(axis=channel_axis(compat), momentum=momentum, epsilon=1e-3, name=name)(x)
    return x if activation is None else activation(x)


def conv(compat, x, filters, name, size=1, stride=1):
    """Apply a convolution without bias; the normalization that follows has one."""
    layer = compat.keras.layers.Conv2D
    return layer(filters, (size, size), strides=(stride, stride), padding="same", use_bias=False, name=name)(x)


def depthwise_conv(compat, x, name, stride=1, multiplier=1):
    """Apply a 3x3 depthwise convolution; with a stride, the caller has already padded the maps."""
    return compat.keras.layers.DepthwiseConv2D(
        (3, 3), strides=(stride, stride), padding="same" if stride == 1 else "valid", depth_multiplier=multiplier,
        use_bias=False, name=name,
    )(x)  # fmt: skip


def application(compat, network, include_top, weights, input_tensor, input_shape, pooling, classifier_activation, name):
    """Build a :class:`Network` with the arguments of keras.applications; call :func:`check_weights` first."""
    published = network.published
    shape = _input_shape(compat, input_shape, weights, include_top, published.sizes, network.tensor_shape)
    rows = _rows(compat, shape, weights, published.sizes)
    layers = compat.keras.layers
    if input_tensor is None:
        inputs = x = layers.Input(shape=shape)
    else:
        keras_tensor = compat.is_keras_tensor(input_tensor)
        x = input_tensor if keras_tensor else layers.Input(tensor=input_tensor, shape=shape)
        inputs = compat.source_inputs(input_tensor)
    x = network.trunk(x)
    if include_top:
        get = compat.keras.activations.get
        if weights is not None and get(classifier_activation) not in (get("softmax"), get(None)):
            raise ValueError(
                "With trained weights and include_top=True `classifier_activation` should be None or 'softmax'. "
                "Received classifier_activation=%s" % (classifier_activation,)
            )
        x = network.top(x, classifier_activation)
    elif pooling in ("avg", "max"):
        x = (layers.GlobalAveragePooling2D if pooling == "avg" else layers.GlobalMaxPooling2D)()(x)
    elif pooling is not None:
        raise ValueError("`pooling` should be None, 'avg' or 'max'. Received pooling=%r" % (pooling,))
    name = name or "%s_%0.2f_%s" % (network.name, network.alpha, rows)
    model = compat.keras.models.Model(inputs=inputs, outputs=x, name=name)
    if weights == "imagenet":
        file = published.file_name(network.alpha, rows, include_top)
        weights = compat.keras.utils.get_file(file, published.address + file, cache_subdir="models")
    if weights is not None:
        model.load_weights(weights)
    return model


def check_width(alpha, classes):
    """Check that every layer has at least one filter."""
    if not alpha * MIN_SIZE >= 1:
        raise ValueError("`alpha` should leave at least one filter of 32. Received alpha=%r" % (alpha,))
    if classes < 1:
        raise ValueError("`classes` should be at least 1. Received classes=%r" % (classes,))


def fixed_input_shape(input_shape, input_size):
    """Return the input shape (height, width, channels) of a model that the worker builds.

    ``input_shape`` is the shape of the images, or None. ``input_size`` is the configured height and width in pixels,
    or None for any.
    """
    if input_shape is None:
        input_shape = (input_size or DEFAULT_SIZE, input_size or DEFAULT_SIZE, 3)
    shape = tuple(int(size) for size in input_shape)
    if len(shape) != 3:
        raise ValueError("input_shape must be (height, width, channels), got %r" % (input_shape,))
    if min(shape[:2]) < MIN_SIZE:
        raise ValueError(
            "this network needs images of at least %dx%d pixels, got %dx%d" % (MIN_SIZE, MIN_SIZE, *shape[:2])
        )
    if input_size is not None and shape[:2] != (input_size, input_size):
        raise ValueError("the images are %dx%d pixels, but input_size is %d" % (*shape[:2], input_size))
    return shape


def check_weights(published, weights, include_top, classes, alpha):
    """Check that the weights exist, and were published for this number of classes and this width."""
    if not (weights is None or weights == "imagenet" or os.path.exists(weights)):
        raise ValueError(
            "`weights` should be None (random numbers), 'imagenet' (the published ones) or the path of a weights "
            "file. Received weights=%s" % (weights,)
        )
    if weights != "imagenet":
        return
    if include_top and classes != 1000:
        raise ValueError(
            "With weights='imagenet' and include_top=True `classes` should be 1000. Received classes=%s" % (classes,)
        )
    if alpha not in published.alphas:
        raise ValueError(
            "With weights='imagenet' `alpha` should be one of %s. Received alpha=%s"
            % (", ".join(map(str, published.alphas)), alpha)
        )


def _input_shape(compat, input_shape, weights, include_top, sizes, tensor_shape):
    """Return a network's input shape, in Keras's configured order of axes.

    ``sizes`` are the heights in pixels for which weights were published. ``tensor_shape`` is described at
    :class:`Network`. Without a top, height and width of the result may be None.
    """
    first = channel_axis(compat) == 1
    shape = None if input_shape is None else _checked(input_shape, first, weights)
    rows, columns, _ = shape or (_rows_first(tensor_shape[1:], first) if tensor_shape else (None, None, None))
    size = rows if rows == columns and rows in sizes else DEFAULT_SIZE
    default = (size, size, 3)
    if include_top and weights == "imagenet" and shape not in (None, default):
        raise ValueError(
            "With weights='imagenet' and include_top=True `input_shape` should be %s. Received input_shape=%s"
            % (_as_configured(default, first), tuple(input_shape))
        )
    if shape is None:
        shape = default if include_top else (None, None, 3)
    if include_top and None in shape:
        raise ValueError(
            "With include_top=True `input_shape` should be three numbers. Received input_shape=%s" % (input_shape,)
        )
    return _as_configured(shape, first)


def _checked(input_shape, first, weights):
    """Return the shape as (height, width, channels), after checking it."""
    if len(input_shape) != 3:
        raise ValueError("`input_shape` should be three numbers. Received input_shape=%s" % (input_shape,))
    rows, columns, channels = _rows_first(input_shape, first)
    if channels != 3 and weights == "imagenet":
        raise ValueError("The input should have 3 channels. Received input_shape=%s" % (input_shape,))
    if channels not in (1, 3):
        warnings.warn("Images have 1 or 3 channels, this input has %s" % (channels,), stacklevel=5)
    if min(MIN_SIZE if size is None else size for size in (rows, columns)) < MIN_SIZE:
        raise ValueError(
            "The input should be at least %dx%d pixels. Received input_shape=%s" % (MIN_SIZE, MIN_SIZE, input_shape)
        )
    return rows, columns, channels


def _rows_first(shape, channels_first):
    shape = tuple(shape)
    return (*shape[1:], shape[0]) if channels_first else shape


def _as_configured(shape, channels_first):
    return (shape[2], *shape[:2]) if channels_first else tuple(shape)


def _rows(compat, shape, weights, sizes):
    """Return the height for the model's name; with published weights, the height they were trained for."""
    rows, columns, _ = _rows_first(shape, channel_axis(compat) == 1)
    if weights != "imagenet" or (rows == columns and rows in sizes):
        return rows
    warnings.warn(
        "No weights were published for an input of shape %s; those for %d pixels are loaded" % (shape, DEFAULT_SIZE),
        stacklevel=4,
    )
    return DEFAULT_SIZE

"""What the MobileNets share: normalised convolutions, their tops, and the checks of their arguments.

The rules for arguments are those of keras.applications, so that one can stand in for the other.
"""

import os
import warnings
from collections import namedtuple

SMALLEST = 32
DEFAULT_SIZE = 224

# What was published for one architecture: where, for which sizes and widths, and under which file name.
# ``file_name`` is called with alpha, the size in pixels and whether the top is included.
Published = namedtuple("Published", "address sizes alphas file_name")


def channel_axis(compat):
    """Axis of the channels in a batch of pictures, as this Keras is configured."""
    return 1 if compat.keras.backend.image_data_format() == "channels_first" else -1


def normalise(compat, x, name, momentum=0.99):
    """Batch normalisation over the channels."""
    make = compat.keras.layers.BatchNormalization
    return make(axis=channel_axis(compat), momentum=momentum, epsilon=1e-3, name=name)(x)


def convolve(compat, x, filters, name, size=1, stride=1):
    """Convolution without bias; the normalisation that follows has one."""
    make = compat.keras.layers.Conv2D
    return make(filters, (size, size), strides=(stride, stride), padding="same", use_bias=False, name=name)(x)


def convolve_channels(compat, x, name, stride=1, multiplier=1):
    """3x3 convolution of every channel by itself; with a stride the pictures have been padded already."""
    return compat.keras.layers.DepthwiseConv2D(
        (3, 3),
        strides=(stride, stride),
        padding="same" if stride == 1 else "valid",
        depth_multiplier=multiplier,
        use_bias=False,
        name=name,
    )(x)


def pool(compat, x, pooling):
    """What a network without its top ends in: the feature maps (None), or their ``avg`` or ``max``.

    Raises:
        ValueError: ``pooling`` is none of these.
    """
    layers = compat.keras.layers
    if pooling is None:
        return x
    if pooling not in ("avg", "max"):
        raise ValueError("`pooling` should be None, 'avg' or 'max'. Received pooling=%r" % (pooling,))
    return (layers.GlobalAveragePooling2D if pooling == "avg" else layers.GlobalMaxPooling2D)()(x)


def check_width(alpha, classes):
    """Refuse what leaves a layer without a single filter.

    Raises:
        ValueError: with the value received.
    """
    if not alpha * SMALLEST >= 1:
        raise ValueError("`alpha` should leave at least one filter of 32. Received alpha=%r" % (alpha,))
    if classes < 1:
        raise ValueError("`classes` should be at least 1. Received classes=%r" % (classes,))


def picture_shape(input_shape, input_size):
    """Settle the (height, width, channels) of a model that the worker builds.

    Args:
        input_shape: shape of the pictures at hand, or None.
        input_size: edge in pixels that was asked for, or None where any is meant.

    Raises:
        ValueError: the pictures are too small, or of another size than was asked for.
    """
    if input_shape is None:
        input_shape = (input_size or DEFAULT_SIZE, input_size or DEFAULT_SIZE, 3)
    shape = tuple(int(size) for size in input_shape)
    if len(shape) != 3:
        raise ValueError("input_shape must be (height, width, channels), got %r" % (input_shape,))
    if min(shape[:2]) < SMALLEST:
        raise ValueError(
            "this network needs pictures of at least %dx%d pixels, got %dx%d" % (SMALLEST, SMALLEST, *shape[:2])
        )
    if input_size is not None and shape[:2] != (input_size, input_size):
        raise ValueError("the pictures are %dx%d pixels, but input_size is %d" % (*shape[:2], input_size))
    return shape


def check_weights(published, weights, include_top, classes, alpha):
    """Refuse weights that do not exist, or that were never published for such a network.

    Raises:
        ValueError: with the value received.
    """
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


def check_activation(compat, activation, weights):
    """Refuse to put another activation than softmax or none on top of weights trained with softmax.

    Raises:
        ValueError: with the value received.
    """
    get = compat.keras.activations.get
    if weights is not None and get(activation) not in (get("softmax"), get(None)):
        raise ValueError(
            "With trained weights and include_top=True `classifier_activation` should be None or 'softmax'. "
            "Received classifier_activation=%s" % (activation,)
        )


def input_shape_of(compat, input_shape, weights, include_top, sizes, tensor_shape=None):
    """Settle a network's input shape, in the order of axes that this Keras is configured for.

    Args:
        compat: the Keras at hand.
        input_shape: as the caller gave it, or None.
        weights: as the caller gave it.
        include_top: whether there is a top, which wants to know the size.
        sizes: edges in pixels for which weights were published.
        tensor_shape: shape of the caller's input tensor, batch included, where it is to give the default size.

    Returns:
        Three sizes; height and width may be None in a network without a top.

    Raises:
        ValueError: with the value received.
    """
    first = channel_axis(compat) == 1
    if input_shape is not None:
        _check_shape(input_shape, first, weights)
    known = input_shape if input_shape is not None else tensor_shape[1:] if tensor_shape else (None, None, None)
    rows, columns, _ = _rows_first(known, first)
    size = rows if rows == columns and rows in sizes else DEFAULT_SIZE
    given = _rows_first(input_shape, first) if input_shape is not None else None
    channels = 3 if given is None or weights == "imagenet" else given[2]
    default = (size, size, channels)
    if include_top and weights == "imagenet" and given not in (None, default):
        raise ValueError(
            "With weights='imagenet' and include_top=True `input_shape` should be %s. Received input_shape=%s"
            % (_as_configured(default, first), tuple(input_shape))
        )
    if given is None:
        given = default if include_top else (None, None, 3)
    if include_top and None in given:
        raise ValueError(
            "With include_top=True `input_shape` should be three numbers. Received input_shape=%s" % (input_shape,)
        )
    return _as_configured(given, first)


def _check_shape(input_shape, first, weights):
    if len(input_shape) != 3:
        raise ValueError("`input_shape` should be three numbers. Received input_shape=%s" % (input_shape,))
    rows, columns, channels = _rows_first(input_shape, first)
    if channels != 3 and weights == "imagenet":
        raise ValueError("The input should have 3 channels. Received input_shape=%s" % (input_shape,))
    if channels not in (1, 3):
        warnings.warn("Pictures have 1 or 3 channels, this input has %s" % (channels,), stacklevel=4)
    if min(SMALLEST if size is None else size for size in (rows, columns)) < SMALLEST:
        raise ValueError(
            "The input should be at least %dx%d pixels. Received input_shape=%s" % (SMALLEST, SMALLEST, input_shape)
        )


def _rows_first(shape, channels_first):
    shape = tuple(shape)
    return (*shape[1:], shape[0]) if channels_first else shape


def _as_configured(shape, channels_first):
    return (shape[2], *shape[:2]) if channels_first else tuple(shape)


def published_size(compat, shape, sizes):
    """Edge in pixels of the published weights that serve an input shape; warns where there are none for it."""
    rows, columns, _ = _rows_first(shape, channel_axis(compat) == 1)
    if rows == columns and rows in sizes:
        return rows
    warnings.warn(
        "No weights were published for an input of shape %s; those for %d pixels are loaded" % (shape, DEFAULT_SIZE),
        stacklevel=4,
    )
    return DEFAULT_SIZE


def rows_of(compat, shape, weights, sizes):
    """Height of the pictures that a model is named after; of published weights, the size that they were made for."""
    if weights == "imagenet":
        return published_size(compat, shape, sizes)
    return shape[0] if channel_axis(compat) == -1 else shape[1]


def open_input(compat, input_tensor, shape):
    """The tensor a network starts from: a new input, or the caller's tensor."""
    make = compat.keras.layers.Input
    if input_tensor is None:
        return make(shape=shape)
    if compat.is_keras_tensor(input_tensor):
        return input_tensor
    return make(tensor=input_tensor, shape=shape)


def close(compat, inputs, input_tensor, outputs, name):
    """The model between two tensors, with all that comes before the caller's tensor."""
    if input_tensor is not None:
        inputs = compat.source_inputs(input_tensor)
    return compat.keras.models.Model(inputs=inputs, outputs=outputs, name=name)


def fill(compat, model, weights, published, alpha, size, include_top):
    """Load published weights, downloading them once, or those of a file."""
    if weights == "imagenet":
        name = published.file_name(alpha, size, include_top)
        weights = compat.keras.utils.get_file(name, published.address + name, cache_subdir="models")
    if weights is not None:
        model.load_weights(weights)
    return model

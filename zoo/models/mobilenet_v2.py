"""MobileNetV2: inverted residual blocks with 3x3 depthwise convolutions.

Sandler et al. 2018, https://arxiv.org/abs/1801.04381, Table 2: 3,538,984 parameters at full width. Layer names are
those of keras.applications, so that its weights fit.
"""

from zoo.models.layers import mobilenet_blocks as blocks
from zoo.models.preprocessing import to_symmetric as preprocess  # noqa: F401

# Rows of Table 2: expansion, output channels, number of blocks, stride of the first block.
STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
)  # fmt: skip
MOMENTUM = 0.999

PUBLISHED = blocks.Published(
    address="https://storage.googleapis.com/tensorflow/keras-applications/mobilenet_v2/",
    sizes=(96, 128, 160, 192, 224),
    alphas=(0.35, 0.5, 0.75, 1.0, 1.3, 1.4),
    file_name=lambda alpha, size, top: (
        "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_%s_%d%s.h5" % (float(alpha), size, "" if top else "_no_top")
    ),
)


def build(compat, input_shape=None, classes=1000, alpha=1.0, input_size=224, bn_momentum=MOMENTUM):
    """Build the network with its top, for images with the channels last.

    Args:
        input_shape: (height, width, channels) of one image, at least 32x32; None means input_size and RGB.
        alpha: width multiplier of the filters, which are rounded to multiples of eight.
        input_size: height and width of the images in pixels; None accepts any size.
        bn_momentum: momentum of the moving averages of batch normalization.

    Returns:
        A model from (batch, height, width, channels) float32 in -1..1 to (batch, classes) probabilities.
    """
    inputs = compat.keras.layers.Input(shape=blocks.fixed_input_shape(input_shape, input_size))
    x = _trunk(compat, inputs, alpha, classes, bn_momentum)
    x = _top(compat, x, classes, "softmax")
    return compat.keras.models.Model(inputs=inputs, outputs=x, name="mobilenet_v2")


def MobileNetV2(  # noqa: N802  (the name of the function it replaces)
    input_shape=None,
    alpha=1.0,
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    pooling=None,
    classes=1000,
    classifier_activation="softmax",
    name=None,
):
    """Build MobileNetV2; the arguments are the same as in ``keras.applications.MobileNetV2``.

    ``alpha`` is the width multiplier of the filters, which are rounded to multiples of eight. See
    :func:`zoo.models.mobilenet.MobileNet` for the remaining arguments and the result.
    """
    from zoo.models import compat

    blocks.check_weights(PUBLISHED, weights, include_top, classes, alpha)
    network = blocks.Network(
        published=PUBLISHED, alpha=alpha, name="mobilenetv2", trunk=lambda x: _trunk(compat, x, alpha, classes),
        top=lambda x, activation: _top(compat, x, classes, activation),
        tensor_shape=_tensor_shape(compat, input_tensor, input_shape),
    )  # fmt: skip
    return blocks.application(
        compat, network, include_top, weights, input_tensor, input_shape, pooling, classifier_activation, name
    )


def _tensor_shape(compat, input_tensor, input_shape):
    if input_tensor is None:
        return None
    if not compat.is_keras_tensor(input_tensor):
        raise ValueError("`input_tensor` should be a Keras tensor. Received input_tensor=%r" % (input_tensor,))
    shape = compat.static_shape(input_tensor)
    if input_shape is not None and shape[1:] != tuple(input_shape):
        raise ValueError(
            "`input_shape` differs from the shape of `input_tensor`, %s: input_shape=%s" % (shape[1:], input_shape)
        )
    return shape


def _trunk(compat, x, alpha, classes, momentum=MOMENTUM):
    blocks.check_width(alpha, classes)
    x = blocks.conv(compat, x, rounded(32 * alpha), "Conv1", size=3, stride=2)
    x = blocks.batch_norm(compat, x, "bn_Conv1", momentum, compat.relu6("Conv1_relu"))
    channels, number = rounded(32 * alpha), 0
    for expansion, filters, repeats, first_stride in STAGES:
        for repeat in range(repeats):
            outputs, stride = rounded(int(filters * alpha)), first_stride if repeat == 0 else 1
            x = _bottleneck(compat, x, number, channels, outputs, expansion, stride, momentum)
            channels, number = outputs, number + 1
    x = blocks.conv(compat, x, rounded(1280 * max(1.0, alpha)), "Conv_1")
    return blocks.batch_norm(compat, x, "Conv_1_bn", momentum, compat.relu6("out_relu"))


def rounded(filters):
    """Round to a multiple of eight that is at least eight and at most 10 % below the number."""
    nearest = max(8, int(filters + 4) // 8 * 8)
    return nearest if nearest >= 0.9 * filters else nearest + 8


def _bottleneck(compat, x, number, channels, filters, expansion, stride, momentum):
    """Expand, convolve depthwise, project; add the input if the shapes agree."""
    before, prefix = x, "block_%d_" % number if number else "expanded_conv_"
    if number:
        x = blocks.conv(compat, x, expansion * channels, prefix + "expand")
        x = blocks.batch_norm(compat, x, prefix + "expand_BN", momentum, compat.relu6(prefix + "expand_relu"))
    if stride != 1:
        x = compat.keras.layers.ZeroPadding2D(_padding(compat, x), name=prefix + "pad")(x)
    x = blocks.depthwise_conv(compat, x, prefix + "depthwise", stride)
    x = blocks.batch_norm(compat, x, prefix + "depthwise_BN", momentum, compat.relu6(prefix + "depthwise_relu"))
    x = blocks.conv(compat, x, filters, prefix + "project")
    x = blocks.batch_norm(compat, x, prefix + "project_BN", momentum)
    if stride == 1 and channels == filters:
        x = compat.keras.layers.Add(name=prefix + "add")([before, x])
    return x


def _padding(compat, x):
    """Return the padding for a 3x3 convolution of stride 2; even sizes are padded only at the end."""
    shape = compat.static_shape(x)
    sizes = shape[2:] if blocks.channel_axis(compat) == 1 else shape[1:3]
    return tuple((1 if size is not None and size % 2 else 0, 1) for size in sizes)


def _top(compat, x, classes, activation):
    x = compat.keras.layers.GlobalAveragePooling2D()(x)
    return compat.keras.layers.Dense(classes, activation=activation, name="predictions", **compat.full_precision())(x)

"""MobileNet v1: 3x3 depthwise convolutions, each followed by a 1x1 convolution.

Howard et al. 2017, https://arxiv.org/abs/1704.04861, Table 1: 4,253,864 parameters at full width. Layer names are
those of keras.applications, so that its weights fit.
"""

from zoo.models.layers import mobilenet_blocks as blocks
from zoo.models.preprocessing import to_symmetric as preprocess  # noqa: F401

# Filters and stride of the thirteen separable blocks.
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))

_ALPHA_NAMES = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0", 0.25: "2_5"}

MOMENTUM = 0.99

PUBLISHED = blocks.Published(
    address="https://storage.googleapis.com/tensorflow/keras-applications/mobilenet/",
    sizes=(128, 160, 192, 224),
    alphas=(0.25, 0.5, 0.75, 1.0),
    file_name=lambda alpha, size, top: (
        "mobilenet_%s_%d_tf%s.h5" % (_ALPHA_NAMES[alpha], size, "" if top else "_no_top")
    ),
)


def build(
    compat, input_shape=None, classes=1000, alpha=1.0, depth_multiplier=1, dropout=0.001, input_size=224,
    activation="relu6", bn_momentum=MOMENTUM,
):  # fmt: skip
    """Build the network with its top, for images with the channels last.

    Args:
        input_shape: (height, width, channels) of one image, at least 32x32; None means input_size and RGB.
        alpha: width multiplier of the filters in every layer.
        depth_multiplier: number of depthwise outputs for each channel.
        dropout: share of features dropped before the last layer, 0 <= dropout < 1.
        input_size: height and width of the images in pixels; None accepts any size.
        activation: relu6, as published, or relu, which some other trained networks use.
        bn_momentum: momentum of the moving averages of batch normalization.

    Returns:
        A model from (batch, height, width, channels) float32 in -1..1 to (batch, classes) probabilities.
    """
    inputs = compat.keras.layers.Input(shape=blocks.fixed_input_shape(input_shape, input_size))
    x = _trunk(compat, inputs, alpha, depth_multiplier, classes, _activation_layer(compat, activation), bn_momentum)
    x = _top(compat, x, alpha, classes, dropout, "softmax")
    return compat.keras.models.Model(inputs=inputs, outputs=x, name="mobilenet")


def MobileNet(  # noqa: N802  (the name of the function it replaces)
    input_shape=None,
    alpha=1.0,
    depth_multiplier=1,
    dropout=1e-3,
    include_top=True,
    weights="imagenet",
    input_tensor=None,
    pooling=None,
    classes=1000,
    classifier_activation="softmax",
    name=None,
):
    """Build MobileNet; the arguments are the same as in ``keras.applications.MobileNet``.

    Args:
        input_shape: shape of one image, at least 32 by 32; None means 224 by 224, or any size without a top.
        alpha: width multiplier of the filters in every layer.
        depth_multiplier: number of depthwise outputs for each channel.
        dropout: dropout rate before the last layer.
        include_top: whether the model ends in class probabilities; without a top it ends in feature maps.
        weights: ``"imagenet"``, a file that this Keras can load, or None for random numbers.
        input_tensor: Keras tensor to use as the input.
        pooling: without a top: None, ``"avg"`` or ``"max"`` over the feature maps.
        classes: number of outputs of the top.
        classifier_activation: activation of the top; None gives logits.

    Returns:
        An uncompiled model; its input is RGB in -1..1.
    """
    from zoo.models import compat

    blocks.check_weights(PUBLISHED, weights, include_top, classes, alpha)
    if weights == "imagenet" and depth_multiplier != 1:
        raise ValueError(
            "With weights='imagenet' `depth_multiplier` should be 1. Received depth_multiplier=%s" % depth_multiplier
        )
    network = blocks.Network(
        published=PUBLISHED,
        alpha=alpha,
        name="mobilenet",
        trunk=lambda x: _trunk(compat, x, alpha, depth_multiplier, classes, compat.relu6),
        top=lambda x, activation: _top(compat, x, alpha, classes, dropout, activation),
        tensor_shape=None,
    )
    return blocks.application(
        compat, network, include_top, weights, input_tensor, input_shape, pooling, classifier_activation, name
    )


def _activation_layer(compat, activation):
    if activation not in ("relu6", "relu"):
        raise ValueError("`activation` should be relu6 or relu. Received activation=%r" % (activation,))
    if activation == "relu6":
        return compat.relu6
    return lambda name: compat.keras.layers.Activation("relu", name=name)


def _trunk(compat, x, alpha, depth_multiplier, classes, activation, momentum=MOMENTUM):
    blocks.check_width(alpha, classes)
    x = blocks.conv(compat, x, int(32 * alpha), "conv1", size=3, stride=2)
    x = blocks.batch_norm(compat, x, "conv1_bn", momentum, activation("conv1_relu"))
    for number, (filters, stride) in enumerate(BLOCKS, 1):
        if stride != 1:
            x = compat.keras.layers.ZeroPadding2D(((0, 1), (0, 1)), name="conv_pad_%d" % number)(x)
        x = blocks.depthwise_conv(compat, x, "conv_dw_%d" % number, stride, depth_multiplier)
        x = blocks.batch_norm(compat, x, "conv_dw_%d_bn" % number, momentum, activation("conv_dw_%d_relu" % number))
        x = blocks.conv(compat, x, int(filters * alpha), "conv_pw_%d" % number)
        x = blocks.batch_norm(compat, x, "conv_pw_%d_bn" % number, momentum, activation("conv_pw_%d_relu" % number))
    return x


def _top(compat, x, alpha, classes, dropout, activation):
    """End in a 1x1 convolution instead of a dense layer, as published."""
    layers = compat.keras.layers
    if not 0 <= dropout < 1:
        raise ValueError("`dropout` should be at least 0 and below 1. Received dropout=%r" % (dropout,))
    x = compat.spatial_mean(x, int(BLOCKS[-1][0] * alpha))
    x = compat.dropout(dropout, "dropout")(x)
    x = layers.Conv2D(classes, (1, 1), padding="same", name="conv_preds")(x)
    x = layers.Reshape((classes,), name="reshape_2")(x)
    return layers.Activation(activation, name="predictions", **compat.full_precision())(x)

"""Style transfer in one pass, for any painting: a predictor analyzes the painting, a transformer restyles the photo.

Ghiasi et al. 2017, https://arxiv.org/abs/1705.06830, as published in a small form for phones. The trunk of a
MobileNetV2 turns a painting of 256 x 256 pixels into 100 numbers. These give the shift and scale of each instance
normalization of a feed-forward network (conditional instance normalization, Dumoulin et al. 2016,
https://arxiv.org/abs/1610.07629). The batch normalizations of the published network are folded into its kernels.
"""

import numpy as np

from zoo.models.mobilenet_v2 import STAGES
from zoo.models.style_transfer import fast

# Height and width of a painting, and length of the vector that describes its style.
PAINTING, NUMBERS = 256, 100
FILTERS, BLOCKS, KERNEL_SIZE = 8, 5, 9
# sigmoid(x) * 255 is 127.5 + 127.5 tanh(x / 2).
COLORS = fast.Colors(127.5, 0.5)
EPSILON = 1e-5
LEAST_EDGE = fast.LEAST_EDGE
# Prefix of the predictor's layers.
PREDICTOR = "predict_"


def stages():
    """List the convolutions of the transformer, as :func:`zoo.models.style_transfer.fast.stages` does."""
    return fast.chain(FILTERS, BLOCKS, KERNEL_SIZE, "repeat", mirror=True, first_norm="shift")


def build(compat, input_shape=(None, None, 3), initializer="zeros"):
    """Build the transformer, from RGB 0..255 to RGB 0..255 of the same shape; :func:`apply_style` sets its style.

    ``input_shape`` is (height, width, 3) of one image, multiples of 4, at least 16; None accepts any.
    """
    return fast.assemble(compat, stages(), input_shape, initializer, COLORS, EPSILON)


def build_predictor(compat):
    """Build the predictor, which maps paintings (batch, 256, 256, 3), RGB 0..1, to (batch, 100)."""
    layers = compat.keras.layers
    inputs = layers.Input(shape=(PAINTING, PAINTING, 3))
    x = _convolve(compat, inputs, 32, "conv", 2, size=3)
    channels, number = 32, 0
    for expansion, filters, count, stride in STAGES:
        for index in range(count):
            step = stride if index == 0 else 1
            name = "block%d_" % number
            out = x if expansion == 1 else _convolve(compat, x, expansion * channels, name + "expand")
            out = _convolve(compat, out, None, name + "depthwise", step, size=3)
            out = _convolve(compat, out, filters, name + "project", clipped=False)
            x = layers.add([x, out], name=PREDICTOR + "block%d" % number) if step == 1 and index else out
            channels, number = filters, number + 1
    x = _convolve(compat, x, 1280, "last")
    x = layers.GlobalAveragePooling2D(name=PREDICTOR + "mean")(x)
    x = layers.Dense(NUMBERS, name=PREDICTOR + "style", kernel_initializer="zeros")(x)
    return compat.keras.models.Model(inputs=inputs, outputs=x, name="style_predictor")


def _convolve(compat, x, filters, name, stride=1, size=1, clipped=True):
    """Convolve with the padding of TensorFlow's "SAME", depthwise if ``filters`` is None; clip to 0..6."""
    layers = compat.keras.layers
    if stride == 2:
        x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=PREDICTOR + name + "_pad")(x)
    form = {"strides": (stride, stride), "padding": "same" if stride == 1 else "valid", "name": PREDICTOR + name}
    if filters is None:
        x = layers.DepthwiseConv2D((size, size), depthwise_initializer="zeros", **form)(x)
    else:
        x = layers.Conv2D(filters, (size, size), kernel_initializer="zeros", **form)(x)
    return compat.relu6(PREDICTOR + name + "_relu")(x) if clipped else x


def apply_style(compat, model, arrays, style):
    """Set the style of the transformer, through its instance normalizations.

    Args:
        arrays: the weights, with ``LAYER_style/shift_kernel``, ``/shift_bias``, ``/scale_kernel`` and
            ``/scale_bias`` of each normalization.
        style: (100,), an output of the predictor, or a mean of several outputs.
    """
    for stage in stages():
        if stage.norm == "instance":
            shift, scale = (
                style.dot(arrays["%s_style/%s_kernel" % (stage.name, part)])
                + arrays["%s_style/%s_bias" % (stage.name, part)]
                for part in ("shift", "scale")
            )
            model.get_layer(stage.name + "_norm").set_weights([np.float32(shift), np.float32(scale)])
    compat.forget_compiled(model)

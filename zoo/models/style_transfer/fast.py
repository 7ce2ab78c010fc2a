"""Feed-forward network that renders images in the style of one painting.

Johnson, Alahi, Li 2016, https://arxiv.org/abs/1603.08155, in the form of its published networks: instance instead of
batch normalization, zero padding, output 150 tanh(x) + 127.5. Two of the first three convolutions halve the image.
Residual blocks, two transposed convolutions and a last convolution follow. It has 1,674,854 weights with 32 filters
and five blocks. Transposed convolutions leave checkerboard artifacts until long training removes them (Odena et al.
2016, https://distill.pub/2016/deconv-checkerboard). ``upsampling="nearest"`` repeats values and convolves instead.
With zero padding the network can detect edges of the image, and learns to paint a frame there. ``"nearest"`` pads by
reflection instead; no published network uses it.
"""

from collections import namedtuple

import numpy as np

from zoo.models.preprocessing import to_float32 as preprocess  # noqa: F401

# One convolution: ``kind`` is "same" (stride 1), "halve" (stride 2), "double" (transposed, stride 2), or "repeat"
# (stride 1, after nearest-neighbor upsampling). ``mirror`` pads by reflection instead of with zeros. ``norm`` is the
# next layer: "instance" normalization, or "shift", a bias.
Stage = namedtuple("Stage", "name kind size filters mirror norm")
# The colors of the network: 127.5 + gain * tanh(rate * x).
Colors = namedtuple("Colors", "gain rate")
COLORS = Colors(150.0, 1.0)
EPSILON = 1e-3

# Height and width of the images must be multiples of this.
GRAIN = 4
# Smallest height and width; smaller images have too few pixels to reflect for the largest kernel.
LEAST_EDGE = 16

UPSAMPLING = {"transposed": "double", "nearest": "repeat"}


def stages(filters=32, blocks=5, kernel_size=9, upsampling="transposed"):
    """List the convolutions in order, as :class:`Stage`.

    Args:
        filters: filters of the first convolution; the next two have two and four times as many.
        blocks: number of residual blocks of two convolutions each.
        kernel_size: size in pixels of the first and the last kernel, odd.
        upsampling: ``"transposed"``, padded with zeros, or ``"nearest"``, padded by reflection.
    """
    for name, value, least in (("filters", filters, 1), ("blocks", blocks, 0), ("kernel_size", kernel_size, 1)):
        if value < least:
            raise ValueError("`%s` should be at least %d. Received %s=%s" % (name, least, name, value))
    if kernel_size % 2 == 0:
        raise ValueError("`kernel_size` should be odd. Received kernel_size=%s" % (kernel_size,))
    if upsampling not in UPSAMPLING:
        raise ValueError("`upsampling` should be one of %s. Received %r" % (", ".join(UPSAMPLING), upsampling))
    return chain(filters, blocks, kernel_size, UPSAMPLING[upsampling], mirror=upsampling == "nearest")


def chain(filters, blocks, kernel_size, doubling, mirror=False, first_norm="instance"):
    """List the convolutions; :func:`stages` explains the first three arguments.

    Args:
        doubling: ``kind`` of the two upsampling stages.
        mirror: pad every stage by reflection.
        first_norm: ``norm`` of the first three stages.
    """

    def stage(name, kind, size, filters, norm="instance"):
        return Stage(name, kind, size, filters, mirror, norm)

    wide = 4 * filters
    down = [stage("conv1", "same", kernel_size, filters, first_norm)]
    down += [stage("conv2", "halve", 3, 2 * filters, first_norm), stage("conv3", "halve", 3, wide, first_norm)]
    residual = [stage("block%d_%s" % (n, half), "same", 3, wide) for n in range(1, blocks + 1) for half in "ab"]
    up = [stage("up1", doubling, 3, 2 * filters), stage("up2", doubling, 3, filters)]
    return [*down, *residual, *up, stage("output", "same", kernel_size, 3)]


def build(
    compat, filters=32, blocks=5, kernel_size=9, upsampling="transposed", input_shape=(None, None, 3),
    initializer="glorot_uniform",
):  # fmt: skip
    """Build the network.

    Args:
        filters, blocks, kernel_size, upsampling: see :func:`stages`.
        input_shape: (height, width, 3) of one image, multiples of 4, at least 16; None accepts any.
        initializer: of the kernels; use ``"zeros"`` before loading weights, because JAX needs seconds per layer to
            draw them.

    Returns:
        A model from (batch, height, width, 3) RGB 0..255 to RGB of the same shape, which may exceed 0..255.
    """
    return assemble(compat, stages(filters, blocks, kernel_size, upsampling), input_shape, initializer)


def assemble(compat, chain, input_shape, initializer, colors=COLORS, epsilon=EPSILON):
    """Build a network of the stages in ``chain``; ``epsilon`` is added to the variances. See :func:`build`."""
    from zoo.models.compat.tensors import tanh
    from zoo.models.layers.images import InstanceNormalization, Shift

    inputs = compat.keras.layers.Input(shape=tuple(input_shape))
    x = inputs
    for stage in chain:
        if stage.name.endswith("_a"):
            start = x
        x = _convolve(compat, x, stage, _convolution(compat, stage, initializer))
        name = stage.name + "_norm"
        norm = InstanceNormalization(name=name, epsilon=epsilon) if stage.norm == "instance" else Shift(name=name)
        x = norm(x)
        if stage.name.endswith("_b"):
            x = compat.keras.layers.add([start, x], name=stage.name[:-2])
        elif stage.name != "output":
            x = compat.keras.layers.Activation("relu", name=stage.name + "_relu")(x)

    def color(x):
        return tanh(x * colors.rate) * colors.gain + 127.5

    x = compat.lambda_layer(color, x, (*input_shape[:2], 3), "colours")
    return compat.keras.models.Model(inputs=inputs, outputs=x, name="style_network")


def range_of(painting):
    """Return mean and standard deviation of the colors of a painting before the tanh, (3,) float32 each.

    ``painting`` is (height, width, 3) RGB 0..255. As shift and scale of the last normalization, the values give
    results the colors of the painting.
    """
    before = np.arctanh((painting.reshape(-1, 3) - 127.5) / 150.0)
    return before.mean(axis=0).astype(np.float32), before.std(axis=0).astype(np.float32)


def _convolution(compat, stage, initializer):
    """Create the convolution of a stage, with padding that is the same in every framework."""
    from zoo.models.layers.spatial import Convolution

    layer = compat.keras.layers.Conv2DTranspose if stage.kind == "double" else Convolution
    whole = stage.kind in ("same", "repeat")
    return layer(
        stage.filters, (stage.size, stage.size), strides=(1, 1) if whole else (2, 2),
        padding="same" if whole and not stage.mirror else "valid", use_bias=False, kernel_initializer=initializer,
        name=stage.name,
    )  # fmt: skip


def _convolve(compat, x, stage, layer):
    """Apply a stage's convolution with the padding of TensorFlow's "SAME" for images of even size.

    Keras on PyTorch shifts a padded transposed convolution by a pixel, so it is computed unpadded and cropped.
    """
    from zoo.models.layers.images import MirrorPadding

    layers = compat.keras.layers
    if stage.kind == "repeat":
        x = layers.UpSampling2D((2, 2))(x)
    if stage.mirror:
        x = MirrorPadding(stage.size // 2)(x)
    elif stage.kind == "halve":
        x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    x = layer(x)
    return layers.Cropping2D(((0, 1), (0, 1)))(x) if stage.kind == "double" else x


def part(compat, model, chain, raw=False):
    """Build a model of consecutive stages whose normalizations take their statistics as inputs, to compute in tiles.

    Args:
        model: from :func:`build`; the two share their kernels.
        raw: the input is the output of a convolution; apply normalization and ReLU to it first.

    Returns:
        A model from [x, scale, shift, ...], with a (1, 1, channels) scale and shift for each normalization, to the
        output of the last convolution before its normalization.
    """
    layers = compat.keras.layers
    inputs = [layers.Input(shape=(None, None, _channels_in(model, chain[0])))]
    x = inputs[0]
    for stage in chain:
        if raw or stage is not chain[0]:
            statistics = [layers.Input(shape=(1, 1, _channels_in(model, stage))) for _ in ("scale", "shift")]
            inputs += statistics
            shape = (None, None, _channels_in(model, stage))
            x = compat.lambda_layer(lambda parts: parts[0] * parts[1] + parts[2], [x, *statistics], shape)
            x = layers.Activation("relu")(x)
        x = _convolve(compat, x, stage, model.get_layer(stage.name))
    return compat.keras.models.Model(inputs=inputs, outputs=x)


def _channels_in(model, stage):
    shape = model.get_layer(stage.name).get_weights()[0].shape
    return int(shape[3] if stage.kind == "double" else shape[2])

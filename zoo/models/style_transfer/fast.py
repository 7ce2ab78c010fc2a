"""The feed-forward style network: it renders a picture in the style of one painting.

Johnson, Alahi, Li 2016, https://arxiv.org/abs/1603.08155, as its trained networks were published: instance instead
of batch normalization, zero padding, output 150 tanh(x) + 127.5. Three convolutions, of which two halve the picture,
residual blocks, two transposed convolutions, a last convolution; 1,674,854 weights at 32 filters and five blocks.
Transposed convolutions leave checkerboard artifacts until they are trained for long (Odena et al. 2016,
https://distill.pub/2016/deconv-checkerboard): ``upsampling="nearest"`` repeats every value instead, and convolves.
"""

from collections import namedtuple

from zoo.models.preprocessing import to_float32 as preprocess  # noqa: F401

# One convolution: ``kind`` is "same" (stride 1), "halve" (stride 2), "double" (transposed, stride 2), or "repeat"
# (stride 1, after nearest-neighbor upsampling).
Stage = namedtuple("Stage", "name kind size filters")

# Height and width of the pictures must be multiples of this.
GRAIN = 4

UPSAMPLING = {"transposed": "double", "nearest": "repeat"}


def stages(filters=32, blocks=5, kernel_size=9, upsampling="transposed"):
    """List the convolutions in their order.

    Args:
        filters: filters of the first convolution; the others have two and four times as many.
        blocks: number of residual blocks of two convolutions each.
        kernel_size: size in pixels of the first and the last kernel, odd.
        upsampling: ``"transposed"`` or ``"nearest"``.

    Returns:
        List of :class:`Stage`.

    Raises:
        ValueError: with the value received.
    """
    for name, value, least in (("filters", filters, 1), ("blocks", blocks, 0), ("kernel_size", kernel_size, 1)):
        if value < least:
            raise ValueError("`%s` should be at least %d. Received %s=%s" % (name, least, name, value))
    if kernel_size % 2 == 0:
        raise ValueError("`kernel_size` should be odd. Received kernel_size=%s" % (kernel_size,))
    if upsampling not in UPSAMPLING:
        raise ValueError("`upsampling` should be one of %s. Received %r" % (", ".join(UPSAMPLING), upsampling))
    kind = UPSAMPLING[upsampling]
    down = [Stage("conv1", "same", kernel_size, filters), Stage("conv2", "halve", 3, 2 * filters)]
    down.append(Stage("conv3", "halve", 3, 4 * filters))
    residual = [
        Stage("block%d_%s" % (n, half), "same", 3, 4 * filters) for n in range(1, blocks + 1) for half in "ab"
    ]
    up = [Stage("up1", kind, 3, 2 * filters), Stage("up2", kind, 3, filters)]
    return [*down, *residual, *up, Stage("output", "same", kernel_size, 3)]


def build(
    compat,
    filters=32,
    blocks=5,
    kernel_size=9,
    upsampling="transposed",
    input_shape=(None, None, 3),
    initializer="glorot_uniform",
):
    """Build the network.

    Args:
        compat: the package ``zoo.models.compat``.
        filters, blocks, kernel_size, upsampling: see :func:`stages`.
        input_shape: (height, width, 3) of one picture, multiples of 4; None is any.
        initializer: initializer of the kernels; use ``"zeros"`` if weights are loaded next, since drawing takes JAX
            seconds a layer.

    Returns:
        A model from (batch, height, width, 3) RGB 0..255 to RGB of the same shape, which may exceed 0..255.

    Raises:
        ValueError: with the value received.
    """
    from zoo.models.compat.tensors import tanh

    inputs = compat.keras.layers.Input(shape=tuple(input_shape))
    x = inputs
    for stage in stages(filters, blocks, kernel_size, upsampling):
        if stage.name.endswith("_a"):
            start = x
        x = _normalize(compat, _convolve(compat, x, stage, _convolution(compat, stage, initializer)), stage)
        if stage.name.endswith("_b"):
            x = compat.keras.layers.add([start, x], name=stage.name[:-2])
        elif stage.name != "output":
            x = compat.keras.layers.Activation("relu", name=stage.name + "_relu")(x)
    x = compat.lambda_layer(lambda x: tanh(x) * 150.0 + 127.5, x, (*input_shape[:2], 3), "colours")
    return compat.keras.models.Model(inputs=inputs, outputs=x, name="style_network")


def _convolution(compat, stage, initializer):
    """Create the convolution of a stage, with padding that means the same in every framework."""
    from zoo.models.layers.spatial import Convolution

    layer = compat.keras.layers.Conv2DTranspose if stage.kind == "double" else Convolution
    return layer(
        stage.filters,
        (stage.size, stage.size),
        strides=(1, 1) if stage.kind in ("same", "repeat") else (2, 2),
        padding="same" if stage.kind in ("same", "repeat") else "valid",
        use_bias=False,
        kernel_initializer=initializer,
        name=stage.name,
    )


def _convolve(compat, x, stage, layer):
    """Apply a stage's convolution with the padding of TensorFlow's "SAME" for pictures of even size.

    Keras on PyTorch shifts the result of a padded transposed convolution by a pixel: it is computed without padding
    and cropped instead.
    """
    layers = compat.keras.layers
    if stage.kind == "halve":
        x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    if stage.kind == "repeat":
        x = layers.UpSampling2D((2, 2))(x)
    x = layer(x)
    return layers.Cropping2D(((0, 1), (0, 1)))(x) if stage.kind == "double" else x


def _normalize(compat, x, stage):
    from zoo.models.layers.instance_norm import InstanceNormalization

    return InstanceNormalization(name=stage.name + "_norm")(x)


def part(compat, model, chain, raw=False):
    """Build a model of consecutive stages whose normalizations take their statistics as inputs.

    Large pictures are computed in tiles with it.

    Args:
        compat: the package ``zoo.models.compat``.
        model: from :func:`build`; the two share their kernels.
        chain: the stages.
        raw: the input is the output of a convolution, and is normalized and clipped at zero first.

    Returns:
        A model from [x, scale, shift, ...], with one (1, 1, channels) scale and shift for each normalization on the
        way, to the output of the last convolution, not yet normalized.
    """
    layers = compat.keras.layers
    channels = _channels_in(model, chain[0])
    inputs = [layers.Input(shape=(None, None, channels))]
    x = inputs[0]
    for stage in chain:
        if raw or stage is not chain[0]:
            statistics = [layers.Input(shape=(1, 1, _channels_in(model, stage))) for _ in ("scale", "shift")]
            inputs += statistics
            shape = (None, None, _channels_in(model, stage))
            x = layers.Activation("relu")(compat.lambda_layer(_affine, [x, *statistics], shape))
        x = _convolve(compat, x, stage, model.get_layer(stage.name))
    return compat.keras.models.Model(inputs=inputs, outputs=x)


def _affine(inputs):
    x, scale, shift = inputs
    return x * scale + shift


def _channels_in(model, stage):
    shape = model.get_layer(stage.name).get_weights()[0].shape
    return int(shape[3] if stage.kind == "double" else shape[2])

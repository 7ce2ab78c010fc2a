"""The feed-forward style network: a picture goes in, the same picture in the style of one painting comes out.

Johnson, Alahi, Li 2016, https://arxiv.org/abs/1603.08155, as trained networks of it were published: instance instead
of batch normalisation, zeros around the edges, output 150 tanh(x) + 127.5. Three convolutions, of which two halve the
picture, residual blocks, two transposed convolutions, a last convolution; 1,674,854 weights at 32 filters and five
blocks. Transposed convolutions leave a grid in what they draw until they have learnt for long (Odena et al. 2016,
https://distill.pub/2016/deconv-checkerboard): ``upsampling="nearest"`` repeats every value instead, and convolves.
"""

from collections import namedtuple

# One convolution: ``kind`` is "same" (stride 1), "halve" (stride 2), "double" (transposed, stride 2), or "repeat"
# (stride 1, after every value was repeated).
Stage = namedtuple("Stage", "name kind size filters")

# Rows and columns of the pictures must be a multiple of this.
GRAIN = 4

UPSAMPLING = {"transposed": "double", "nearest": "repeat"}


def preprocess(pixels):
    """Pictures are taken as they are stored, 0..255."""
    import numpy as np

    return np.asarray(pixels, dtype=np.float32)


def stages(filters=32, blocks=5, kernel_size=9, upsampling="transposed"):
    """The convolutions in their order.

    Args:
        filters: of the first one; the others have two and four times as many.
        blocks: residual blocks of two convolutions each.
        kernel_size: edge in pixels of the first and the last kernel, odd.
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
        compat: the Keras at hand, ``zoo.models.compat``.
        filters: see :func:`stages`.
        blocks: see :func:`stages`.
        kernel_size: see :func:`stages`.
        upsampling: see :func:`stages`.
        input_shape: (rows, columns, 3) of one picture, multiples of 4; None is any.
        initializer: of the kernels; ``"zeros"`` where they are loaded next, since drawing takes JAX seconds a layer.

    Returns:
        A model from (batch, rows, columns, 3) RGB 0..255 to RGB of the same shape, which may lie outside 0..255.

    Raises:
        ValueError: with the value received.
    """
    inputs = compat.keras.layers.Input(shape=tuple(input_shape))
    x = inputs
    for stage in stages(filters, blocks, kernel_size, upsampling):
        if stage.name.endswith("_a"):
            start = x
        x = _normalise(compat, _convolve(compat, x, stage, _convolution(compat, stage, initializer)), stage)
        if stage.name.endswith("_b"):
            x = compat.keras.layers.add([start, x], name=stage.name[:-2])
        elif stage.name != "output":
            x = compat.keras.layers.Activation("relu", name=stage.name + "_relu")(x)
    x = compat.computed(lambda x: compat.ops.tanh(x) * 150.0 + 127.5, x, (*input_shape[:2], 3), "colours")
    return compat.keras.models.Model(inputs=inputs, outputs=x, name="style_network")


def _convolution(compat, stage, initializer):
    """The layer that holds a stage's kernel. Its padding says the same to every framework."""
    from zoo.models.layers.spatial import Convolution

    make = compat.keras.layers.Conv2DTranspose if stage.kind == "double" else Convolution
    return make(
        stage.filters,
        (stage.size, stage.size),
        strides=(1, 1) if stage.kind in ("same", "repeat") else (2, 2),
        padding="same" if stage.kind in ("same", "repeat") else "valid",
        use_bias=False,
        kernel_initializer=initializer,
        name=stage.name,
    )


def _convolve(compat, x, stage, layer):
    """Apply a stage's kernel, with the zeros that TensorFlow's "SAME" puts around pictures of even size.

    PyTorch cannot crop a transposed convolution so, and Keras on it shifts the result by a pixel: hence without
    padding, and cropped.
    """
    layers = compat.keras.layers
    if stage.kind == "halve":
        x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    if stage.kind == "repeat":
        x = layers.UpSampling2D((2, 2))(x)
    x = layer(x)
    return layers.Cropping2D(((0, 1), (0, 1)))(x) if stage.kind == "double" else x


def _normalise(compat, x, stage):
    from zoo.models.layers.instance_norm import InstanceNormalization

    return InstanceNormalization(name=stage.name + "_norm")(x)


def part(compat, model, chain, raw=False):
    """Some consecutive stages of a built network, with statistics of the normalisations that are told, not measured.

    Large pictures are computed piece by piece with it.

    Args:
        compat: the Keras at hand.
        model: from :func:`build`; the kernels are shared with it.
        chain: the stages.
        raw: the input is the output of a kernel, and is normalised and clipped at zero first.

    Returns:
        A model from [x, scale, shift, ...], with one (1, 1, channels) scale and shift for each normalisation on the
        way, to the output of the last kernel, not yet normalised.
    """
    layers = compat.keras.layers
    channels = _channels_in(model, chain[0])
    inputs = [layers.Input(shape=(None, None, channels))]
    x = inputs[0]
    for stage in chain:
        if raw or stage is not chain[0]:
            told = [layers.Input(shape=(1, 1, _channels_in(model, stage))) for _ in ("scale", "shift")]
            inputs += told
            shape = (None, None, _channels_in(model, stage))
            x = layers.Activation("relu")(compat.computed(_affine, [x, *told], shape))
        x = _convolve(compat, x, stage, model.get_layer(stage.name))
    return compat.keras.models.Model(inputs=inputs, outputs=x)


def _affine(inputs):
    x, scale, shift = inputs
    return x * scale + shift


def _channels_in(model, stage):
    shape = model.get_layer(stage.name).get_weights()[0].shape
    return int(shape[3] if stage.kind == "double" else shape[2])

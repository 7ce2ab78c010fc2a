"""The convolutions of VGG: 3x3, in five blocks with a pooling between them.

Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556, columns D and E of Table 1. Names of layers are those of
keras.applications, and so its weights fit.
"""

from zoo.models.features import caffe

WIDTHS = (64, 128, 256, 512, 512)


def layer_names(depths):
    """Names of all convolutions, first to last.

    Args:
        depths: number of convolutions in each of the five blocks.
    """
    return tuple(
        "block%d_conv%d" % (block, turn)
        for block, depth in enumerate(depths, start=1)
        for turn in range(1, depth + 1)
    )


def trunk(compat, x, layers, depths):
    """Lay the convolutions up to the last wanted one over a tensor of pictures.

    Returns:
        ``{layer: feature map}``, and the weights of the fixed layer.
    """
    from zoo.models.layers import spatial

    x, fixed = caffe.prepare(compat, x)
    wanted, found = set(layers), {}
    for name in layer_names(depths):
        if wanted <= set(found):
            break
        block = int(name[5])
        if name.endswith("conv1") and block > 1:
            x = spatial.MaxPooling((2, 2), strides=(2, 2), name="block%d_pool" % (block - 1))(x)
        make = spatial.Convolution(WIDTHS[block - 1], (3, 3), padding="same", activation="relu", name=name)
        x = found[name] = make(x)
    return found, fixed

"""VGG16: VGG19 with one convolution less in each of the last three blocks; Johnson et al. 2016 compare with it."""

from zoo.models.features import vgg

DEPTHS = (2, 2, 3, 3, 3)
LAYERS = vgg.layer_names(DEPTHS)
STYLE = ("block1_conv1", "block2_conv1", "block3_conv1", "block4_conv1", "block5_conv1")
CONTENT = ("block5_conv2",)


def trunk(compat, x, layers, seed):
    """As :func:`zoo.models.features.vgg.trunk`; there is nothing to draw, so the seed is not used."""
    return vgg.trunk(compat, x, layers, DEPTHS)

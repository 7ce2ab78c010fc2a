"""VGG19, the network of Gatys et al. 2015 (https://arxiv.org/abs/1508.06576)."""

from zoo.models.features import vgg

DEPTHS = (2, 2, 4, 4, 4)
LAYERS = vgg.layer_names(DEPTHS)
STYLE = ("block1_conv1", "block2_conv1", "block3_conv1", "block4_conv1", "block5_conv1")
CONTENT = ("block5_conv2",)


def trunk(compat, x, layers, seed):
    """As :func:`zoo.models.features.vgg.trunk`; there is nothing to draw, so the seed is not used."""
    return vgg.trunk(compat, x, layers, DEPTHS)

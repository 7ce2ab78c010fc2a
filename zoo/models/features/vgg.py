"""VGG16 and VGG19 without their tops: 3x3 convolutions in five blocks, with pooling between the blocks.

Simonyan and Zisserman 2014, https://arxiv.org/abs/1409.1556, columns D and E of Table 1. VGG19 is the network of
Gatys et al. 2015 (https://arxiv.org/abs/1508.06576); Johnson et al. 2016 compare with VGG16. Layer names are those
of keras.applications, so that its weights fit.
"""

from zoo.models.preprocessing import caffe_layer

# Number of convolutions in each of the five blocks.
DEPTHS = {"vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}
FILTERS = (64, 128, 256, 512, 512)


class Network:
    """One of the two networks, with the attributes that ``zoo.models.features`` describes."""

    STYLE = tuple("block%d_conv1" % block for block in range(1, 6))
    CONTENT = ("block5_conv2",)

    def __init__(self, name):
        depths = enumerate(DEPTHS[name], start=1)
        self.LAYERS = tuple("block%d_conv%d" % (block, n) for block, depth in depths for n in range(1, depth + 1))

    def trunk(self, compat, x, layers, seed, fixed):
        from zoo.models.layers.spatial import Convolution, MaxPooling

        x = caffe_layer(compat, x, fixed)
        for name in self.LAYERS:
            block = int(name[5])
            if name.endswith("conv1") and block > 1:
                x = MaxPooling((2, 2), strides=(2, 2), name="block%d_pool" % (block - 1))(x)
            x = Convolution(FILTERS[block - 1], (3, 3), padding="same", activation="relu", name=name)(x)
            yield name, x

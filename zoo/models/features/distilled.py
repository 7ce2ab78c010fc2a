"""A small network that the zoo trained to predict features of VGG19 and SqueezeNet; its weights are bundled.

Each level ends in a map from which 1x1 convolutions, not kept, predict maps of the published networks on photos
(``scripts/maintenance/distill_features.py``). Distances of Gram matrices therefore cover those of its teachers.
"""

from zoo.models.preprocessing import caffe_layer

# Channels of the convolutions at each level; every level but the first has half the size of the previous one.
LEVELS = ((24,), (48, 48), (80, 80), (128, 128), (160,))

LAYERS = tuple("level%d" % number for number in range(1, len(LEVELS) + 1))
STYLE = LAYERS
CONTENT = ("level4",)


def trunk(compat, x, layers, seed, fixed):
    from zoo.models.layers.spatial import Convolution, MaxPooling

    x = caffe_layer(compat, x, fixed)
    for number, (level, channels) in enumerate(zip(LAYERS, LEVELS)):
        if number:
            x = MaxPooling((2, 2), strides=(2, 2), name=level + "_pool")(x)
        for place, count in enumerate(channels, start=1):
            name = "%s_conv%d" % (level, place)
            x = Convolution(count, (3, 3), padding="same", activation="relu", name=name)(x)
        yield level, x

"""SqueezeNet 1.1 without its top: 722,496 weights, a thirtieth of the work of VGG19.

Iandola et al. 2016, https://arxiv.org/abs/1602.07360; version 1.1 is from https://github.com/forresti/SqueezeNet,
trained in Caffe. Its published Keras weights (https://github.com/rcmalli/keras-squeezenet) name a layer
``fire2/squeeze1x1``, which Keras 3 does not accept: here it is ``fire2_squeeze1x1``.
"""

from zoo.models.preprocessing import caffe_layer

# Squeezed and expanded channels of the fire modules, and the layers after which the maps are halved.
FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
HALVED = ("conv1", "fire3", "fire5")

LAYERS = ("conv1", *("fire%d" % number for number in range(2, 10)))
STYLE = ("conv1", "fire2", "fire3", "fire4", "fire6", "fire8")
CONTENT = ("fire4",)


def trunk(compat, x, layers, seed, fixed):
    from zoo.models.layers.spatial import Convolution, MaxPooling

    x = caffe_layer(compat, x, fixed)
    for number, name in enumerate(LAYERS):
        if number and LAYERS[number - 1] in HALVED:
            x = MaxPooling((3, 3), strides=(2, 2), name="pool%d" % number)(x)
        if number:
            squeezed, expanded = FIRES[number - 1]
            x = Convolution(squeezed, (1, 1), activation="relu", name=name + "_squeeze1x1")(x)
            narrow = Convolution(expanded, (1, 1), activation="relu", name=name + "_expand1x1")(x)
            wide = Convolution(expanded, (3, 3), padding="same", activation="relu", name=name + "_expand3x3")(x)
            x = compat.keras.layers.Concatenate(name=name)([narrow, wide])
        else:
            x = Convolution(64, (3, 3), strides=(2, 2), activation="relu", name=name)(x)
        yield name, x

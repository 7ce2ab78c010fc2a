"""The first layer of networks trained in Caffe: RGB to BGR, minus the mean colour of ImageNet."""

import numpy as np

NAME = "to_bgr"
MEAN_BGR = (103.939, 116.779, 123.68)


def prepare(compat, x):
    """Lay the fixed layer in front of a network.

    Returns:
        The tensor, and ``{layer: [kernel, bias]}`` to set once the model stands. A 1x1 convolution says it in a
        way that every Keras can differentiate, save and place on its device.
    """
    turned = np.eye(3, dtype=np.float32)[::-1].reshape(1, 1, 3, 3)
    x = compat.keras.layers.Conv2D(3, (1, 1), name=NAME, dtype="float32")(x)
    return x, {NAME: [turned, -np.array(MEAN_BGR, np.float32)]}

"""Convert stored inputs to network inputs."""

import numpy as np

# Name of the fixed layer of :func:`caffe_layer`.
CAFFE_LAYER = "to_bgr"
# BGR means of ImageNet, 0..255, which networks trained in Caffe subtract.
IMAGENET_MEAN_BGR = (103.939, 116.779, 123.68)


def to_unit(pixels):
    """Scale uint8 0..255 of any shape to float32 0..1."""
    return np.asarray(pixels, dtype=np.float32) / np.float32(255)


def to_symmetric(pixels):
    """Scale uint8 0..255 of any shape to float32 -1..1."""
    return np.asarray(pixels, dtype=np.float32) / np.float32(127.5) - np.float32(1)


def to_float32(pixels):
    """Convert pixels 0..255 of any shape to float32 without scaling."""
    return np.asarray(pixels, dtype=np.float32)


def to_tokens(tokens):
    """Convert token ids of any integer type to int32."""
    return np.asarray(tokens, dtype=np.int32)


def caffe_layer(compat, x, fixed):
    """Apply the preprocessing of networks trained in Caffe: RGB to BGR, minus the means of ImageNet.

    Uses a fixed 1x1 convolution, which every Keras can differentiate, save and run on its device. Its weights are
    added to ``fixed``, to set once the model is built.
    """
    flipped = np.eye(3, dtype=np.float32)[::-1].reshape(1, 1, 3, 3)
    fixed[CAFFE_LAYER] = [flipped, -np.array(IMAGENET_MEAN_BGR, np.float32)]
    return compat.keras.layers.Conv2D(3, (1, 1), name=CAFFE_LAYER, dtype="float32")(x)

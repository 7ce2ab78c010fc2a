"""A network that learns MNIST in one epoch: three convolutions with batch normalization, 29,658 parameters.

Batch normalization (Ioffe and Szegedy 2015, https://arxiv.org/abs/1502.03167) allows large learning rates. The first
convolution has a stride, and pooling comes before the normalization: both reduce the values to a quarter.
"""

from zoo.models.layers.mobilenet_blocks import batch_norm, conv
from zoo.models.preprocessing import to_unit as preprocess  # noqa: F401


def build(compat, input_shape=(28, 28, 1), classes=10, width=16, bn_momentum=0.9):
    """Build conv ``width`` 5x5 stride 2, conv 3x3 of 2 and of 4 times the width, each with pool, dense softmax.

    ``bn_momentum`` is the share of the moving averages that a step keeps: an epoch has only some hundred steps. The
    model maps images (batch, height, width, channels) float32 in 0..1 to (batch, classes) probabilities.
    """
    layers = compat.keras.layers
    x = inputs = layers.Input(shape=tuple(input_shape))
    for number in (1, 2, 3):
        x = conv(compat, x, width << number - 1, "conv%d" % number, *((5, 2) if number == 1 else (3, 1)))
        x = layers.MaxPooling2D((2, 2), name="pool%d" % number)(x) if number > 1 else x
        x = batch_norm(compat, x, "bn%d" % number, bn_momentum, layers.Activation("relu", name="relu%d" % number))
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dense(classes, activation="softmax", name="predictions", **compat.full_precision())(x)
    return compat.keras.models.Model(inputs=inputs, outputs=x, name="mnist_fast")

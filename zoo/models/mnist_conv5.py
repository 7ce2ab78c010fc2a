"""Two wide 5x5 convolutions without pooling, the TFLearn network of the 2018 CUDA-on-macOS reports.

553,866 parameters, nearly all of them in the last layer. Those reports give 0.9780 validation accuracy after
one epoch of Adam at 0.01, batch 128: https://github.com/SixQuant/tensorflow-macos-gpu (README of 2018-08-27).
"""

from zoo.models.preprocessing import to_unit as preprocess  # noqa: F401


def build(compat, input_shape=(28, 28, 1), classes=10, l2=0.0005):
    """Build conv 32 5x5, conv 64 5x5 (both relu, same padding, L2), dense softmax.

    Args:
        input_shape: (height, width, channels) of one image.
        l2: weight of the squared kernels in the loss. TFLearn's 0.001 multiplies half the sum of squares,
            so 0.0005 here is the same penalty.

    Returns:
        A model from (batch, height, width, channels) float32 in 0..1 to (batch, classes) probabilities.
    """
    layers, penalty = compat.keras.layers, compat.keras.regularizers.l2(l2)
    settings = {"padding": "same", "activation": "relu", "kernel_regularizer": penalty}
    return compat.keras.models.Sequential(
        [
            layers.Conv2D(32, (5, 5), name="conv1", input_shape=tuple(input_shape), **settings),
            layers.Conv2D(64, (5, 5), name="conv2", **settings),
            layers.Flatten(name="flatten"),
            layers.Dense(classes, activation="softmax", name="predictions", **compat.full_precision()),
        ],
        name="mnist_conv5",
    )

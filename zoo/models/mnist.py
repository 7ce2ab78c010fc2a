"""The small convolutional network of the Keras "Simple MNIST convnet" example: 34,826 parameters.

Architecture: https://keras.io/examples/vision/mnist_convnet/ (Apache-2.0), which reports 0.9922 test accuracy after
15 epochs of Adam at batch 128. Pooling comes before ReLU: the same result from a quarter of the values.
"""

from zoo.models.preprocessing import to_unit as preprocess  # noqa: F401


def build(compat, input_shape=(28, 28, 1), classes=10, dropout=0.5):
    """Build conv 32, pool, conv 64, pool, dropout, dense softmax.

    The model maps images (batch, height, width, channels) float32 in 0..1 to (batch, classes) probabilities.
    """
    layers = compat.keras.layers
    return compat.keras.models.Sequential(
        [
            layers.Conv2D(32, (3, 3), name="conv1", input_shape=tuple(input_shape)),
            layers.MaxPooling2D((2, 2), name="pool1"),
            layers.Activation("relu", name="relu1"),
            layers.Conv2D(64, (3, 3), name="conv2"),
            layers.MaxPooling2D((2, 2), name="pool2"),
            layers.Activation("relu", name="relu2"),
            layers.Flatten(name="flatten"),
            compat.dropout(dropout, "dropout"),
            layers.Dense(classes, activation="softmax", name="predictions", **compat.full_precision()),
        ],
        name="mnist",
    )

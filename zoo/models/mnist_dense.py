"""The fully connected MNIST network of TensorFlow's beginner tutorial: 101,770 parameters.

Architecture: https://www.tensorflow.org/tutorials/quickstart/beginner (Apache-2.0). The tutorial ends in logits;
this one ends in a softmax, so that every model of the zoo returns probabilities.
"""

from zoo.models.preprocessing import to_unit as preprocess  # noqa: F401


def build(compat, input_shape=(28, 28, 1), classes=10, units=128, dropout=0.2):
    """Build flatten, dense relu with ``units``, dropout of hidden units, dense softmax.

    The model maps images (batch, height, width, channels) float32 in 0..1 to (batch, classes) probabilities.
    """
    layers = compat.keras.layers
    return compat.keras.models.Sequential(
        [
            layers.Flatten(name="flatten", input_shape=tuple(input_shape)),
            layers.Dense(units, activation="relu", name="hidden"),
            compat.dropout(dropout, "dropout"),
            layers.Dense(classes, activation="softmax", name="predictions", **compat.full_precision()),
        ],
        name="mnist_dense",
    )

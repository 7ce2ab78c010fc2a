"""Padding with the reflection of the picture, which no layer of Keras does."""

from zoo.models import compat
from zoo.models.compat import tensors


class MirrorPadding(compat.keras.layers.Layer):
    """Continue a map over each of its four edges with its reflection, which leaves out the edge itself.

    Args:
        edge: how many rows and columns are added on each side; the map must have more of them.
    """

    def __init__(self, edge, **kwargs):
        super(MirrorPadding, self).__init__(**kwargs)
        self.edge = edge

    def call(self, inputs):
        return tensors.reflected(inputs, self.edge)

    def compute_output_shape(self, input_shape):
        batch, *sides, channels = input_shape
        return (batch, *(None if side is None else side + 2 * self.edge for side in sides), channels)

    def get_config(self):
        return dict(super(MirrorPadding, self).get_config(), edge=self.edge)

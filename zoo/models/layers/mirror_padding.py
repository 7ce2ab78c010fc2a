"""Padding by reflection, for which Keras has no layer."""

from zoo.models import compat
from zoo.models.compat import tensors


class MirrorPadding(compat.keras.layers.Layer):
    """Pad a map by reflection, with ``edge`` rows and columns on each side; the map must be larger than ``edge``."""

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

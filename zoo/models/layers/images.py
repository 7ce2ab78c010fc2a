"""Layers of networks that render images: padding by reflection, and instance normalization.

Keras has no such padding, and the normalization (Ulyanov et al. 2016, https://arxiv.org/abs/1607.08022) only since
3.2. It uses only means, products and sums, which every Keras computes in the same way.
"""

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


class Shift(compat.keras.layers.Layer):
    """Add a learned bias to every channel. It remains of a batch normalization that was folded into a kernel."""

    def build(self, input_shape):
        self.shift = self.add_weight(name="shift", shape=(int(input_shape[-1]),), initializer="zeros", trainable=True)

    def call(self, inputs):
        return inputs + tensors.weight(self.shift)

    def compute_output_shape(self, input_shape):
        return input_shape


class InstanceNormalization(Shift):
    """Normalize every channel of every image to mean 0 and variance 1, then apply a learned scale and shift."""

    def __init__(self, epsilon=1e-3, **kwargs):
        super(InstanceNormalization, self).__init__(**kwargs)
        self.epsilon = epsilon

    def get_config(self):
        return dict(super(InstanceNormalization, self).get_config(), epsilon=self.epsilon)

    def build(self, input_shape):
        super(InstanceNormalization, self).build(input_shape)
        self.scale = self.add_weight(name="scale", shape=(int(input_shape[-1]),), initializer="ones", trainable=True)

    def call(self, inputs):
        centered = inputs - tensors.mean(inputs, axis=(1, 2), keepdims=True)
        variance = tensors.mean(tensors.square(centered), axis=(1, 2), keepdims=True)
        return centered / tensors.sqrt(variance + self.epsilon) * self.scale + self.shift

"""Instance normalization, missing from Keras before 3.2: Ulyanov et al. 2016, https://arxiv.org/abs/1607.08022.

Uses only means, products and sums, which every Keras computes in the same way.
"""

from zoo.models import compat
from zoo.models.compat import tensors

EPSILON = 1e-3


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

    def __init__(self, epsilon=EPSILON, **kwargs):
        super(InstanceNormalization, self).__init__(**kwargs)
        self.epsilon = epsilon

    def get_config(self):
        return dict(super(InstanceNormalization, self).get_config(), epsilon=self.epsilon)

    def build(self, input_shape):
        super(InstanceNormalization, self).build(input_shape)
        self.scale = self.add_weight(name="scale", shape=(int(input_shape[-1]),), initializer="ones", trainable=True)

    def call(self, inputs):
        centered = inputs - tensors.mean_over_places(inputs)
        variance = tensors.mean_over_places(tensors.square(centered))
        return centered / tensors.sqrt(variance + self.epsilon) * self.scale + self.shift

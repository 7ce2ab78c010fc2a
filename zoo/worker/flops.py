"""How many multiplications and additions a network needs for one item, counted from its layers."""

import numpy as np

from zoo.models import compat


def per_item(model):
    """Multiplications and additions of convolutions and dense layers for one item; the rest is small beside them.

    Of a layer with a kernel, every output position costs two for each number in it.
    """
    kernels = [(name.rpartition("/")[0], shape) for name, shape in compat.named_weights(model) if "kernel" in name]
    return sum(2 * int(np.prod(shape)) * _positions(model.get_layer(layer)) for layer, shape in kernels)


def _positions(layer):
    output = compat.static_shape(layer.output)
    return int(np.prod(output[1:-1])) if len(output) > 2 else 1

"""Count the multiplications and additions of a network for one item, from its layers."""

import numpy as np

from zoo.models import compat


def per_item(model, arguments):
    """Count the multiplications and additions in products and convolutions for one item; the rest is negligible.

    All inputs must have a fixed size. ``arguments`` are those of the builder; for transformers, they determine the
    products of attention, which have no weights.
    """
    counted = 0
    for name, shape in compat.named_weights(model):
        layer, _, own = name.rpartition("/")
        if "kernel" in own:
            counted += 2 * int(np.prod(shape)) * _positions(model.get_layer(layer))
    if "heads" in arguments:  # queries by keys, and attention weights by values: (length, length, d_model) twice
        counted += 2 * 2 * arguments["length"] ** 2 * arguments["d_model"] * arguments["layers"]
    if arguments.get("tied"):  # the embedding table is also the last kernel
        counted += 2 * arguments["length"] * arguments["d_model"] * arguments["vocabulary"]
    return counted


def _positions(layer):
    """Count the uses of a kernel: one per position of the output or, for a transposed convolution, of the input."""
    x = layer.input if type(layer).__name__ == "Conv2DTranspose" else layer.output
    shape = compat.static_shape(x)
    return int(np.prod(shape[1:-1])) if len(shape) > 2 else 1

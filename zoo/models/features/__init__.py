"""Frozen networks whose feature maps say how alike two pictures are in content and in style.

Each file has ``LAYERS`` (names of feature layers, first to last), ``STYLE`` and ``CONTENT`` (the usual choices among
them), and ``trunk(compat, x, layers, seed)``. Pictures are RGB 0..255 everywhere; each network does its own
preparation in a first, fixed layer.
"""

import importlib

NETWORKS = ("vgg19", "vgg16", "squeezenet", "random")


def network(name):
    """The module of a network.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in NETWORKS:
        raise ValueError("features must be one of %s, got %r" % (", ".join(NETWORKS), name))
    return importlib.import_module("zoo.models.features." + ("random_filters" if name == "random" else name))


def build(compat, name, layers, input_shape=(None, None, 3), seed=0, precision="float32"):
    """Build a frozen feature network, with fresh weights where it has published ones: fill it before use.

    Args:
        compat: the Keras at hand, ``zoo.models.compat``.
        name: one of ``NETWORKS``.
        layers: names from the network's ``LAYERS``; what lies behind the last of them is left out.
        input_shape: (height, width, 3) of one picture; height and width may be None.
        seed: of the filters of ``random``.
        precision: what the network computes in, ``float32`` or ``bfloat16`` (Keras 3); pictures are float32.

    Returns:
        A model from (batch, height, width, 3) RGB 0..255 to the list of feature maps, in the order of ``layers``,
        not trainable. ``zoo.worker.style.feature_model.frozen`` builds and fills one in a step.

    Raises:
        ValueError: the network or one of the layers does not exist.
    """
    module = network(name)
    unknown = [layer for layer in layers if layer not in module.LAYERS]
    if unknown or not layers:
        raise ValueError("layers of %s are %s, got %s" % (name, ", ".join(module.LAYERS), ", ".join(unknown)))
    inputs = compat.keras.layers.Input(shape=tuple(input_shape))
    with compat.computing_in(precision):
        found, fixed = module.trunk(compat, inputs, layers, seed)
    model = compat.keras.models.Model(inputs=inputs, outputs=[found[layer] for layer in layers], name=name)
    for layer, arrays in fixed.items():
        model.get_layer(layer).set_weights(arrays)
    for layer in model.layers:
        layer.trainable = False
    model.trainable = False
    return model

"""Frozen networks whose feature maps measure how similar two images are in content and in style.

Each network has ``LAYERS`` (names of feature layers, first to last), ``STYLE`` and ``CONTENT`` (the usual choices
among them). Its ``trunk(compat, x, layers, seed, fixed)`` yields the name and the feature map of each layer, first to
last. It adds the weights of layers that are not loaded to ``fixed``, ``{layer: arrays}``. Images are RGB 0..255; the
first, fixed layer of each network preprocesses them.
"""

NETWORKS = ("vgg19", "vgg16", "squeezenet", "distilled", "random")


def network(name):
    """Return the network with this name, or raise ValueError."""
    from zoo.models.features import distilled, random_filters, squeezenet, vgg

    if name not in NETWORKS:
        raise ValueError("features must be one of %s, got %r" % (", ".join(NETWORKS), name))
    plain = {"squeezenet": squeezenet, "distilled": distilled, "random": random_filters}
    return plain.get(name) or vgg.Network(name)


def build(compat, name, layers, input_shape=(None, None, 3), seed=0, precision="float32"):
    """Build a frozen feature network. Published weights are not loaded: set them before use.

    Args:
        name: one of ``NETWORKS``.
        layers: names from the network's ``LAYERS``; the model ends with the last of them.
        input_shape: (height, width, 3) of one image; height and width may be None.
        precision: dtype of the computation, ``float32`` or, with Keras 3, ``bfloat16``; images are float32.

    Returns:
        A model from (batch, height, width, 3) RGB 0..255 to the list of feature maps, in the order of ``layers``,
        not trainable. ``zoo.worker.style.feature_model.frozen`` builds one and loads its weights.
    """
    chosen = network(name)
    unknown = [layer for layer in layers if layer not in chosen.LAYERS]
    if unknown or not layers:
        raise ValueError("layers of %s are %s, got %s" % (name, ", ".join(chosen.LAYERS), ", ".join(unknown)))
    inputs = compat.keras.layers.Input(shape=tuple(input_shape))
    maps, fixed = {}, {}
    with compat.dtype_policy(precision):
        for layer, x in chosen.trunk(compat, inputs, layers, seed, fixed):
            maps[layer] = x
            if set(layers) <= set(maps):
                break
    model = compat.keras.models.Model(inputs=inputs, outputs=[maps[layer] for layer in layers], name=name)
    for layer, arrays in fixed.items():
        model.get_layer(layer).set_weights(arrays)
    for layer in model.layers:
        layer.trainable = False
    model.trainable = False
    return model

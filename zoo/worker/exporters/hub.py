"""A folder for model hubs: an archive that plain Keras 3 loads, its weights and its labels.

The host adds the weights as safetensors, and the facts of the run to the README.
"""

import os

from zoo.models import compat
from zoo.worker import weights
from zoo.worker.errors import UserError
from zoo.worker.exporters import npz

KIND = "export"
NAME = "model.keras"
NEEDS = ("keras",)
QUANTIZATIONS = ("none",)
RUNTIME, PACKAGE = "Keras 3, on TensorFlow, JAX or PyTorch", "keras"
JSON_NAME = "config.json"
LINES = "hub_"  # beginning of the names of the templates for the README


def export(subject, path, quantize, calibration, facts):
    """Write ``model.keras`` and ``weights.npz``; the arguments are those of the exporter for ONNX."""
    model = plain(subject.model) if subject.kind == "pictures" else subject.model
    kinds = {type(layer) for layer in model._flatten_layers(include_self=False)}
    own = [each.__name__ for each in kinds if not each.__module__.startswith("keras.") or each.__name__ == "Lambda"]
    if own:
        raise UserError("plain Keras cannot load its layers %s, other formats can" % ", ".join(sorted(own)))
    compat.save(model, path)
    weights.save(model, os.path.join(os.path.dirname(path), npz.NAME))


def plain(model):
    """Return a style network made of Keras's own layers only."""
    from zoo.models.compat import tensors
    from zoo.models.layers.images import InstanceNormalization, MirrorPadding
    from zoo.models.style_transfer import fast

    keras = compat.keras

    def similar(layer):
        if isinstance(layer, InstanceNormalization):
            return keras.layers.GroupNormalization(groups=-1, epsilon=layer.epsilon, name=layer.name)
        if isinstance(layer, MirrorPadding):
            maps = keras.Input(layer.input.shape[1:])
            return keras.Model(maps, tensors.reflected(maps, layer.edge), name=layer.name)
        if layer.name == "colours":
            steps = [keras.layers.Activation("tanh"), keras.layers.Rescaling(fast.COLORS.gain, 127.5)]
            return keras.Sequential(steps, name=layer.name)
        return type(layer).from_config(layer.get_config())

    copied = keras.models.clone_model(model, clone_function=similar)
    for layer in filter(lambda layer: layer.weights, model.layers):
        values = layer.get_weights()  # shift and scale of an instance normalization, gamma and beta of Keras's
        copied.get_layer(layer.name).set_weights(values[::-1] if isinstance(layer, InstanceNormalization) else values)
    return copied


def opened(folder, about):
    """Return the function that maps inputs, arrays by name, to the list of outputs."""
    import keras

    model = keras.saving.load_model(os.path.join(folder, "model.keras"))

    def run(inputs):
        (pixels,) = inputs.values()
        return [keras.ops.convert_to_numpy(model(pixels, training=False))]

    return run

"""Read and write the layout of Keras 1 and 2: a group per layer, listed with its weights in attributes."""

import re
from pathlib import Path
from typing import Any

from zoo.core.errors import ZooError
from zoo.weights.formats import Arrays, RejectedFileError, Weights
from zoo.weights.keras_layout import NESTED, Text, Tree, by_layer, join, layers_of

# An attribute must fit into an object header, 64 KiB; Keras splits longer lists into ``name0``, ``name1``, ...
MOST_ATTRIBUTE_BYTES = 64_512


def read_keras2(path: Path, tree: Tree, root: str, config: Any) -> Weights:
    """Read the layout of Keras 1 and 2, which Keras 3 still writes to ``.h5``.

    Args:
        config: the model's configuration, if any, for the classes of the layers.
    """
    attributes = tree.attributes[root]
    version = str(attributes.get("keras_version", "1"))
    if attributes.get("backend") == "theano":
        raise ZooError(
            f"{path} was saved by Keras on Theano, whose convolution kernels are rotated by 180 degrees",
            "Load it with Keras 2 on TensorFlow, which converts them, and save it again.",
        )
    classes = {name: kind for name, kind, _ in layers_of(config)}
    arrays: Arrays = {}
    order_problems: list[str] = []
    for layer in _texts(attributes, "layer_names"):
        group = join(root, layer)
        if group not in tree.attributes:
            raise RejectedFileError(path, f"it lists a missing layer {group!r}")
        stored = _texts(tree.attributes[group], "weight_names")
        short = _short_names(stored, version.startswith("1"), classes.get(layer, ""))
        if len(set(short)) < len(short):
            order_problems = [NESTED]
            short = [_plain(name) for name in stored]
        for name, own in zip(stored, short, strict=True):
            value = tree.values.get(join(group, name))
            if value is None:
                raise RejectedFileError(path, f"the layer {layer!r} lists a missing weight {name!r}")
            if join(layer, own) in arrays:
                raise RejectedFileError(path, f"it lists {join(layer, own)!r} twice")
            arrays[join(layer, own)] = value
    kind = f"Keras {version} {'model' if root else 'weights'} HDF5"
    return Weights(arrays, kind, classes, tuple(order_problems), config)


def _texts(attributes: dict[str, Text], name: str) -> list[str]:
    parts = [attributes[name]] if name in attributes else []
    while f"{name}{len(parts)}" in attributes and name not in attributes:
        parts.append(attributes[f"{name}{len(parts)}"])
    return [text for part in parts for text in ([part] if isinstance(part, str) else part)]


def _plain(stored: str) -> str:
    return stored.partition(":")[0]


_KERAS1 = re.compile(r"^.*?_(W|b|gamma|beta|running_mean|running_std|alphas)(_\d+)?$")
_KERAS1_NAMES = {"W": "kernel", "b": "bias", "running_mean": "moving_mean", "running_std": "moving_variance"}


def _short_names(stored: list[str], keras1: bool, layer_class: str) -> list[str]:
    """Return the current names of a layer's weights from names such as ``conv1_3/kernel:0`` or ``conv1_W``."""
    short = [_plain(name).rpartition("/")[2] for name in stored]
    if keras1:
        short = [_KERAS1.sub(lambda match: _KERAS1_NAMES.get(match[1], match[1]), name) for name in short]
    depthwise = layer_class.startswith("depthwise_conv")  # Keras 3 writes kernel instead of depthwise_kernel
    return ["depthwise_kernel" if depthwise and name == "kernel" else name for name in short]


def make_keras2(weights: Weights) -> Tree:
    """Return the tree of a Keras 2 file; Keras 1 to 3 read it, by order or by name."""
    tree = Tree()
    layers = by_layer(weights, ".h5")
    tree.attributes[""] = {
        "backend": "tensorflow", "keras_version": "2.0.0", **_attribute("layer_names", list(layers)),
    }  # fmt: skip
    for layer, arrays in layers.items():
        names = [join(layer, f"{name}:0") for name in arrays]
        tree.attributes[layer] = _attribute("weight_names", names)
        tree.values |= {join(layer, name): value for name, value in zip(names, arrays.values(), strict=True)}
    return tree


def _attribute(name: str, texts: list[str]) -> dict[str, Text]:
    """Return a list as an attribute, or as numbered attributes if it is too long."""
    longest = max((len(text.encode()) for text in texts), default=1)
    room = max(1, MOST_ATTRIBUTE_BYTES // longest)
    if len(texts) <= room:
        return {name: texts}
    return {f"{name}{begin // room}": texts[begin : begin + room] for begin in range(0, len(texts), room)}

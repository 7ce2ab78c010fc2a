"""Read and write the layout of Keras 3: groups named after the classes of layers, with numbered weights."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from zoo.core.errors import ZooError, listed
from zoo.weights.formats import Arrays, Weights, natural
from zoo.weights.keras_layout import NESTED, KerasConfig, Tree, by_layer, join, layers_of

# Weights of a layer in the order of their numbers in Keras 3.
_KERNEL = ("kernel", "bias")
_SCALE = ("gamma", "beta")
NUMBERED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("dense", "einsum_dense", "conv1d", "conv2d", "conv3d"), _KERNEL),
    **dict.fromkeys(("conv1d_transpose", "conv2d_transpose", "conv3d_transpose"), _KERNEL),
    **dict.fromkeys(("depthwise_conv1d", "depthwise_conv2d"), ("depthwise_kernel", "bias")),
    **dict.fromkeys(("separable_conv1d", "separable_conv2d"), ("depthwise_kernel", "pointwise_kernel", "bias")),
    **dict.fromkeys(("layer_normalization", "group_normalization"), _SCALE),
    "batch_normalization": (*_SCALE, "moving_mean", "moving_variance"),
    "normalization": ("mean", "variance", "count"),
    "embedding": ("embeddings",),
    "p_re_lu": ("alpha",),
}
CONTAINERS = ("layers", "_layer_checkpoint_dependencies")  # the second from Keras 2.12 to 2.15


class _Reading:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.arrays: Arrays = {}
        self.classes: dict[str, str] = {}
        self.order_problems: list[str] = []
        self.unnamed = False
        self.groups: dict[str, list[str]] = {}
        self.numbers: dict[str, list[str]] = {}
        for table, paths in ((self.groups, list(tree.attributes)), (self.numbers, list(tree.values))):
            for path in filter(None, paths):  # not the root
                above, _, name = path.rpartition("/")
                table.setdefault(above, []).append(name)


def read_keras3(tree: Tree, config: Any, kind: str) -> Weights:
    """Read the layout of ``.weights.h5`` and of ``model.weights.h5`` inside a ``.keras``.

    Weights are numbered there; their names follow from the class of the layer. Ambiguous weights, such as those of a
    batch normalization without scale, keep their number. ``config`` is the model's configuration, if any.
    """
    reading = _Reading(tree)
    _collect(reading, "", "", "", config)
    words = f"{kind} without the names of the layers" if reading.unnamed else kind
    return Weights(reading.arrays, words, reading.classes, tuple(dict.fromkeys(reading.order_problems)), config)


def _collect(reading: _Reading, group: str, label: str, layer_class: str, config: Any) -> None:
    variables = join(group, "vars")
    numbers = sorted(reading.numbers.get(variables, []), key=natural)
    own = config.get("config") if isinstance(config, dict) else None
    for name, number in zip(_numbered_names(layer_class, len(numbers), own), numbers, strict=True):
        reading.arrays[join(label, name)] = reading.tree.values[join(variables, number)]
        reading.classes[label] = layer_class
    for child in reading.groups.get(group, []):
        inside = join(group, child)
        if child != "vars" and (label or child not in CONTAINERS):
            reading.order_problems.append(NESTED)
        if child in CONTAINERS:
            for member, name, kind, row in _layers_in(reading, inside, config):
                _collect(reading, join(inside, member), join(label, name), kind, row)
        elif child != "vars":
            _collect(reading, inside, join(label, child), child, None)


def _layers_in(reading: _Reading, container: str, config: Any) -> Iterator[tuple[str, str, str, Any]]:
    """Yield group, name, class and configuration of each layer in a container, in order."""
    members = reading.groups.get(container, [])
    configured = layers_of(config)
    if configured:
        seen: dict[str, int] = {}
        for name, kind, own in configured:
            count = seen[kind] = seen.get(kind, -1) + 1
            yield (f"{kind}_{count}" if count else kind), name, kind, {"config": own}
        return
    order = reading.tree.order.get(container, [])
    if sorted(order) != sorted(members):
        reading.order_problems.append("it does not store the order of the layers")
        order = sorted(members, key=natural)
    for member in order:
        variables = join(container, member, "vars")
        stored_name = reading.tree.attributes.get(variables, {}).get("name")
        reading.unnamed |= stored_name is None and variables in reading.numbers
        yield member, str(stored_name or member), re.sub(r"_\d+$", "", member), None


def _numbered_names(layer_class: str, count: int, config: KerasConfig | None) -> list[str]:
    names = list(NUMBERED.get(layer_class, ()))
    if config:
        left_out = {"gamma": "scale", "beta": "center", "bias": "use_bias"}
        names = [name for name in names if config.get(left_out.get(name, ""), True)]
    elif names and count == len(names) - 1 and names[-1] == "bias":
        names.pop()
    return names if len(names) == count else [str(number) for number in range(count)]


def make_keras3(weights: Weights) -> Tree:
    """Return the tree of a ``.weights.h5``, for models without nested models.

    Groups are named after the class of their layer and numbered. Unknown classes are deduced from the weights: a
    kernel with two axes means Dense, one with four axes Conv2D.
    """
    tree = Tree()
    seen: dict[str, int] = {}
    tree.attributes |= {"vars": {}, "layers": {}}  # Keras 3.0 requires an empty "vars"
    for layer, arrays in by_layer(weights, ".weights.h5").items():
        kind = weights.classes.get(layer) or _deduced_class(arrays)
        if set(arrays) - set(NUMBERED.get(kind, ())):
            raise ZooError(
                f"The layer {layer!r} of class {kind or 'unknown'} has {listed(arrays)}, which cannot be numbered",
                "Write .npz, .safetensors or .h5 instead.",
            )
        count = seen[kind] = seen.get(kind, -1) + 1
        group = join("layers", f"{kind}_{count}" if count else kind, "vars")
        tree.attributes[group] = {"name": layer}
        ordered = [arrays[name] for name in NUMBERED[kind] if name in arrays]
        tree.values |= {join(group, str(number)): array for number, array in enumerate(ordered)}
    return tree


def _deduced_class(arrays: "Arrays") -> str:
    """Return Keras 3's name of the class of a layer with these weights, or an empty string."""
    names = set(arrays) - {"bias"}
    axes = max(array.ndim for array in arrays.values())
    if names == {"kernel"}:
        return {2: "dense", 3: "conv1d", 4: "conv2d", 5: "conv3d"}.get(axes, "")
    if names == {"depthwise_kernel"}:
        return {3: "depthwise_conv1d", 4: "depthwise_conv2d"}.get(axes, "")
    if names == {"depthwise_kernel", "pointwise_kernel"}:
        return {3: "separable_conv1d", 4: "separable_conv2d"}.get(axes, "")
    if names >= {"moving_mean", "moving_variance"}:
        return "batch_normalization"
    return {("beta", "gamma"): "layer_normalization", ("embeddings",): "embedding"}.get(tuple(sorted(names)), "")


def classes_of(weights: Weights) -> dict[str, int]:
    """Return the number of layers of each class in a ``.weights.h5`` with these weights."""
    groups = [group.split("/")[1] for group in make_keras3(weights).attributes if group.endswith("/vars")]
    return Counter(re.sub(r"_\d+$", "", group) for group in groups)

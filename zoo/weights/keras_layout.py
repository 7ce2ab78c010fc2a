"""Code shared by the layouts of Keras 2 and Keras 3.

Both are converted to and from float32 by ``layer/weight``. A :class:`Tree` is the content of a file as plain values;
:mod:`zoo.weights.hdf5` reads and writes it.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from zoo.core.errors import ZooError
from zoo.weights.formats import Arrays, Weights

Text = str | list[str]
# Keras's configuration of a model or a layer, as in JSON.
KerasConfig = dict[str, Any]

NESTED = "it contains nested layers, or a model of a custom class"


@dataclass
class Tree:
    """Content of an HDF5 file.

    Attributes:
        values: numbers of each dataset, by path.
        attributes: attributes of each group, by path ("" is the root).
        order: names of the members of a group in the order of creation, by path, if known.
    """

    values: "Arrays" = field(default_factory=dict)
    attributes: dict[str, dict[str, Text]] = field(default_factory=lambda: {"": {}})
    order: dict[str, list[str]] = field(default_factory=dict)


def join(*parts: str) -> str:
    return "/".join(part for part in parts if part)


def snake_case(class_name: str) -> str:
    """Convert the name of a class as Keras 3 does: ``BatchNormalization`` becomes ``batch_normalization``."""
    split = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W", "", class_name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", split).lower()


def layers_of(config: Any) -> list[tuple[str, str, KerasConfig]]:
    """Return name, class (as in Keras 3) and configuration of each layer in a model's configuration."""
    inner = config.get("config") if isinstance(config, dict) else None
    rows = inner.get("layers") if isinstance(inner, dict) else inner  # Keras 2.2 and older: a list for Sequential
    layers = []
    for row in rows if isinstance(rows, list) else []:
        own = row.get("config") if isinstance(row, dict) else None
        if isinstance(own, dict) and isinstance(row.get("class_name"), str):
            layers.append((str(own.get("name", row.get("name"))), snake_case(row["class_name"]), own))
    return layers


def by_layer(weights: Weights, suffix: str) -> "dict[str, Arrays]":
    if weights.order_problems:
        raise ZooError(
            f"This {weights.kind} file cannot become {suffix}: {' and '.join(weights.order_problems)}",
            "Keras reads such files by the order of the layers. Write .npz or .safetensors, or convert the whole "
            "model: .keras, or .h5 as Keras 2 saves it.",
        )
    layers = weights.by_layer()
    if "" in layers:
        name = next(iter(layers[""]))
        raise ZooError(f"{name!r} names no layer; {suffix} needs LAYER/WEIGHT", "Write .npz or .safetensors instead.")
    return layers

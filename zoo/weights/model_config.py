"""Read sizes, scaling and activations from a network's Keras configuration; weights do not include them."""

from dataclasses import dataclass, replace
from typing import Any

from zoo.weights.keras_layout import KerasConfig, snake_case

# (mean, scale) by channel: pixels from 0 to 255 are converted to (pixel - mean) / scale.
Scaling = tuple[list[float], list[float]]
_UNCHANGED: tuple[list[float], list[float]] = ([1.0] * 3, [0.0] * 3)
# Layers that do not change pixels during prediction, and those that keep their scale.
_NEUTRAL = ("input_layer", "dropout", "identity", "gaussian_noise", "zero_padding2d", "resizing", "center_crop",
            "flatten", "reshape", "permute", "spatial_dropout2d")  # fmt: skip
_PLACES_ONLY = ("average_pooling2d", "max_pooling2d", "global_average_pooling2d", "up_sampling2d", "cropping2d")
_OPERATIONS = {
    "truediv": "divide", "true_divide": "divide", "divide": "divide", "multiply": "multiply", "mul": "multiply",
    "subtract": "subtract", "sub": "subtract", "add": "add",
}  # fmt: skip
_CONVOLUTIONS = ("conv2d", "depthwise_conv2d")
_WEIGHTED = (*_CONVOLUTIONS, "separable_conv2d", "conv2d_transpose", "conv1d", "dense", "batch_normalization")
# Largest absolute value of scaled inputs; pixels from 0 to 255 exceed it.
_MOST = 20.0


@dataclass(frozen=True)
class Layer:
    """A layer of a configuration: its class (as in Keras 3), its settings, and its inputs."""

    kind: str
    settings: KerasConfig
    inbound: Any


def layers(config: Any) -> list[Layer]:
    """Return the layers of a model's configuration in order, including those of nested models."""
    inner = config.get("config") if isinstance(config, dict) else None
    rows = inner.get("layers") if isinstance(inner, dict) else inner
    result: list[Layer] = []
    for row in rows if isinstance(rows, list) else []:
        own = row.get("config") if isinstance(row, dict) else None
        if isinstance(own, list) or (isinstance(own, dict) and isinstance(own.get("layers"), list)):
            result += layers(row)
        elif isinstance(own, dict):
            result.append(Layer(snake_case(str(row.get("class_name"))), own, row.get("inbound_nodes")))
    return result


def before_network(rows: list[Layer]) -> list[Layer]:
    return rows[: next((index for index, row in enumerate(rows) if row.kind in _WEIGHTED), 0)]


def input_shape(rows: list[Layer]) -> list[int] | None:
    """Return (height, width, channels) of the images, or None if unknown."""
    for row in rows:
        if row.kind == "resizing":
            return [int(row.settings["height"]), int(row.settings["width"]), 3]
    for row in rows:
        shape = row.settings.get("batch_input_shape") or row.settings.get("batch_shape")
        if isinstance(shape, list) and len(shape) == 4 and all(isinstance(edge, int) for edge in shape[1:]):
            return shape[1:]
    return None


def scaling(rows: list[Layer]) -> tuple[Scaling | None, list[str]]:
    """Return the pixel scaling of the layers before the network, or None, and the names of unknown layers."""
    factor, offset, strange = [1.0] * 3, [0.0] * 3, list[str]()
    for row in before_network(rows):
        step = _step(row)
        if step is None:
            strange.append(str(row.settings.get("name", row.kind)))
            continue
        own_factor, own_offset = step
        factor = [a * b for a, b in zip(factor, own_factor, strict=True)]
        offset = [a * b + c for a, b, c in zip(offset, own_factor, own_offset, strict=True)]
    if (factor, offset) == ([1.0] * 3, [0.0] * 3) or 0.0 in factor:
        return None, strange
    scales = [1.0 / a for a in factor]
    return ([0.0 - b * scale for b, scale in zip(offset, scales, strict=True)], scales), strange


def wanted_scale(rows: list[Layer], adapted: KerasConfig) -> tuple[str | None, str]:
    """Return ``scale=`` for a network that scales pixels itself, and the name of the scaling layer.

    ``scale=`` is ``none`` (pixels from 0 to 255) or ``0..1``. It is None if the network does not scale (with an empty
    name) or if the scaling of a layer is unknown (with its name). ``adapted`` has the mean and variance of a
    Normalization without them in its configuration.
    """
    missing = [row.kind == "normalization" and row.settings.get("mean") is None for row in rows]
    pairs = zip(rows, missing, strict=True)
    rows = [replace(row, settings=row.settings | adapted) if lacks else row for row, lacks in pairs]
    steps = [(str(row.settings.get("name", row.kind)), _step(row)) for row in before_network(rows)]
    changing = [name for name, step in steps if step != _UNCHANGED]
    if not changing:
        return None, ""
    known, strange = scaling(rows)
    if strange or known is None:
        return None, (strange or changing)[0]
    for wanted, top in (("none", 255.0), ("0..1", 1.0)):
        ends = [(pixel - mean) / scale for mean, scale in zip(*known, strict=True) for pixel in (0.0, top)]
        if max(map(abs, ends)) <= _MOST:
            return wanted, changing[0]
    return None, changing[0]


def _step(row: Layer) -> tuple[list[float], list[float]] | None:
    """Return a layer's factor and offset by channel, or None if unknown."""
    if row.kind in _NEUTRAL or row.kind in _PLACES_ONLY or row.kind.startswith("random_"):
        return _UNCHANGED
    if row.kind == "normalization":
        means, variances = (_channels(row.settings.get(key)) for key in ("mean", "variance"))
        if means is None or variances is None or min(variances) <= 0.0:
            return None  # an adapted layer stores the numbers in its weights
        return [value**-0.5 for value in variances], [-m * v**-0.5 for m, v in zip(means, variances, strict=True)]
    if row.kind == "rescaling":
        factor, offset = _channels(row.settings.get("scale")), _channels(row.settings.get("offset", 0.0))
        return (factor, offset) if factor and offset else None
    function = str(row.settings.get("function", row.kind)).rpartition(".")[2]
    operation, value = _OPERATIONS.get(function), _channels(_constant(row.inbound))
    if operation is None or value is None or (operation == "divide" and 0.0 in value):
        return None
    if operation in ("divide", "multiply"):
        return [1 / each if operation == "divide" else each for each in value], [0.0] * 3
    return [1.0] * 3, [-each if operation == "subtract" else each for each in value]


def _channels(value: Any) -> list[float] | None:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    numbers = value if isinstance(value, list) else [value] * 3
    usable = len(numbers) == 3 and all(isinstance(each, int | float) for each in numbers)
    return [float(each) for each in numbers] if usable else None


def _constant(inbound: Any) -> Any:
    """Return the second operand of an operation layer of Keras 2 or Keras 3, or None if it is not a number."""
    node = inbound[0] if isinstance(inbound, list) and inbound else None
    if isinstance(node, dict):
        arguments, named = node.get("args", []), node.get("kwargs", {})
        return arguments[1] if isinstance(arguments, list) and len(arguments) > 1 else named.get("x2", named.get("y"))
    while isinstance(node, list) and node and isinstance(node[0], list):
        node = node[0]
    named = node[3] if isinstance(node, list) and len(node) > 3 else None
    return named.get("y") if isinstance(named, dict) else None


def activations(rows: list[Layer]) -> set[str]:
    """Return the activations between the first convolution and the pooling."""
    convolutions = [index for index, row in enumerate(rows) if row.kind in (*_CONVOLUTIONS, "batch_normalization")]
    pools = [index for index, row in enumerate(rows) if "pooling" in row.kind]
    first = convolutions[0] if convolutions else len(rows)
    last = next((index for index in pools if index > first), convolutions[-1] + 1 if convolutions else 0)
    return {name for row in rows[first:last] if (name := _activation(row)) not in (None, "linear")}


def _activation(row: Layer) -> str | None:
    """Return the name of a layer's activation; all spellings of ReLU6 are ``relu6``."""
    if row.kind in ("re_lu", "relu"):
        limit, slope = row.settings.get("max_value"), row.settings.get("negative_slope")
        slope = slope.get("value") if isinstance(slope, dict) else slope
        return "other" if slope else "relu" if limit is None else "relu6" if limit == 6 else "other"
    if row.kind in ("softmax", "leaky_re_lu", "elu", "p_re_lu"):
        return row.kind
    name = row.settings.get("activation")
    name = name.get("config", name.get("class_name")) if isinstance(name, dict) else name
    return None if name is None else str(name).rpartition(">")[2]


def output_activation(rows: list[Layer]) -> str | None:
    last = next((index for index in reversed(range(len(rows))) if rows[index].kind in ("dense", "conv2d")), None)
    names = [] if last is None else [_activation(row) for row in rows[last:]]
    return next((name for name in reversed(names) if name not in (None, "linear")), names[0] if names else None)


def head(rows: list[Layer]) -> list[str]:
    """Return the names of layers after the pooling that a top of one layer cannot represent."""
    pools = [index for index, row in enumerate(rows) if "pooling" in row.kind]
    behind = rows[pools[-1] + 1 :] if pools else []
    ends = [index for index, row in enumerate(behind) if row.kind in ("dense", "conv2d")]
    plain = (*_NEUTRAL, "flatten", "reshape", "spatial_dropout2d", "dense", "conv2d")
    after = ("activation", "softmax")  # their activation applies to the outputs
    return [
        str(row.settings.get("name", row.kind)) for index, row in enumerate(behind) if row.kind not in plain
        and not (row.kind in after and ends and index > ends[-1])
        and not (row.kind == "activation" and _activation(row) == "linear")
    ]  # fmt: skip


def strides(rows: list[Layer]) -> list[int]:
    """Return the stride of each convolution in order, or 0 if it differs between directions."""
    pairs = [row.settings.get("strides", [1, 1]) for row in rows if row.kind in _CONVOLUTIONS]
    return [int(both[0]) if isinstance(both, list) and both[0] == both[-1] else 0 for both in pairs]

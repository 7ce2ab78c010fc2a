"""Recognize the zoo's MobileNets in weights files of any origin, and rename their weights.

A network is recognized by the kinds and shapes of its layers, in order, not by their names. Equivalent constructions
are converted exactly: biases before a batch normalization, other epsilons, and a dense layer instead of a 1x1
convolution. One output with a sigmoid is converted to two with a softmax.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.config.schemas.common import Arguments
from zoo.core.errors import listed
from zoo.weights import architectures, model_config
from zoo.weights.architectures import Step
from zoo.weights.formats import Arrays, Weights
from zoo.weights.keras_layout import NESTED

EPSILON = 1e-3
SYMMETRIC: model_config.Scaling = ([127.5] * 3, [127.5] * 3)
_WORDS = {"unit": ([0.0] * 3, [255.0] * 3), "raw": ([0.0] * 3, [1.0] * 3)}
# Mean and standard deviation of pixels under each scaling, measured on photos of ImageNet.
_PHOTOS = {"unit": (0.45, 0.27), "symmetric": (-0.1, 0.54), "raw": (115.0, 69.0)}


@dataclass(frozen=True)
class Network:
    """A network in a file.

    Attributes:
        arguments: arguments of its builder that the file determines.
        classes: number of outputs; None without a supported top.
        top_problem: why the top is not supported; follows "the file".
        scaling: (mean, scale) by channel, if the range of the pixels is not -1 to 1.
        notes: assumptions and conversions, in sentences.
        channels: number of channels of the images.
        arrays: weights by the zoo's ``layer/weight``.
    """

    name: str
    arguments: Arguments
    classes: int | None
    top_problem: str
    scaling: model_config.Scaling | None
    notes: list[str]
    channels: int = 3
    arrays: "Arrays" = field(default_factory=dict, repr=False)


def recognize(weights: Weights) -> Network | None:
    """Return the network of weights, or None if it is not one of the zoo's MobileNets."""
    for name, (steps, _) in architectures.STEPS.items():
        trunk, top = _aligned(weights, steps)
        outputs = [layer["kernel"].shape[3] if "kernel" in layer else 0 for layer in trunk]
        if trunk and (alpha := architectures.alpha(name, outputs)):
            return _network(name, alpha, list(zip(steps, trunk, strict=True)), top, weights)
    return None


# -- matching a file's layers with an architecture


def _aligned(weights: Weights, steps: list[Step]) -> "tuple[list[Arrays], dict[str, Arrays]]":
    """Return the weights of each step, found by the zoo's names or in order, and the weights of the top."""
    layers = {path: _with_depthwise(layer) for path, layer in weights.by_layer().items()}
    first = steps[0].name
    prefixes = [path.removesuffix(first) for path in layers if path == first or path.endswith(f"/{first}")]
    names = [prefixes[0] + step.name for step in steps] if prefixes else []
    if not names or not set(names) <= set(layers):
        if set(weights.order_problems) - {NESTED}:
            return [], {}
        names = [path for path in layers if _kind(layers[path])][: len(steps)]
    trunk = [layers[name] for name in names]
    if [_kind(layer) for layer in trunk] != [step.kind for step in steps] or not _connected(trunk):
        return [], {}
    return trunk, {path: layer for path, layer in layers.items() if path not in names and _kind(layer)}


def _with_depthwise(layer: "Arrays") -> "Arrays":
    """Rename a depthwise kernel, which Keras 3 calls kernel; it is recognized by its shape."""
    kernel = layer.get("kernel")
    if kernel is None or kernel.ndim != 4 or kernel.shape[:2] != (3, 3) or kernel.shape[2] in (1, 3):
        return layer
    return {("depthwise_kernel" if name == "kernel" else name): array for name, array in layer.items()}


def _kind(layer: "Arrays") -> str:
    if "moving_mean" in layer and "moving_variance" in layer:
        return "norm"
    if "depthwise_kernel" in layer:
        return "depthwise"
    kernel = layer.get("kernel")
    return {4: "conv", 2: "dense"}.get(kernel.ndim, "") if kernel is not None else ""


def _connected(trunk: "list[Arrays]") -> bool:
    channels = 0
    for layer in trunk:
        kernel = layer.get("kernel", layer.get("depthwise_kernel"))
        if kernel is None:
            fits = layer["moving_mean"].shape == (channels,)
        else:
            fits = channels in (0, kernel.shape[2])
            depthwise = "depthwise_kernel" in layer
            channels = kernel.shape[2] * kernel.shape[3] if depthwise else kernel.shape[3]
        if not fits:
            return False
    return True


# -- converting a network


def _network(name: str, alpha: float, pairs: "list[tuple[Step, Arrays]]", top: Any, weights: Weights) -> Network:
    rows = model_config.layers(weights.config)
    arguments: Arguments = {"alpha": alpha}
    multiplier = {layer["depthwise_kernel"].shape[3] for step, layer in pairs if step.kind == "depthwise"}
    if name == "mobilenet":
        arguments["depth_multiplier"] = min(multiplier)
    shape = model_config.input_shape(rows)
    # A nested network of Keras has its image size in its name, such as ``mobilenet_0.25_96``.
    named = re.match(r"mobilenet(?:v2)?_\d\.\d\d_(\d+)/", next(iter(weights.arrays)))
    if shape and shape[0] == shape[1]:
        arguments["input_size"] = shape[0]
    elif named:
        arguments["input_size"] = int(named[1])
    epsilons = [float(row.settings.get("epsilon", EPSILON)) for row in rows if row.kind == "batch_normalization"]
    arrays = _carried(pairs, epsilons)
    classes, problem, notes = _add_top(name, arrays, top, rows)
    scaling, words = _scaling(rows, pairs)
    other = _differences([step for step, _ in pairs], rows, min(multiplier) != max(multiplier), shape)
    activations = model_config.activations(rows)
    if not rows and "bias" in pairs[0][1]:
        words.append("Keras's own network has no biases here, so its activation may differ: ReLU6 is assumed")
    if activations == {"relu"} and name == "mobilenet":
        arguments["activation"] = "relu"
    elif activations - {"relu6"}:
        other.append(f"has the activation {' and '.join(sorted(activations))}")
    problem = "; ".join([*other, problem] if problem else other)
    channels = pairs[0][1]["kernel"].shape[2]
    return Network(name, arguments, classes, problem, scaling, [*notes, *words], channels, arrays)


def _carried(pairs: "list[tuple[Step, Arrays]]", epsilons: list[float]) -> "Arrays":
    """Return the weights by the zoo's names, with biases and epsilons moved into the batch normalizations."""
    arrays: Arrays = {}
    norms = iter(epsilons)
    bias: NDArray[np.float32] | float = 0.0
    for step, layer in pairs:
        if step.kind != "norm":
            kernel = "depthwise_kernel" if step.kind == "depthwise" else "kernel"
            arrays[f"{step.name}/{kernel}"] = layer[kernel]
            bias = layer.get("bias", 0.0)
            continue
        mean, variance = layer["moving_mean"], layer["moving_variance"]
        arrays[f"{step.name}/gamma"] = layer.get("gamma", np.ones_like(mean))
        arrays[f"{step.name}/beta"] = layer.get("beta", np.zeros_like(mean))
        arrays[f"{step.name}/moving_mean"] = mean - np.float32(bias)
        arrays[f"{step.name}/moving_variance"] = variance + np.float32(next(norms, EPSILON) - EPSILON)
    return arrays


def _add_top(name: str, arrays: "Arrays", top: "dict[str, Arrays]", rows: list[model_config.Layer]) -> Any:
    """Add the top under the zoo's name; return the number of classes, its problem, and notes."""
    width = arrays[list(arrays)[-1]].shape[0]
    described = listed(f"{path} {next(iter(layer.values())).shape}" for path, layer in top.items())
    if not top:
        return None, "contains no top with classes", []
    (path, layer), *rest = top.items()
    if rest or "kernel" not in layer or layer["kernel"].shape[:-1] not in ((width,), (1, 1, width)):
        return None, f"has an unsupported top (not one layer on the means of {width} maps): {described or path}", []
    means = ("global_average_pooling2d", "average_pooling2d")
    others = sorted({row.kind for row in rows if "pooling" in row.kind and row.kind not in means})
    others += model_config.head(rows)
    activation = model_config.output_activation(rows)
    kernel = layer["kernel"].reshape(width, -1)
    outputs = kernel.shape[1]
    wanted = ("sigmoid", "linear", None) if outputs == 1 else ("softmax", "linear", None)
    if others or activation not in wanted:
        what = ", ".join([*others, *([f"{outputs} outputs with {activation}"] if activation not in wanted else [])])
        return None, f"has an unsupported top: {what}", []
    bias, notes = layer.get("bias", np.zeros(outputs, np.float32)), []
    if outputs == 1:  # sigmoid(z) is the second value of softmax((0, z))
        kernel, bias = np.concatenate([0 * kernel, kernel], 1), np.concatenate([0 * bias, bias])
        notes.append("its one output, a sigmoid, is the probability of the second of two classes")
    elif activation == "linear":
        notes.append("its outputs have no activation, and get a softmax")
    key = "conv_preds" if name == "mobilenet" else "predictions"
    arrays[f"{key}/kernel"] = kernel.reshape(1, 1, *kernel.shape) if name == "mobilenet" else kernel
    arrays[f"{key}/bias"] = bias
    return kernel.shape[1], "", notes


def _differences(steps: list[Step], rows: list[model_config.Layer], uneven: bool, shape: list[int] | None) -> list[str]:
    strides = model_config.strides(rows)[: len(steps) // 2]
    wanted = [step.stride for step in steps if step.kind != "norm"]
    checks = {
        "has other strides than the published network": bool(strides) and strides != wanted,
        "takes images that are not square": shape is not None and shape[0] != shape[1],
        "has depthwise convolutions with different numbers of outputs per channel": uneven,
    }
    return [words for words, wrong in checks.items() if wrong]


def _scaling(
    rows: list[model_config.Layer], pairs: "list[tuple[Step, Arrays]]"
) -> tuple[model_config.Scaling | None, list[str]]:
    scaling, strange = model_config.scaling(rows)
    notes = []
    if strange:
        notes.append(f"the effect of its layers {listed(strange)} on pixels is unknown; set scale=")
    # Some old versions of MobileNet pad maps on all sides before a stride.
    if any(row.settings.get("padding") in ([1, 1], [[1, 1], [1, 1]]) for row in rows if "padding" in row.kind):
        notes.append(
            "it pads maps on both sides, as Keras once did, the zoo on one side: probabilities differ a little"
        )
    if scaling:
        return (None if np.allclose(scaling, SYMMETRIC) else scaling), notes
    word = _scaling_by_statistics(pairs[0][1], pairs[1][1])
    if word in _WORDS:
        span = "0 to 1" if word == "unit" else "0 to 255"
        notes.append(f"its first normalization shows that pixels are scaled to {span}; scale= overrides this")
    return _WORDS.get(word), notes


def _scaling_by_statistics(conv: "Arrays", norm: "Arrays") -> str:
    """Return the scaling of photos that matches the moving mean of the first normalization, or "".

    For pixels with mean m, the mean output of a convolution is m times the sum of its weights, plus its bias.
    """
    sums = conv["kernel"].sum((0, 1, 2)).astype(float)
    seen = (norm["moving_mean"] - conv.get("bias", 0.0)).astype(float)
    if not np.square(sums).sum() or np.allclose(seen, 0.0):
        return ""
    mean = float((sums * seen).sum() / np.square(sums).sum())
    distances = {word: abs(mean - usual) / deviation for word, (usual, deviation) in _PHOTOS.items()}
    best = min(distances, key=lambda word: distances[word])
    return best if distances[best] < 1.0 else ""

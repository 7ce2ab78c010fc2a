"""Rename weights of ``torch.nn.TransformerEncoder`` to the zoo's names and layout, and back.

PyTorch stores kernels as (out, in), the zoo as (in, out); both concatenate queries, keys and values.
"""

import math
import re
from dataclasses import replace

from zoo.weights.formats import Arrays, Weights, natural

_OURS = {
    "self_attn.in_proj_weight": "attention_kernel", "self_attn.in_proj_bias": "attention_bias",
    "self_attn.out_proj.weight": "output_kernel", "self_attn.out_proj.bias": "output_bias",
    "norm1.weight": "norm1_gamma", "norm1.bias": "norm1_beta",
    "linear1.weight": "inner_kernel", "linear1.bias": "inner_bias",
    "linear2.weight": "outer_kernel", "linear2.bias": "outer_bias",
    "norm2.weight": "norm2_gamma", "norm2.bias": "norm2_beta",
}  # fmt: skip
_THEIRS = {ours: theirs for theirs, ours in _OURS.items()}
_NORM = {"norm.weight": "norm/gamma", "norm.bias": "norm/beta"}
_ATTENTION = re.compile(r"(?P<prefix>(?:.+\.)?)layers\.0\.self_attn\.in_proj_weight")


def to_zoo(weights: Weights) -> Weights:
    """Rename the weights of an encoder to the zoo's names; keep other weights."""
    first = next((match for name in weights.arrays if (match := _ATTENTION.fullmatch(name))), None)
    if first is None:
        return weights
    rows = {name: _parsed(name, first["prefix"]) for name in weights.arrays}
    arrays: Arrays = {}
    for name in sorted(rows, key=lambda name: (*rows[name][:2], natural(name))):
        ours = rows[name][2]
        array = weights.arrays[name]
        arrays[ours or name] = array.T.copy() if ours.endswith("_kernel") else array
    return replace(weights, arrays=arrays, kind=f"{weights.kind} with PyTorch's names", classes={}, order_problems=())


def _parsed(name: str, prefix: str) -> tuple[float, int, str]:
    """Return the layer of a weight (infinity for none), its place there, and the zoo's name, or an empty text."""
    short = name.removeprefix(prefix) if name.startswith(prefix) else ""
    layer = re.fullmatch(r"layers\.(\d+)\.(.+)", short)
    if layer is None:
        return math.inf, 0, _NORM.get(short, "")
    number, places = int(layer[1]), list(_OURS)
    if layer[2] not in _OURS:
        return number, len(places), ""
    return number, places.index(layer[2]), f"layer{number + 1}/{_OURS[layer[2]]}"


def to_torch(weights: Weights) -> Weights:
    """Rename the weights of an encoder to the names of ``torch.nn.TransformerEncoder``; keep other weights."""
    arrays: Arrays = {}
    for name, array in weights.arrays.items():
        inside = re.fullmatch(r"layer(\d+)/(.+)", name)
        if inside and inside[2] in _THEIRS:
            theirs = f"layers.{int(inside[1]) - 1}.{_THEIRS[inside[2]]}"
            arrays[theirs] = array.T.copy() if name.endswith("_kernel") else array
        else:
            arrays[{"norm/gamma": "norm.weight", "norm/beta": "norm.bias"}.get(name, name)] = array
    return replace(weights, arrays=arrays, classes={})

"""Rename weights of ``torch.nn.TransformerEncoder`` to the zoo's names and layout, and back.

PyTorch stores kernels as (out, in), the zoo as (in, out); both concatenate queries, keys and values.
"""

import re
from collections.abc import Callable
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
_LAST = {"weight": "gamma", "bias": "beta"}
_ATTENTION = re.compile(r"(?P<prefix>(?:.+\.)?)layers\.0\.self_attn\.in_proj_weight")


def to_zoo(weights: Weights) -> Weights:
    """Rename the weights of an encoder to the zoo's names; keep other weights."""
    first = next((match for name in weights.arrays if (match := _ATTENTION.fullmatch(name))), None)
    if first is None:
        return weights
    arrays: Arrays = {}
    for name in sorted(weights.arrays, key=_order(first["prefix"])):
        ours = _ours(name, first["prefix"])
        array = weights.arrays[name]
        arrays[ours or name] = array.T.copy() if ours and ours.endswith("_kernel") else array
    return replace(weights, arrays=arrays, kind=f"{weights.kind} with PyTorch's names", classes={}, order_problems=())


def _order(prefix: str) -> Callable[[str], tuple[object, ...]]:
    places = {f"layers.{theirs}": place for place, theirs in enumerate(_OURS)}

    def key(name: str) -> tuple[object, ...]:
        short = re.sub(r"layers\.\d+\.", "layers.", name.removeprefix(prefix), count=1)
        layer = re.match(r"layers\.(\d+)\.", name.removeprefix(prefix))
        return (layer is None, int(layer[1]) if layer else 0, places.get(short, len(places)), natural(name))

    return key


def _ours(name: str, prefix: str) -> str | None:
    if not name.startswith(prefix):
        return None
    inside = re.fullmatch(r"layers\.(\d+)\.(.+)", name.removeprefix(prefix))
    if inside and inside[2] in _OURS:
        return f"layer{int(inside[1]) + 1}/{_OURS[inside[2]]}"
    last = re.fullmatch(r"norm\.(weight|bias)", name.removeprefix(prefix))
    return f"norm/{_LAST[last[1]]}" if last else None


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

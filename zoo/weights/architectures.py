"""The layers with weights of the zoo's MobileNets, for comparison with weights files."""

from collections.abc import Callable
from dataclasses import dataclass

# Filters and stride of the separable blocks of MobileNet v1; rows of Table 2 of MobileNetV2.
_V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))
_V2 = ((16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1))
_PUBLISHED_ALPHAS = (0.25, 0.35, 0.5, 0.75, 1.0, 1.3, 1.4)


@dataclass(frozen=True)
class Step:
    """A layer of an architecture: its name in the zoo, its kind, its outputs at full width, and its stride.

    Kinds are ``conv``, ``depthwise`` and ``norm``; outputs of 0 depend on the inputs.
    """

    name: str
    kind: str
    outputs: int = 0
    stride: int = 1


def _v1_steps() -> list[Step]:
    steps = [Step("conv1", "conv", 32, 2), Step("conv1_bn", "norm")]
    for number, (outputs, stride) in enumerate(_V1, 1):
        steps += [Step(f"conv_dw_{number}", "depthwise", stride=stride), Step(f"conv_dw_{number}_bn", "norm")]
        steps += [Step(f"conv_pw_{number}", "conv", outputs), Step(f"conv_pw_{number}_bn", "norm")]
    return steps


def _v2_steps() -> list[Step]:
    steps = [Step("Conv1", "conv", 32, 2), Step("bn_Conv1", "norm")]
    number = 0
    for outputs, repeats, first in _V2:
        for repeat in range(repeats):
            prefix = f"block_{number}_" if number else "expanded_conv_"
            stride = 1 if repeat else first
            if number:
                steps += [Step(f"{prefix}expand", "conv"), Step(f"{prefix}expand_BN", "norm")]
            steps += [Step(f"{prefix}depthwise", "depthwise", stride=stride), Step(f"{prefix}depthwise_BN", "norm")]
            steps += [Step(f"{prefix}project", "conv", outputs), Step(f"{prefix}project_BN", "norm")]
            number += 1
    return [*steps, Step("Conv_1", "conv", 1280), Step("Conv_1_bn", "norm")]


def alpha(name: str, outputs: list[int]) -> float | None:
    """Return the width multiplier of a network from the outputs of its steps, or None if they do not agree."""
    steps, wanted = STEPS[name]
    pairs = [(step.outputs, filters) for step, filters in zip(steps, outputs, strict=True) if step.outputs]
    shares = (*_PUBLISHED_ALPHAS, *(number / 100 for number in range(5, 401)))
    return next((share for share in shares if all(wanted(full, share) == filters for full, filters in pairs)), None)


def _v2_filters(outputs: int, alpha: float) -> int:
    filters = 1280 * max(1.0, alpha) if outputs == 1280 else 32 * alpha if outputs == 32 else int(outputs * alpha)
    nearest = max(8, int(filters + 4) // 8 * 8)
    return nearest if nearest >= 0.9 * filters else nearest + 8


STEPS: dict[str, tuple[list[Step], Callable[[int, float], int]]] = {
    "mobilenet": (_v1_steps(), lambda outputs, alpha: int(outputs * alpha)),
    "mobilenet_v2": (_v2_steps(), _v2_filters),
}

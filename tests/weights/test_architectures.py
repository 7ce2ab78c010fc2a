"""zoo.weights.architectures: the published numbers of filters tell the width of a network."""

import pytest

from zoo.weights import architectures

# As published with Keras's weights: the first convolution, the blocks, the last convolution.
V1 = {0.25: [8, 16, 32, 32, 64, 64, *[128] * 6, 256, 256], 1.0: [32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024]}
V2 = {
    0.35: [16, 8, 8, 16, 24, 32, 56, 112, 1280],
    1.0: [32, 16, 24, 32, 64, 96, 160, 320, 1280],
    1.4: [48, 24, 32, 48, 88, 136, 224, 448, 1792],
}
REPEATS = (1, 1, 2, 3, 4, 3, 3, 1, 1)
V2_STRIDES = [1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]


def outputs(name: str, filters: list[int]) -> list[int]:
    """The filters of every step; those of other steps are not looked at."""
    left = list(filters)
    return [left.pop(0) if step.outputs else -1 for step in architectures.STEPS[name][0]]


@pytest.mark.parametrize("alpha", V1)
def test_the_width_of_mobilenet(alpha: float) -> None:
    assert architectures.alpha("mobilenet", outputs("mobilenet", V1[alpha])) == alpha


@pytest.mark.parametrize("alpha", V2)
def test_the_width_of_mobilenet_v2(alpha: float) -> None:
    filters = [number for number, times in zip(V2[alpha], REPEATS, strict=True) for _ in range(times)]
    assert architectures.alpha("mobilenet_v2", outputs("mobilenet_v2", filters)) == alpha


def test_other_widths_are_found_in_hundredths_or_not_at_all() -> None:
    filters = [int(full * 0.33) for full in V1[1.0]]
    assert architectures.alpha("mobilenet", outputs("mobilenet", filters)) == 0.33
    assert architectures.alpha("mobilenet", outputs("mobilenet", [full * 4 for full in V1[1.0]])) == 4.0
    assert architectures.alpha("mobilenet", outputs("mobilenet", [full * 5 for full in V1[1.0]])) is None
    assert architectures.alpha("mobilenet", outputs("mobilenet", [*V1[1.0][:-1], 1000])) is None


def test_the_layers_of_both_networks() -> None:
    first, second = architectures.STEPS["mobilenet"][0], architectures.STEPS["mobilenet_v2"][0]
    assert (len(first), len(second)) == (54, 104)
    assert [step.name for step in first[:6]] == [
        "conv1", "conv1_bn", "conv_dw_1", "conv_dw_1_bn", "conv_pw_1", "conv_pw_1_bn",
    ]  # fmt: skip
    assert [step.name for step in second[:9]] == [
        "Conv1", "bn_Conv1", "expanded_conv_depthwise", "expanded_conv_depthwise_BN", "expanded_conv_project",
        "expanded_conv_project_BN", "block_1_expand", "block_1_expand_BN", "block_1_depthwise",
    ]  # fmt: skip
    assert [step.name for step in second[-4:]] == ["block_16_project", "block_16_project_BN", "Conv_1", "Conv_1_bn"]
    strides = {name: [step.stride for step in steps if step.kind == "depthwise"] for name, (steps, _) in
               architectures.STEPS.items()}  # fmt: skip
    assert strides["mobilenet"] == [1, 2, 1, 2, 1, 2, *[1] * 5, 2, 1]
    assert strides["mobilenet_v2"] == V2_STRIDES
    assert [step.stride for step in (*first, *second) if step.kind != "depthwise" and step.stride != 1] == [2, 2]

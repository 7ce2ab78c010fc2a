"""zoo.weights.plain_networks: the answers of both MobileNets are those of convolutions written out as sums."""

import numpy as np
import pytest

from tests.weights.test_architectures import V2_STRIDES
from zoo.weights import plain_networks

WIDTH, CLASSES = 4, 3
Arrays = dict[str, np.ndarray]


class Reference:
    """A network that draws the weights of its layers as it goes, and computes with them."""

    def __init__(self) -> None:
        self.arrays, self.random = Arrays(), np.random.default_rng(1)

    def draw(self, name: str, *shape: int) -> np.ndarray:
        self.arrays[name] = self.random.normal(0, 0.6, shape).astype("f4")
        return self.arrays[name].astype(float)

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        gamma, beta, mean = (self.draw(f"{name}/{part}", x.shape[-1]) for part in ("gamma", "beta", "moving_mean"))
        self.arrays[f"{name}/moving_variance"] = variance = self.random.uniform(0.5, 2, x.shape[-1]).astype("f4")
        return (x - mean) / np.sqrt(variance + 1e-3) * gamma + beta

    def relu6(self, name: str, x: np.ndarray) -> np.ndarray:
        return np.clip(self.norm(name, x), 0, 6)

    def seen(self, x: np.ndarray, stride: int) -> np.ndarray:
        near = 1 if stride == 1 else 0  # as TensorFlow pads even edges
        padded = np.pad(x, ((near, 1), (near, 1), (0, 0)))
        return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (0, 1))[::stride, ::stride]

    def first(self, name: str, x: np.ndarray) -> np.ndarray:
        return np.einsum("hwcij,ijco->hwo", self.seen(x, 2), self.draw(f"{name}/kernel", 3, 3, 3, WIDTH))

    def depthwise(self, name: str, x: np.ndarray, stride: int) -> np.ndarray:
        kernel = self.draw(f"{name}/depthwise_kernel", 3, 3, x.shape[-1], 1)
        return np.einsum("hwcij,ijc->hwc", self.seen(x, stride), kernel[..., 0])

    def point(self, name: str, x: np.ndarray, outputs: int) -> np.ndarray:
        return x @ self.draw(f"{name}/kernel", 1, 1, x.shape[-1], outputs)[0, 0]

    def mobilenet(self, x: np.ndarray) -> np.ndarray:
        x = self.relu6("conv1_bn", self.first("conv1", x))
        for number, stride in enumerate([1, 2, 1, 2, 1, 2, *[1] * 5, 2, 1], 1):
            x = self.relu6(f"conv_dw_{number}_bn", self.depthwise(f"conv_dw_{number}", x, stride))
            x = self.relu6(f"conv_pw_{number}_bn", self.point(f"conv_pw_{number}", x, WIDTH))
        return self.point("conv_preds", x.mean((0, 1)), CLASSES) + self.draw("conv_preds/bias", CLASSES)

    def mobilenet_v2(self, x: np.ndarray) -> np.ndarray:
        x = self.relu6("bn_Conv1", self.first("Conv1", x))
        for number, stride in enumerate(V2_STRIDES):
            name, before = f"block_{number}" if number else "expanded_conv", x
            if number:
                x = self.relu6(f"{name}_expand_BN", self.point(f"{name}_expand", x, 2 * WIDTH))
            x = self.relu6(f"{name}_depthwise_BN", self.depthwise(f"{name}_depthwise", x, stride))
            outputs = WIDTH + (number in (4, 9))
            x = self.norm(f"{name}_project_BN", self.point(f"{name}_project", x, outputs))
            x = x + before if x.shape == before.shape else x
        x = self.relu6("Conv_1_bn", self.point("Conv_1", x, 2 * WIDTH)).mean((0, 1))
        return x @ self.draw("predictions/kernel", 2 * WIDTH, CLASSES) + self.draw("predictions/bias", CLASSES)


@pytest.mark.parametrize("name", ["mobilenet", "mobilenet_v2"])
def test_chances_are_those_of_the_reference(name: str) -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    reference = Reference()
    logits = getattr(reference, name)(pixels / 127.5 - 1)
    chances = np.exp(logits) / np.exp(logits).sum()
    assert chances.min() > 1e-3, "says nothing"
    np.testing.assert_allclose(plain_networks.probabilities(name, reference.arrays, pixels), chances, rtol=2e-3)

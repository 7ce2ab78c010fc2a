"""Weights drawn at random, for tests of files of weights."""

import numpy as np

from zoo.weights.formats import Weights

KINDS = ("w.npz", "w.h5", "w.weights.h5", "w.safetensors")
SHAPES = {
    "stem/kernel": (3, 3, 3, 4),
    "stem_bn/gamma": (4,),
    "stem_bn/beta": (4,),
    "stem_bn/moving_mean": (4,),
    "stem_bn/moving_variance": (4,),
    "dw/depthwise_kernel": (3, 3, 4, 1),
    "again/kernel": (3, 3, 4, 4),
    "head/kernel": (4, 2),
    "head/bias": (2,),
}


def drawn(shapes: dict[str, tuple[int, ...]] = SHAPES) -> Weights:
    """Draw weights of some shapes."""
    random = np.random.default_rng(0)
    return Weights({name: random.normal(size=shape).astype("f4") for name, shape in shapes.items()}, "test")


def assert_same(weights: Weights, wanted: Weights) -> None:
    """Fail unless names, order and numbers are the same."""
    assert list(weights.arrays) == list(wanted.arrays)
    for name, array in wanted.arrays.items():
        assert weights.arrays[name].dtype == np.float32
        np.testing.assert_array_equal(weights.arrays[name], array)


MOBILENET_FILTERS = (64, 128, 128, 256, 256, *(512,) * 6, 1024, 1024)


def mobilenet(alpha: float = 0.25, classes: int | None = 1000, biased: bool = False) -> Weights:
    """Draw weights of MobileNet v1 as Keras names them; None for classes leaves the top out."""
    shapes: dict[str, tuple[int, ...]] = {}

    def add(name: str, kernel: tuple[int, ...], weight: str = "kernel", norm: str | None = None) -> None:
        shapes[f"{name}/{weight}"] = kernel
        outputs = kernel[2] if weight == "depthwise_kernel" else kernel[3]
        if biased or norm is None:
            shapes[f"{name}/bias"] = (outputs,)
        parts = ("gamma", "beta", "moving_mean", "moving_variance") if norm else ()
        shapes.update({f"{norm}/{part}": (outputs,) for part in parts})

    inputs = int(32 * alpha)
    add("conv1", (3, 3, 3, inputs), norm="conv1_bn")
    for number, filters in enumerate(MOBILENET_FILTERS, 1):
        outputs = int(filters * alpha)
        add(f"conv_dw_{number}", (3, 3, inputs, 1), "depthwise_kernel", f"conv_dw_{number}_bn")
        add(f"conv_pw_{number}", (1, 1, inputs, outputs), norm=f"conv_pw_{number}_bn")
        inputs = outputs
    if classes:
        add("conv_preds", (1, 1, inputs, classes))
    return drawn(shapes)

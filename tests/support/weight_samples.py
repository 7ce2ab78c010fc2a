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

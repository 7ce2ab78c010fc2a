"""zoo.models.compat.tensors: what the layers of texts compute, with numpy in the place of Keras's operations."""

import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def tensors() -> Iterator[Any]:
    """The module, on a Keras 3 whose operations are numpy's; it is forgotten afterwards."""
    keras, ops = types.ModuleType("keras"), types.ModuleType("ops")
    vars(ops).update(vars(np), cast=lambda x, dtype: np.asarray(x, dtype))
    backend = types.SimpleNamespace(backend=lambda: "numpy")
    config = types.SimpleNamespace(floatx=lambda: "float32")
    layers = types.SimpleNamespace(Layer=object)
    vars(keras).update(__version__="3.15.1", ops=ops, backend=backend, config=config, layers=layers)
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "keras", keras)
        patch.delenv("ZOO_KERAS", raising=False)
        from zoo.models.compat import tensors

        yield tensors
    for name in set(sys.modules) - known:
        if name.startswith("zoo.models"):
            module = sys.modules.pop(name)
            vars(sys.modules.get(name.rpartition(".")[0], module)).pop(name.rpartition(".")[2], None)


X = np.array([[[1.0, -5.0], [2.0, -6.0], [9.0, 9.0]], [[7.0, 7.0], [8.0, 8.0], [9.0, 9.0]]])
KEEP = np.array([[1, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("kind", "pooled"),
    [("mean", [[1.5, -5.5], [0, 0]]), ("max", [[2, -5], [0, 0]]), ("first", [[1, -5], [7, 7]])],
)
def test_pooling_leaves_padding_out(tensors: Any, kind: str, pooled: list[list[float]]) -> None:
    np.testing.assert_array_equal(tensors.pool(X, KEEP, kind), pooled)

"""What tests of the worker share."""

import sys
import types
from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(scope="module")
def keras() -> Iterator[types.ModuleType]:
    """A stub for Keras, which the host does not have; modules of the worker are forgotten afterwards."""
    stub = types.ModuleType("keras")
    backend = types.SimpleNamespace(backend=lambda: "numpy")
    layers = types.SimpleNamespace(Layer=object)
    stub.__dict__.update(__version__="3.15.1", ops=np, layers=layers, backend=backend)
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "keras", stub)
        patch.delenv("ZOO_KERAS", raising=False)
        yield stub
    for name in set(sys.modules) - known:
        if name.startswith(("zoo.models", "zoo.worker")):
            forget(name)


def forget(name: str) -> None:
    """Drop a module, also from its package, where ``from package import module`` would find it again."""
    del sys.modules[name]
    package, _, module = name.rpartition(".")
    if package in sys.modules:
        vars(sys.modules[package]).pop(module, None)

"""Provide NumPy and Pillow, loaded on first use, because most commands do not need them."""

import importlib
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["Arrays", "Bytes", "Image", "NDArray", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image
else:

    class _Lazy:
        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> Any:
            return getattr(sys.modules.get(self._module) or importlib.import_module(self._module), name)

    np, Image, NDArray = _Lazy("numpy"), _Lazy("PIL.Image"), "numpy.typing.NDArray, for annotations"

Bytes: TypeAlias = "NDArray[np.uint8]"
Arrays: TypeAlias = "dict[str, NDArray[Any]]"

"""Provide NumPy, loaded on first use: most commands need no arrays and would wait for it."""

from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["Arrays", "Bytes", "NDArray", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class _Numpy:
        def __getattr__(self, name: str) -> Any:
            import numpy

            return getattr(numpy, name)

    np, NDArray = _Numpy(), "numpy.typing.NDArray, for annotations"

Bytes: TypeAlias = "NDArray[np.uint8]"
Arrays: TypeAlias = "dict[str, NDArray[Any]]"

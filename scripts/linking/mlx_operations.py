"""Read which of MLX's operations have no kernel for Apple's GPU, from the library in its wheel.

Each operation has a function ``eval_gpu``; that of an operation without a kernel throws an error, whose text names
it. The types of the kernels are not read; the GPU takes no 64-bit floating-point numbers.
"""

import re
from pathlib import Path

LIBRARY = "libmlx.dylib"
_FUNCTION = re.compile(rb"_ZN3mlx4core(?:4fast)?(\d+)([A-Za-z]\w*)")
_REFUSED = re.compile(rb"\[(\w+)::eval_gpu\] (?:has no GPU implementation|Not implemented|Metal [\w ]+ NYI)")
# Names that an array's graph shows -> class of the operation, where they differ.
CLASSES = {
    **dict.fromkeys(("And", "Or", "Sum", "Prod", "Min", "Max"), "Reduce"),
    **dict.fromkeys(("CumSum", "CumProd", "CumMin", "CumMax", "CumLogAddExp"), "Scan"),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift"), "BitwiseBinary"),
    **dict.fromkeys(("ArgMin", "ArgMax"), "ArgReduce"),
    **dict.fromkeys(("Log2", "Log10"), "Log"),
    **dict.fromkeys(("ScatterSum", "ScatterProd", "ScatterMin", "ScatterMax"), "Scatter"),
    "Rsqrt": "Sqrt", "NaNEqual": "Equal",
}  # fmt: skip


def kernels(library: Path) -> tuple[set[str], set[str]]:
    """Return the operations with a function for the GPU, and those of them whose function only throws an error."""
    data = library.read_bytes()
    functions = set()
    for match in _FUNCTION.finditer(data):
        name, rest = match[2][: int(match[1])], match[2][int(match[1]) :]
        if rest.startswith(b"8eval_gpu"):
            functions.add(name.decode("ascii"))
    return functions, {name.decode("ascii") for name in _REFUSED.findall(data)}


def sort_out(calls: "dict[str, list[str]]", functions: set[str], refused: set[str]) -> tuple[list[str], list[str]]:
    """Return the operations that the GPU refuses, and those that the library does not name."""
    classes = {name: CLASSES.get(name, name) for name in calls}
    lacking = [name for name, each in classes.items() if each in refused]
    return lacking, [name for name, each in classes.items() if each not in functions and each not in refused]

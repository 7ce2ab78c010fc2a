"""Read and write images in .npy files a few megabytes at a time, because a file may exceed the memory."""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from zoo.core import console
from zoo.core.arrays import Bytes, NDArray, np
from zoo.core.errors import ZooError, counted

PART_BYTES = 2**22
NUMBERS = "It must be uint8 (0 to 255), or floats from 0 to 1."


class NpyImages:
    """The images of a .npy file, (n, height, width, 1) as uint8, as a reusable iterable of parts.

    The file contains uint8, or floats of 0 to 1, as (n, height, width), (n, height, width, 1), (n, height*width) or
    (height, width).

    Args:
        shape: (height, width, 1) of one image.
    """

    def __init__(self, path: Path, shape: tuple[int, ...]) -> None:
        self._path, self._shape = path, shape
        array = _mapped(path)
        height, width = shape[:2]
        tails = ((height, width), (height, width, 1), (height * width,))
        if array.size == 0 or (array.shape != (height, width) and array.shape[1:] not in tails):
            raise ZooError(
                f"The array in {path} has the shape {array.shape}",
                f"It must be (n, {height}, {width}), (n, {height}, {width}, 1), (n, {height * width}) or "
                f"({height}, {width}), with n at least 1.",
            )
        self._single = array.shape == (height, width)
        self._count = 1 if self._single else len(array)
        self._floats = array.dtype.kind == "f"
        if self._floats:
            low, high = np.inf, -np.inf
            for part in self._parts():
                # Unlike Python's min and max, these propagate NaN.
                low, high = np.minimum(low, part.min()), np.maximum(high, part.max())
            if not (low >= 0.0 and high <= 1.0):
                raise ZooError(f"The numbers of the array in {path} go from {low:g} to {high:g}", NUMBERS)
        elif array.dtype != "u1":
            raise ZooError(f"The array in {path} is of the type {array.dtype}", NUMBERS)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator["Bytes"]:
        for part in self._parts():
            yield (np.rint(part * 255.0) if self._floats else part).astype(np.uint8)

    def _parts(self) -> Iterator["NDArray[Any]"]:
        """Yield copies of successive rows; the file is mapped only briefly, because mapped pages count as memory."""
        step = max(1, PART_BYTES // (self._shape[0] * self._shape[1]))
        with console.bar(f"Reading {counted(self._count, 'image')}", self._count) as bar:
            for begin in range(0, self._count, step):
                array = _mapped(self._path)
                rows = array[None] if self._single else array
                part = np.array(rows[begin : begin + step], order="C")
                yield part.reshape(-1, *self._shape)
                bar.advance(len(part))


def save_arrays(folder: Path, arrays: "Mapping[str, NDArray[Any]]") -> None:
    """Save each array as ``NAME.npy`` in a folder; raise OSError if that fails."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)


def write(path: Path, count: int, parts: "Iterator[Bytes]") -> None:
    """Write parts of an array, ``count`` rows in total, to a .npy file; raise OSError if that fails."""
    with path.open("wb") as out:
        for number, part in enumerate(parts):
            if not number:
                write_header(out, "|u1", (count, *part.shape[1:]))
            out.write(np.ascontiguousarray(part).data)


def write_header(out: BinaryIO, kind: str, shape: tuple[int, ...]) -> None:
    """Write the header of a .npy file; its length does not depend on the first size, because numpy leaves room."""
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})


def _mapped(path: Path) -> "NDArray[Any]":
    """Map the file instead of reading it, because a header may claim any size."""
    try:
        with path.open("rb") as stream:
            magic = stream.read(6)
        if magic != b"\x93NUMPY":
            raise ZooError(
                f"{path} is not a .npy array" + ("" if magic else ": it is empty"), "Write it with numpy.save."
            )
        with warnings.catch_warnings(action="ignore"):
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except ZooError:
        raise
    # Malformed headers raise nearly any exception.
    except Exception as error:
        raise ZooError(
            f"The array in {path} cannot be read: {str(error).partition(chr(10))[0]}",
            "It must be whole, and of plain numbers (no objects). Write it with numpy.save.",
        ) from error
    return array

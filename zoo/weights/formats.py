"""Read and write files of plain arrays, ``.npz`` and ``.safetensors``; define the limits for all formats.

Sizes declared in a file are checked before memory is allocated, and nothing is unpickled.
"""

import contextlib
import json
import lzma
import math
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from zoo.core.errors import ZooError
from zoo.core.files import storage_error

Arrays = dict[str, NDArray[np.float32]]
MOST_BYTES = 4 << 30
# Trained weights hardly compress, so a ratio of 100 indicates an attack. Small files may consist of zeros, so the
# limit applies above a harmless size.
MOST_EXPANSION = 100
HARMLESS_BYTES = 64 << 20
MOST_ENTRIES = 100_000
MOST_JSON_BYTES = 64 << 20
# Exceptions of zipfile, zlib, numpy, h5py and json for damaged and malicious files.
_BROKEN = (
    ValueError, KeyError, TypeError, AttributeError, RuntimeError, EOFError, NotImplementedError, MemoryError,
    OverflowError, RecursionError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip


@dataclass(frozen=True)
class Weights:
    """Weights by name, in the order of the layers.

    Attributes:
        arrays: float32 by ``layer/weight``; convolution kernels are (height, width, in, out).
        kind: description of the file.
        classes: Keras 3's name of the class of each layer (``depthwise_conv2d``), if the file has it.
        order_problems: why the order of the layers is unknown; empty if it is known.
        config: the model's configuration in Keras's form, if the file has one.
    """

    arrays: "Arrays"
    kind: str
    classes: dict[str, str] = field(default_factory=dict)
    order_problems: tuple[str, ...] = ()
    config: Any = None

    @property
    def parameters(self) -> int:
        return sum(array.size for array in self.arrays.values())

    def by_layer(self) -> "dict[str, Arrays]":
        """Return the weights of each layer by their own names; the layer of names without one is empty."""
        layers: dict[str, Arrays] = {}
        for name, array in self.arrays.items():
            layer, _, own = name.rpartition("/")
            layers.setdefault(layer, {})[own] = array
        return layers


class RejectedFileError(ZooError):
    """A file has invalid content; ``reason`` follows its name in the message."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} is refused: {reason}",
            "Download the file again, or save it again with the library that created it.",
        )


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise storage_error("read", path, error) from error
    except _BROKEN as error:
        raise RejectedFileError(path, f"it is damaged ({type(error).__name__}: {str(error)[:200]})") from error


def check_size(path: Path, declared: int, stored: int) -> None:
    """Raise an error if a file of ``stored`` bytes declares too many bytes of weights."""
    if declared > MOST_BYTES:
        raise RejectedFileError(path, f"it declares {declared:,} bytes of weights; at most {MOST_BYTES:,} are read")
    if declared > max(HARMLESS_BYTES, MOST_EXPANSION * stored):
        raise RejectedFileError(path, f"it declares {declared:,} bytes of weights but is only {stored:,} bytes long")


def as_float32(path: Path, name: str, array: "NDArray[np.generic]") -> "NDArray[np.float32]":
    if array.dtype.kind != "f":
        raise RejectedFileError(path, f"{name!r} is of type {array.dtype}; weights are floating-point numbers")
    return np.ascontiguousarray(array, np.float32).reshape(array.shape)


def from_bfloat16(raw: bytes, shape: tuple[int, ...]) -> "NDArray[np.float32]":
    """Unpack bfloat16, the upper half of a float32, from little-endian bytes."""
    return (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)


def check_names(path: Path, names: Iterable[str]) -> None:
    """Raise an error for names that no layer has: empty, very long, or with unprintable characters."""
    for name in names:
        if not name.isprintable() or not 0 < len(name) <= 500 or "" in name.split("/"):
            raise RejectedFileError(path, f"it contains an entry with the name {name[:100]!r}")


def check_finite(path: Path, arrays: "Arrays") -> None:
    for name, array in arrays.items():
        wrong = array.size - int(np.count_nonzero(np.isfinite(array)))
        if wrong:
            places = f"{wrong:,} of {array.size:,} places"
            raise RejectedFileError(path, f"{name!r} contains NaN or infinity in {places}; weights must be finite")


def read_npz(path: Path, archive: zipfile.ZipFile) -> Weights:
    members = archive.infolist()
    check_members(path, members)
    check_size(path, sum(member.file_size for member in members), path.stat().st_size)
    strange = [member.filename for member in members if not member.filename.endswith(".npy")]
    if strange:
        raise RejectedFileError(path, f"it contains {strange[0]!r}, which is not a NumPy array")
    arrays: Arrays = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        with archive.open(member) as stream:
            arrays[name] = as_float32(path, name, _read_npy(path, stream, member))
    check_names(path, arrays)
    # Alphabetical order is not the order of the layers: a kernel comes before its bias.
    is_sorted = len(arrays) > 1 and list(arrays) == sorted(arrays)
    problems = ("its entries are in alphabetical order, not in the order of the layers",) if is_sorted else ()
    return Weights(arrays, "numpy archive", order_problems=problems)


def check_members(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Raise an error for archives with too many members, or with two members of the same name."""
    if len(members) > MOST_ENTRIES:
        raise RejectedFileError(path, f"it contains {len(members):,} entries; at most {MOST_ENTRIES:,} are read")
    if len({member.filename for member in members}) != len(members):
        raise RejectedFileError(path, "it contains two entries with the same name")


def _read_npy(path: Path, stream: IO[bytes], member: zipfile.ZipInfo) -> "NDArray[np.generic]":
    """Read an array, after checking that its header does not declare more data than the member has."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise RejectedFileError(path, f"{member.filename!r} has version {version} of NumPy's format")
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(stream)
    if dtype.hasobject or dtype.kind != "f":
        raise RejectedFileError(path, f"{member.filename!r} is of type {dtype}; weights are floating-point numbers")
    declared = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or declared > member.file_size:
        stored = f"is {member.file_size:,} bytes long"
        raise RejectedFileError(path, f"{member.filename!r} declares the shape {shape}, but {stored}")
    content = stream.read(declared)
    if len(content) != declared:
        raise RejectedFileError(path, f"{member.filename!r} is truncated")
    array = np.frombuffer(content, dtype)
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def write_npz(path: Path, weights: Weights) -> None:
    """Write an ``.npz``; equal weights give identical files."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in weights.arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def read_safetensors(path: Path) -> Weights:
    """Read a ``.safetensors`` file; files of the zoo also store the order of the layers."""
    import safetensors

    check_size(path, path.stat().st_size, path.stat().st_size)
    content = path.read_bytes()
    try:
        entries = safetensors.deserialize(content)  # type: ignore[no-untyped-call]
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")], object_pairs_hook=_unique)
    except (safetensors.SafetensorError, ValueError, RecursionError) as error:
        raise RejectedFileError(path, f"it is not a complete safetensors file ({str(error)[:200]})") from error
    arrays: Arrays = {name: _tensor(path, name, entry) for name, entry in entries}
    check_names(path, arrays)
    order = _noted_order(header.get("__metadata__", {}), arrays)
    problems = ("it does not store the order of the layers",) if order is None else ()
    names = sorted(arrays) if order is None else order
    return Weights({name: arrays[name] for name in names}, "safetensors", order_problems=problems)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} appears twice")
    return dict(pairs)


_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}


def _tensor(path: Path, name: str, entry: dict[str, Any]) -> "NDArray[np.float32]":
    kind, raw, sizes = entry["dtype"], entry["data"], entry["shape"]
    if kind == "BF16":
        return from_bfloat16(bytes(raw), tuple(sizes))
    if kind not in _TYPES:
        raise RejectedFileError(path, f"{name!r} is of type {kind}; weights are floating-point numbers")
    return as_float32(path, name, np.frombuffer(raw, _TYPES[kind]).reshape(sizes))


def _noted_order(metadata: object, arrays: "Arrays") -> list[str] | None:
    note = metadata.get("order") if isinstance(metadata, dict) else None
    try:
        order = json.loads(note) if isinstance(note, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(order, list) or not all(isinstance(name, str) for name in order):
        return None
    return order if sorted(order) == sorted(arrays) else None


def write_safetensors(path: Path, weights: Weights) -> None:
    """Write a ``.safetensors`` file and store the order of its entries, because the library sorts them."""
    from safetensors.numpy import save  # its save_file allows only the owner to read the file

    note = {} if weights.order_problems else {"order": json.dumps(list(weights.arrays))}
    path.write_bytes(save(dict(weights.arrays), metadata={"format": "np", **note}))


def natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key under which ``conv2d_2`` comes before ``conv2d_10``."""
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", name)]

"""Read and write published weights: files of every Keras, numpy's and safetensors.

All of them become ``layer/weight`` -> float32, the content of the zoo's own ``weights.npz``. This is the only door
to h5py. Files may come from strangers: nothing is unpickled, no link is followed, and no size is believed that the
file cannot hold. HDF5 itself is read in a process apart, since its library can be made to hang.
"""

import contextlib
import io
import json
import lzma
import math
import mmap
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py  # type: ignore[import-untyped]
import numpy as np

from zoo.core.errors import ZooError
from zoo.core.files import storage_error
from zoo.weights import formats, keras2_layout, keras3_layout, manifest, sandbox, torch_names
from zoo.weights.formats import RejectedFileError, Weights
from zoo.weights.hdf5_order import names_as_made
from zoo.weights.keras_layout import Text, Tree, join

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Mismatch", "Summary", "Weights", "convert", "match", "read", "show", "write"]

HDF5_MAGIC = b"\x89HDF\r\n\x1a\n"
MISTAKEN = {
    b"<": "a web page",
    b"version https://git-lfs": "a pointer to a file that git-lfs did not fetch",
    b"\x80": "a Python pickle, which could run anything and is never opened",
}
# What damaged and hostile files make zipfile, zlib, numpy, h5py and json raise.
_BROKEN = (
    ValueError, KeyError, TypeError, AttributeError, RuntimeError, EOFError, NotImplementedError, MemoryError,
    OverflowError, RecursionError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
# deflate, shuffle, fletcher32 and lzf; any other filter would be code that HDF5 goes and loads.
_FILTERS = {1, 2, 3, 32000}
_ATTRIBUTES = {"layer_names", "weight_names", "keras_version", "backend", "model_config", "name", "dtype"}
_OPTIMIZERS = {"optimizer", "optimizer_weights"}
_DEEPEST = 32


@dataclass(frozen=True)
class Summary:
    """What was read or written, in lines for people."""

    lines: list[str]


@dataclass(frozen=True)
class Mismatch:
    """How weights differ from what a model wants.

    Attributes:
        missing: names that the model has and the weights have not.
        surplus: names that the weights have and the model has not.
        misshapen: name -> (shape in the weights, shape in the model).
    """

    missing: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    misshapen: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        """One sentence for every entry; empty where all fits."""
        return [
            *(f"missing {name}" for name in self.missing),
            *(f"surplus {name}" for name in self.surplus),
            *(f"{name} has shape {got}, the model needs {need}" for name, (got, need) in self.misshapen.items()),
        ]


def match(wanted: "Mapping[str, tuple[int, ...]]", arrays: "Mapping[str, NDArray[Any]]") -> Mismatch:
    """Hold weights against a model.

    Args:
        wanted: name -> shape of every weight of the model.
        arrays: name -> array.
    """
    return Mismatch(
        [name for name in wanted if name not in arrays],
        [name for name in arrays if name not in wanted],
        {
            name: (arrays[name].shape, tuple(shape))
            for name, shape in wanted.items()
            if name in arrays and arrays[name].shape != tuple(shape)
        },
    )


def read(path: Path) -> Weights:
    """Read a file of weights; its content tells of what kind it is, not its name.

    Keras 1 and 2 weights and models (``.h5``), Keras 3 (``.weights.h5``, ``.keras``), ``.npz``, ``.safetensors``,
    or the folder of a ``manifest.json``.

    Raises:
        ZooError: it cannot be read, is damaged, or holds what weights have no use for.
    """
    with _told(path):
        if manifest.describes(path):
            return manifest.read(path)
        with path.open("rb") as stream:
            head = stream.read(32)
        if head.startswith(HDF5_MAGIC) or _is_keras(path, head):
            found = sandbox.read(path)
        elif head.startswith(b"PK"):
            with zipfile.ZipFile(path) as archive:
                found = formats.read_npz(path, _without_pickle(path, archive))
        else:
            found = _read_rest(path, head)
    if not found.arrays:
        raise RejectedFileError(path, f"it is a {found.kind} file without a single weight")
    formats.check_names(path, found.arrays)
    return found


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of reading a file, in words."""
    try:
        yield
    except OSError as error:
        raise storage_error("read", path, error) from error
    except _BROKEN as error:
        raise RejectedFileError(path, f"it is damaged ({type(error).__name__}: {str(error)[:200]})") from error


def _without_pickle(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipFile:
    if any(name.endswith("/data.pkl") for name in archive.namelist()):
        raise ZooError(
            f"{path} is refused: it is a file of torch.save, a Python pickle, which could run anything "
            "and is never opened",
            'Save it where it was made: safetensors.torch.save_file(model.state_dict(), "weights.safetensors").',
        )
    return archive


def _is_keras(path: Path, head: bytes) -> bool:
    if not head.startswith(b"PK"):
        return False
    with zipfile.ZipFile(path) as archive:
        return "config.json" in archive.namelist()


def read_apart(path: str, folder: str) -> None:
    """What the process does that :mod:`zoo.weights.sandbox` starts."""

    def read_here(path: Path) -> Weights:
        with _told(path), path.open("rb") as stream:
            return _read_hdf5(path) if stream.read(8) == HDF5_MAGIC else _read_keras(path)

    sandbox.answer(Path(path), Path(folder), read_here)


def _read_rest(path: Path, head: bytes) -> Weights:
    if not head:
        raise RejectedFileError(path, "it is empty")
    for magic, words in MISTAKEN.items():
        if head.lstrip().startswith(magic) and path.suffix != ".safetensors":
            raise RejectedFileError(path, f"it is {words}")
    if path.suffix != ".safetensors":
        raise RejectedFileError(
            path, f"it is neither HDF5, .keras, .npz nor .safetensors; it begins with {head[:8]!r}"
        )
    return formats.read_safetensors(path)


def _read_keras(path: Path) -> Weights:
    with zipfile.ZipFile(path) as archive:
        formats.check_members(path, archive.infolist())
        inside = {member.filename: member for member in archive.infolist()}
        weights = inside.get("model.weights.h5")
        if weights is None:
            raise RejectedFileError(path, "it holds a configuration but no model.weights.h5")
        formats.check_size(path, weights.file_size, path.stat().st_size)
        config = _json(path, archive.read(_small(path, inside["config.json"])))
        content = io.BytesIO(archive.read(weights))
    with h5py.File(content, "r") as file:
        return keras3_layout.read_keras3(_tree(path, file, weights.file_size), config, "Keras 3 model")


def _small(path: Path, member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    if member.file_size > formats.MOST_JSON_BYTES:
        raise RejectedFileError(path, f"{member.filename!r} is {member.file_size:,} bytes long")
    return member


def _json(path: Path, text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RejectedFileError(path, f"the model's configuration is not JSON ({error})") from error


def _read_hdf5(path: Path) -> Weights:
    with h5py.File(path, "r") as file:
        tree = _tree(path, file, path.stat().st_size)
        root = "model_weights" if "model_weights" in tree.attributes else ""
        attributes = tree.attributes[root]
        if "layer_names" in attributes or "layer_names0" in attributes:
            config = _json(path, told) if isinstance(told := tree.attributes[""].get("model_config"), str) else None
            return keras2_layout.read_keras2(path, tree, root, config)
        if not tree.attributes.keys() & set(keras3_layout.CONTAINERS):
            raise RejectedFileError(
                path, f"it is HDF5, but not of Keras: it holds {', '.join(sorted(file)[:5]) or 'nothing'}"
            )
        with path.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for group in tree.attributes:
                made = names_as_made(content, h5py.h5o.get_info(file[group or "/"].id).addr)
                tree.order |= {group: made} if made else {}
    return keras3_layout.read_keras3(tree, None, "Keras 3 weights")


def _tree(path: Path, file: Any, stored: int) -> Tree:
    """Everything in an HDF5 file but the state of optimizers, once all of it is known to be harmless."""
    tree, datasets, seen = Tree(), dict[str, Any](), set[int]()
    pending: list[tuple[str, Any]] = [("", file)]
    while pending:
        name, group = pending.pop()
        address = h5py.h5o.get_info(group.id).addr
        if address in seen or name.count("/") > _DEEPEST or len(seen) + len(datasets) > formats.MOST_ENTRIES:
            raise RejectedFileError(
                path, f"its group {name!r} is in a circle, nested too deep, or one of far too many"
            )
        seen.add(address)
        tree.attributes[name] = _attributes(path, group)
        for member in group:
            where = join(name, member)
            if where in _OPTIMIZERS:
                continue
            item = _member(path, group, member, where)
            if isinstance(item, h5py.Group):
                pending.append((where, item))
            else:
                datasets[where] = item
    declared = sum(_declared(path, name, item, stored) for name, item in datasets.items())
    formats.check_size(path, declared, stored)
    tree.values = {name: _numbers(path, name, item) for name, item in datasets.items()}
    return tree


def _member(path: Path, group: Any, name: str, where: str) -> Any:
    """Open a member of a group; links that lead elsewhere are not followed."""
    link = group.get(name, getclass=True, getlink=True)
    if link is not h5py.HardLink:
        raise RejectedFileError(path, f"{where!r} is a link ({link.__name__}), which could lead anywhere")
    item = group[name]
    if not isinstance(item, h5py.Group | h5py.Dataset):
        raise RejectedFileError(path, f"{where!r} is neither a group nor an array")
    return item


def _declared(path: Path, name: str, item: Any, stored: int) -> int:
    """Bytes that an array takes in memory; refuses arrays whose numbers lie elsewhere, or nowhere."""
    if item.is_virtual or item.external:
        raise RejectedFileError(path, f"the numbers of {name!r} are in other files")
    if item.shape is None or not (item.dtype.kind == "f" or _is_bfloat16(item)):
        raise RejectedFileError(path, f"{name!r} is of type {item.dtype}; weights are floating-point numbers")
    declared: int = math.prod(item.shape) * item.dtype.itemsize
    plan = item.id.get_create_plist()
    filters = {plan.get_filter(index)[0] for index in range(plan.get_nfilters())}
    if filters - _FILTERS:
        raise RejectedFileError(path, f"{name!r} is packed by an unknown filter, {min(filters - _FILTERS)}")
    if not filters and declared > stored:
        raise RejectedFileError(
            path, f"{name!r} declares the shape {item.shape}, more than the {stored:,} bytes of the file"
        )
    return declared


def _is_bfloat16(item: Any) -> bool:
    """Keras 3 stores bfloat16 as two bytes without a meaning and writes the meaning beside them."""
    return item.dtype == np.dtype("V2") and "dtype" in item.attrs and item.attrs["dtype"] == "bfloat16"


def _numbers(path: Path, name: str, item: Any) -> "NDArray[np.float32]":
    content = np.asarray(item[()])
    if item.dtype.kind == "V":
        return formats.from_bfloat16(content.tobytes(), content.shape)
    return formats.as_float32(path, name, content)


def _attributes(path: Path, group: Any) -> dict[str, Text]:
    """The attributes that Keras writes, as text."""
    names = [name for name in group.attrs if name.rstrip("0123456789") in _ATTRIBUTES]
    return {name: _text(path, group, name) for name in names}


def _text(path: Path, group: Any, name: str) -> Text:
    kind = group.attrs.get_id(name)
    shape = kind.shape or ()
    if math.prod(shape) == 0:
        return []
    text = kind.dtype.kind == "S" or h5py.check_string_dtype(kind.dtype) is not None
    if not text or math.prod(shape) * kind.dtype.itemsize > formats.MOST_JSON_BYTES:
        raise RejectedFileError(path, f"its attribute {name!r} is not text, or far too long")
    value = group.attrs[name]
    return [_decoded(each) for each in value.reshape(-1)] if isinstance(value, np.ndarray) else _decoded(value)


def _decoded(value: Any) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def write(path: Path, weights: Weights) -> None:
    """Write weights; the end of the name tells as what.

    ``.npz``, ``.safetensors``, ``.weights.h5`` (Keras 3) or ``.h5`` (Keras 2). The last two are read by the order
    of the layers.

    Raises:
        ZooError: the name ends otherwise, the weights cannot be laid out so, or the file cannot be written.
    """
    make = _writer(path)
    aside = path.with_name(f".{path.name}.part")
    try:
        make(aside, weights)
        os.replace(aside, path)
    except OSError as error:
        raise storage_error("write", path, error) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)


def _writer(path: Path) -> Callable[[Path, Weights], None]:
    writers: dict[str, Callable[[Path, Weights], None]] = {
        ".npz": formats.write_npz,
        ".safetensors": formats.write_safetensors,
        ".weights.h5": lambda aside, weights: _write_hdf5(aside, keras3_layout.make_keras3(weights)),
        ".h5": lambda aside, weights: _write_hdf5(aside, keras2_layout.make_keras2(weights)),
    }
    for suffix, writer in writers.items():
        if path.name.endswith(suffix):
            return writer
    why = "; a .keras file holds the model itself, which weights do not tell" if path.suffix == ".keras" else ""
    raise ZooError(f"Weights cannot be written to {path.name!r}{why}", f"End the name in {', '.join(writers)}.")


def _write_hdf5(path: Path, tree: Tree) -> None:
    with h5py.File(path, "w") as file:
        for group, attributes in tree.attributes.items():
            made = file.require_group(group) if group else file
            for name, text in attributes.items():
                # Bytes of fixed length are what Keras 2 wrote and decodes.
                made.attrs[name] = np.array(
                    [each.encode() for each in text] if isinstance(text, list) else text.encode()
                )
        for name, array in tree.values.items():
            file.create_dataset(name, data=array, track_times=False)


def convert(source: Path, target: Path, names: str = "zoo") -> Summary:
    """Read weights of any kind and write them as the kind that the target's name ends in.

    Args:
        source: the file to read. Weights of ``torch.nn.TransformerEncoder`` are known by their names.
        target: the file to write.
        names: ``zoo``, the names of the zoo's own encoder, or ``torch``, those of PyTorch's.

    Raises:
        ZooError: the source cannot be read, or cannot become what was asked for.
    """
    _writer(target)
    weights = torch_names.to_zoo(read(source))
    if target.exists() and target.samefile(source):
        raise ZooError(f"{source} would be written over itself", "Name another file to write.")
    write(target, torch_names.to_torch(weights) if names == "torch" else weights)
    lines = [f"{source}: {_described(weights)}", f"{target}: written, {target.stat().st_size:,} bytes"]
    if target.name.endswith(".weights.h5"):
        counted = ", ".join(f"{count} {kind}" for kind, count in keras3_layout.classes_of(weights).items())
        lines.append(f"Layers by class: {counted}")
    return Summary(lines)


def show(path: Path) -> Summary:
    """List what a file of weights holds.

    Raises:
        ZooError: it cannot be read.
    """
    weights = read(path)
    width = max(len(name) for name in weights.arrays)
    rows = [f"{name:<{width}}  {array.shape}" for name, array in weights.arrays.items()]
    doubts = [f"It cannot become .h5 or .weights.h5: {doubt}" for doubt in weights.order_problems]
    return Summary([f"{path}: {_described(weights)}", *doubts, *rows])


def _described(weights: Weights) -> str:
    numbers = sum(array.size for array in weights.arrays.values())
    return f"{weights.kind}, {len(weights.arrays)} weights, {numbers:,} parameters"

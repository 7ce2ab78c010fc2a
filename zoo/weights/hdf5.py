"""Read and write the HDF5 files of all versions of Keras; only this module uses h5py.

Files may come from third parties: links are not followed, filters are not loaded, and declared sizes are limited by
the size of the file. Because the library can hang, :mod:`zoo.weights.sandbox` reads in a separate process.
"""

import io
import json
import math
import mmap
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from zoo.core.errors import ZooError
from zoo.weights import formats, keras2_layout, keras3_layout
from zoo.weights.formats import RejectedFileError, Weights
from zoo.weights.keras_layout import KerasConfig, Text, Tree, join

MAGIC = b"\x89HDF\r\n\x1a\n"
# deflate, shuffle, fletcher32 and lzf; for other filters, HDF5 would load code.
_FILTERS = {1, 2, 3, 32000}
_ATTRIBUTES = {"layer_names", "weight_names", "keras_version", "backend", "model_config", "name", "dtype"}
_DEEPEST = 32
# Numbers in the format of HDF5: the kind of a message with a symbol table, and the end of a list of free blocks.
_SYMBOL_TABLE, _OPEN_END = 0x11, 0xFFFFFFFFFFFFFFFF


def read(path: Path) -> Weights:
    """Read the weights in an HDF5 file of Keras, or in a ``.keras`` archive."""
    with formats.readable(path):
        return _read_hdf5(path) if _is_hdf5(path) else _read_keras(path)


def _is_hdf5(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def _read_keras(path: Path) -> Weights:
    with zipfile.ZipFile(path) as archive:
        formats.check_members(path, archive.infolist())
        inside = {member.filename: member for member in archive.infolist()}
        weights = inside.get("model.weights.h5")
        if weights is None:
            raise RejectedFileError(path, "it contains a configuration but no model.weights.h5")
        formats.check_size(path, weights.file_size, path.stat().st_size)
        config = _json(path, archive.read(_small(path, inside["config.json"])))
        content = io.BytesIO(archive.read(weights))
    with h5py.File(content, "r") as file:
        return keras3_layout.read_keras3(_tree(path, file, weights.file_size), config, "Keras 3 model")


def read_model(path: Path) -> KerasConfig:
    """Read the description of a saved Keras model, after checking that the whole file is harmless.

    The keys are ``version`` (of Keras), ``config``, ``compiled`` (compile settings or None) and ``adapted``; see
    :func:`_adapted`.
    """
    with formats.readable(path):
        return _model_of_hdf5(path) if _is_hdf5(path) else _model_of_archive(path)


def _model_of_hdf5(path: Path) -> KerasConfig:
    with h5py.File(path, "r") as file:
        tree = _tree(path, file, path.stat().st_size)
    attributes = tree.attributes
    config = attributes[""].get("model_config")
    if not isinstance(config, str):
        raise RejectedFileError(path, "it contains weights but no model: give model=NAME weights=FILE")
    version = attributes[""].get("keras_version") or attributes.get("model_weights", {}).get("keras_version")
    training = attributes[""].get("training_config")
    compiled = _json(path, training) if isinstance(training, str) else None
    config = _json(path, config)
    return {"version": str(version or ""), "config": config, "compiled": compiled, "adapted": _adapted(tree)}


def _adapted(tree: Tree) -> dict[str, list[float]]:
    """Return the ``mean`` and ``variance`` of the Normalization layer; empty unless there is exactly one."""
    ends = re.compile(r"(?:^|(?<=/))(?:(normalization(?:_\d+)?/vars)/0|mean(:0)?)$")
    names = [name for name in tree.values if ends.search(name)]
    if len(names) != 1:
        return {}
    second = ends.sub(lambda end: f"{end[1]}/1" if end[1] else f"variance{end[2] or ''}", names[0])
    pairs = zip(("mean", "variance"), (names[0], second), strict=True)
    return {key: tree.values[name].ravel().tolist() for key, name in pairs if name in tree.values}


def _model_of_archive(path: Path) -> KerasConfig:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        formats.check_members(path, members)
        strange = [member.filename for member in members if member.filename not in ARCHIVE]
        if strange and strange[0].startswith("assets/"):
            raise ZooError(
                f"{path} contains {strange[0][:200]!r}, a file of a layer for texts or tables. Images are required",
                "For texts, train model=transformer/classifier on them.",
            )
        if strange:
            raise RejectedFileError(path, f"it contains {strange[0][:200]!r}, which no Keras model has")
        formats.check_size(path, sum(member.file_size for member in members), path.stat().st_size)
        inside = {member.filename: member for member in members}
        metadata, config = (_json(path, archive.read(_small(path, inside[name]))) for name in ARCHIVE[:2])
        content = io.BytesIO(archive.read(inside[ARCHIVE[2]]))
    with h5py.File(content, "r") as file:
        adapted = _adapted(_tree(path, file, inside[ARCHIVE[2]].file_size))
    version = str(metadata.get("keras_version", ""))
    compiled = config.get("compile_config") if isinstance(config, dict) else None
    return {"version": version, "config": config, "compiled": compiled, "adapted": adapted}


ARCHIVE = ("metadata.json", "config.json", "model.weights.h5")


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
            config = tree.attributes[""].get("model_config")
            parsed = _json(path, config) if isinstance(config, str) else None
            return keras2_layout.read_keras2(path, tree, root, parsed)
        if not tree.attributes.keys() & set(keras3_layout.CONTAINERS):
            content = ", ".join(sorted(file)[:5]) or "nothing"
            raise RejectedFileError(path, f"it is HDF5, but not of Keras: it contains {content}")
        with path.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            for group in tree.attributes:
                order = _creation_order(mapped, h5py.h5o.get_info(file[group or "/"].id).addr)
                tree.order |= {group: order} if order else {}
    return keras3_layout.read_keras3(tree, None, "Keras 3 weights")


def _tree(path: Path, file: Any, stored: int) -> Tree:
    """Read an HDF5 file except the state of optimizers, after checking that all of it is harmless."""
    tree, datasets, seen = Tree(), dict[str, Any](), set[int]()
    pending: list[tuple[str, Any]] = [("", file)]
    while pending:
        name, group = pending.pop()
        address = h5py.h5o.get_info(group.id).addr
        if address in seen or name.count("/") > _DEEPEST or len(seen) + len(datasets) > formats.MOST_ENTRIES:
            raise RejectedFileError(path, f"its group {name!r} is in a cycle, nested too deeply, or one of too many")
        seen.add(address)
        known = (key for key in group.attrs if key.rstrip("0123456789") in _ATTRIBUTES)
        tree.attributes[name] = {key: _text(path, group, key) for key in known}
        for member in group:
            where = join(name, member)
            if where in ("optimizer", "optimizer_weights"):
                continue
            link = group.get(member, getclass=True, getlink=True)
            if link is not h5py.HardLink:  # soft and external links lead to other places and files
                raise RejectedFileError(path, f"{where!r} is a link ({link.__name__}), which is not allowed")
            item = group[member]
            if isinstance(item, h5py.Group):
                pending.append((where, item))
            elif isinstance(item, h5py.Dataset):
                datasets[where] = item
            else:
                raise RejectedFileError(path, f"{where!r} is neither a group nor an array")
    declared = sum(_declared(path, name, item, stored) for name, item in datasets.items())
    formats.check_size(path, declared, stored)
    tree.values = {name: _numbers(path, name, item) for name, item in datasets.items()}
    return tree


def _declared(path: Path, name: str, item: Any, stored: int) -> int:
    """Return the size of an array in memory; reject arrays whose data are in other files, or missing."""
    if item.is_virtual or item.external:
        raise RejectedFileError(path, f"the numbers of {name!r} are in other files")
    # Keras 3 stores bfloat16 as two untyped bytes with an attribute.
    is_bfloat16 = item.dtype == np.dtype("V2") and "dtype" in item.attrs and item.attrs["dtype"] == "bfloat16"
    if item.shape is None or not (item.dtype.kind == "f" or is_bfloat16 or _is_count(item)):
        raise RejectedFileError(path, f"{name!r} is of type {item.dtype}; weights are floating-point numbers")
    declared: int = math.prod(item.shape) * item.dtype.itemsize
    plan = item.id.get_create_plist()
    filters = {plan.get_filter(index)[0] for index in range(plan.get_nfilters())}
    if filters - _FILTERS:
        raise RejectedFileError(path, f"{name!r} is compressed with an unknown filter, {min(filters - _FILTERS)}")
    if not filters and declared > stored:
        raise RejectedFileError(
            path, f"{name!r} declares the shape {item.shape}, more than the {stored:,} bytes of the file"
        )
    return declared


def _is_count(item: Any) -> bool:
    """Recognize the batch count of a Normalization layer, a single integer among its weights."""
    return item.shape == () and item.dtype.kind in "iu"


def _numbers(path: Path, name: str, item: Any) -> "NDArray[np.float32]":
    content = np.asarray(item[()])
    if item.dtype.kind == "V":
        return formats.from_bfloat16(content.tobytes(), content.shape)
    return formats.as_float32(path, name, content.astype(np.float32) if _is_count(item) else content)


def _text(path: Path, group: Any, name: str) -> Text:
    kind = group.attrs.get_id(name)
    shape = kind.shape or ()
    if math.prod(shape) == 0:
        return []
    text = kind.dtype.kind == "S" or h5py.check_string_dtype(kind.dtype) is not None
    if not text or math.prod(shape) * kind.dtype.itemsize > formats.MOST_JSON_BYTES:
        raise RejectedFileError(path, f"its attribute {name!r} is not text, or is too long")
    values = np.ravel(group.attrs[name])
    texts = [each.decode("utf-8") if isinstance(each, bytes) else str(each) for each in values]
    return texts if shape else texts[0]


def _creation_order(content: mmap.mmap, address: int) -> list[str] | None:
    """Return the names in a group in the order of creation, or None; ``address`` is its object header.

    Keras 3 writes its layers in order, but HDF5 lists them by name. The local heap of a group keeps the names in the
    order of creation. See HDF5 File Format Specification 3.0, sections III.D (local heaps), IV.A.1.a (version 1
    object headers) and IV.A.2.r (symbol table message).
    """
    try:
        heap = _heap_address(content, address)
        return None if heap is None else _names(content, heap)
    except (struct.error, UnicodeDecodeError):
        return None


def _heap_address(content: mmap.mmap, address: int) -> int | None:
    version, count = struct.unpack_from("<BxH", content, address)
    if version != 1:
        return None
    position = address + 16
    for _ in range(count):
        kind, size = struct.unpack_from("<HH", content, position)
        if kind == _SYMBOL_TABLE:
            (heap,) = struct.unpack_from("<8xQ", content, position + 8)
            return int(heap)
        position += 8 + size
    return None


def _names(content: mmap.mmap, heap: int) -> list[str] | None:
    signature, size, free, data = struct.unpack_from("<4s4xQQQ", content, heap)
    if signature != b"HEAP" or data + size > len(content):
        return None
    # Names are never removed, so the only free block is the unused end of the heap.
    end = size if free in (1, _OPEN_END) else free
    names, position = [], 8
    while position < end:
        stop = content.find(b"\0", data + position, data + size)
        if stop < 0:
            return None
        names.append(content[data + position : stop].decode("utf-8"))
        position = (stop - data + 8) // 8 * 8
    return names


def write(path: Path, tree: Tree) -> None:
    with h5py.File(path, "w") as file:
        for group, attributes in tree.attributes.items():
            target = file.require_group(group) if group else file
            for name, text in attributes.items():
                # Keras 2 uses bytes of fixed length.
                content = [each.encode() for each in text] if isinstance(text, list) else text.encode()
                target.attrs[name] = np.array(content)
        for name, array in tree.values.items():
            file.create_dataset(name, data=array, track_times=False)

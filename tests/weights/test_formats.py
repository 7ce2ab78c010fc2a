"""zoo.weights.formats: plain arrays are read as far as they are harmless, and written the same each time."""

import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.core.errors import ZooError
from zoo.weights import formats
from zoo.weights.formats import RejectedFileError, Weights

ARRAYS = {"b/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "a/bias": np.ones(3, np.float32)}
PATH = Path("w.npz")


def npy(array: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), **options)
    return out.getvalue()


def archive(folder: Path, **members: bytes) -> Path:
    path = folder / "w.npz"
    with zipfile.ZipFile(path, "w") as out:
        for name, content in members.items():
            out.writestr(name.replace("__", "/"), content)
    return path


def read(path: Path) -> Weights:
    with zipfile.ZipFile(path) as opened:
        return formats.read_npz(path, opened)


def test_an_archive_is_read_as_it_was_written(tmp_path: Path) -> None:
    weights = Weights(ARRAYS, "numpy archive")
    formats.write_npz(tmp_path / "w.npz", weights)
    formats.write_npz(tmp_path / "again.npz", weights)
    assert (tmp_path / "w.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()
    result = read(tmp_path / "w.npz")
    assert list(result.arrays) == ["b/kernel", "a/bias"]
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(result.arrays[name], array)
    assert (result.parameters, result.order_problems) == (9, ())


def test_an_alphabetical_order_is_no_order_of_layers(tmp_path: Path) -> None:
    one, two = npy(np.zeros(1)), npy(np.zeros(2))
    assert read(archive(tmp_path, **{"a.npy": one, "b.npy": two})).order_problems
    assert not read(archive(tmp_path, **{"b.npy": one, "a.npy": two})).order_problems
    assert not read(archive(tmp_path, **{"a.npy": one})).order_problems


def test_arrays_are_of_any_order_and_precision(tmp_path: Path) -> None:
    array = np.arange(6.0).reshape(2, 3)
    fortran = npy(np.asfortranarray(array))
    half, second = npy(array.astype(np.float16)), npy(array, version=(2, 0))
    result = read(archive(tmp_path, **{"c.npy": fortran, "b.npy": half, "a.npy": second}))
    for each in result.arrays.values():
        assert each.dtype == np.float32
        np.testing.assert_array_equal(each, array)
    assert read(archive(tmp_path, **{"a.npy": npy(np.float32(3))})).arrays["a"].shape == ()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"a.txt": b"x"}, "contains 'a.txt', which is not a NumPy array"),
        ({"a.npy": npy(np.arange(3))}, "'a.npy' is of type int64; weights are floating-point numbers"),
        ({"a.npy": npy(np.array(["x"]))}, "is of type <U1"),
        ({"a.npy": npy(np.zeros(9))[:-1]}, "'a.npy' is truncated"),
        ({"a.npy": npy(np.zeros(999))[:300]}, "'a.npy' declares the shape (999,), but is 300 bytes long"),
        ({"a.npy": npy(np.zeros(9), version=(3, 0))}, "has version (3, 0) of NumPy's format"),
        ({"__a.npy": npy(np.zeros(1))}, "contains an entry with the name '/a'"),
        ({"a____b.npy": npy(np.zeros(1))}, "contains an entry with the name 'a//b'"),
        ({"a\n.npy": npy(np.zeros(1))}, "contains an entry with the name"),
        ({"x" * 501 + ".npy": npy(np.zeros(1))}, "contains an entry with the name"),
    ],
)
def test_what_is_no_array_of_weights_is_refused(tmp_path: Path, members: dict[str, bytes], words: str) -> None:
    with pytest.raises(RejectedFileError) as caught:
        read(archive(tmp_path, **members))
    assert words in caught.value.message


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("a.npy", npy(np.zeros(1)))
        out.writestr("a.npy", npy(np.zeros(1)))
    with pytest.raises(RejectedFileError, match="two entries with the same name"):
        read(path)


@pytest.mark.parametrize(
    ("declared", "stored", "words"),
    [
        (4 << 30, 4 << 30, None),
        ((4 << 30) + 1, 4 << 30, "it declares 4,294,967,297 bytes of weights; at most 4,294,967,296 are read"),
        (64 << 20, 1, None),
        ((64 << 20) + 1, 1, "it declares 67,108,865 bytes of weights but is only 1 bytes long"),
        (100 << 20, 1 << 20, None),
        ((100 << 20) + 1, 1 << 20, "but is only 1,048,576 bytes long"),
    ],
)
def test_declared_sizes_have_limits(declared: int, stored: int, words: str | None) -> None:
    if words is None:
        formats.check_size(PATH, declared, stored)
        return
    with pytest.raises(RejectedFileError, match=words):
        formats.check_size(PATH, declared, stored)


def test_weights_are_finite() -> None:
    formats.check_finite(PATH, ARRAYS)
    with pytest.raises(RejectedFileError, match="'a' contains NaN or infinity in 2 of 3 places"):
        formats.check_finite(PATH, {"a": np.array([np.nan, 1, np.inf], np.float32)})


def test_bfloat16_is_the_upper_half_of_a_float() -> None:
    values = np.array([[1.0, -2.5], [0.15625, 3e38]], np.float32)
    raw = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    np.testing.assert_allclose(formats.from_bfloat16(raw, (2, 2)), values, rtol=0.01)


def test_weights_by_layer() -> None:
    weights = Weights({"a/b/kernel": np.zeros(1), "a/b/bias": np.ones(1), "c": np.ones(1)}, "x")  # type: ignore[arg-type]
    assert {layer: list(own) for layer, own in weights.by_layer().items()} == {"a/b": ["kernel", "bias"], "": ["c"]}


def safetensors(header: dict[str, Any] | str, content: bytes) -> bytes:
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text)) + text + content


def test_safetensors_keep_the_order_of_layers(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    formats.write_safetensors(path, Weights(ARRAYS, "x"))
    result = formats.read_safetensors(path)
    assert (list(result.arrays), result.order_problems, result.kind) == (["b/kernel", "a/bias"], (), "safetensors")
    np.testing.assert_array_equal(result.arrays["b/kernel"], ARRAYS["b/kernel"])
    formats.write_safetensors(path, Weights(ARRAYS, "x", order_problems=("unknown",)))
    result = formats.read_safetensors(path)
    assert (list(result.arrays), result.order_problems) == (
        ["a/bias", "b/kernel"], ("it does not store the order of the layers",),
    )  # fmt: skip


@pytest.mark.parametrize("note", [3, "x", "[1]", '["a"]', '["a", "b", "b"]', "{}", None])
def test_a_strange_note_is_no_order(tmp_path: Path, note: object) -> None:
    arrays = {"a": np.zeros(1, np.float32), "b": np.zeros(1, np.float32)}
    assert formats._noted_order({"order": note} if note is not None else None, arrays) is None
    assert formats._noted_order({"order": '["b", "a"]'}, arrays) == ["b", "a"]


@pytest.mark.parametrize(
    ("kind", "array"),
    [("F64", np.array([1.5, 2.5], "<f8")), ("F32", np.array([1.5, 2.5], "<f4")), ("F16", np.array([1.5, 2.5], "<f2")),
     ("BF16", np.array([0x3FC0, 0x4020], "<u2"))],
)  # fmt: skip
def test_safetensors_of_every_precision(tmp_path: Path, kind: str, array: np.ndarray) -> None:
    content = array.tobytes()
    header = {"a": {"dtype": kind, "shape": [2], "data_offsets": [0, len(content)]}}
    (tmp_path / "w").write_bytes(safetensors(header, content))
    assert formats.read_safetensors(tmp_path / "w").arrays["a"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is not a complete safetensors file"),
        (safetensors({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"1234"), "not a complete safe"),
        (safetensors({"a": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]}}, b"1234"), "'a' is of type I32"),
        (
            safetensors({"": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"1234"),
            "an entry with the name",
        ),
    ],
)
def test_damaged_safetensors_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "w").write_bytes(content)
    with pytest.raises(RejectedFileError, match=words):
        formats.read_safetensors(tmp_path / "w")


def test_a_long_header_is_cut_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(safetensors(json.dumps("x" * 1_000_000), b""))
    with pytest.raises(RejectedFileError, match="not a complete safetensors file") as caught:
        formats.read_safetensors(tmp_path / "w")
    assert len(caught.value.message) < 1000


def test_errors_of_libraries_and_of_the_disk_are_for_the_user(tmp_path: Path) -> None:
    with pytest.raises(RejectedFileError, match=r"it is damaged \(KeyError: 'x'\)"), formats.readable(PATH):
        raise KeyError("x")
    with pytest.raises(ZooError, match="No such file"), formats.readable(PATH):
        (tmp_path / "none").read_bytes()


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    names = ["conv2d_10", "conv2d", "conv2d_2", "a1b20", "a1b3"]
    assert sorted(names, key=formats.natural) == ["a1b3", "a1b20", "conv2d", "conv2d_2", "conv2d_10"]

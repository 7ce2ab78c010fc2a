"""Weights of every kind of file: what goes in comes out, and what is hostile stays out."""

import io
import json
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.weight_samples import SHAPES, assert_same, drawn
from zoo.core.errors import ZooError
from zoo.weights import convert
from zoo.weights import io as weights_io


def refusal(path: Path) -> str:
    with pytest.raises(ZooError) as caught:
        weights_io.read(path)
    assert str(path) in caught.value.message
    assert caught.value.remedy
    return caught.value.message


# ---- what goes in comes out


def test_npz_is_what_the_worker_reads_and_writes(tmp_path: Path) -> None:
    weights_io.write(tmp_path / "w.npz", drawn())
    with np.load(tmp_path / "w.npz", allow_pickle=False) as stored:
        assert stored.files == list(SHAPES)
    np.savez_compressed(tmp_path / "packed.npz", **drawn().arrays)
    assert_same(weights_io.read(tmp_path / "packed.npz"), drawn())
    again = tmp_path / "again.npz"
    weights_io.write(again, drawn())
    assert again.read_bytes() == (tmp_path / "w.npz").read_bytes()


def test_arrays_in_fortran_order_are_read_as_numpy_reads_them(tmp_path: Path) -> None:
    kernel = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.savez(tmp_path / "w.npz", **{"a/kernel": np.asfortranarray(kernel), "b/kernel": kernel.T})
    arrays = weights_io.read(tmp_path / "w.npz").arrays
    np.testing.assert_array_equal(arrays["a/kernel"], kernel)
    np.testing.assert_array_equal(arrays["b/kernel"], kernel.T)


def test_keras_3_groups_are_numbered_by_class_and_named(tmp_path: Path) -> None:
    weights_io.write(tmp_path / "w.weights.h5", drawn())
    with h5py.File(tmp_path / "w.weights.h5") as file:
        assert set(file["layers"]) == {"conv2d", "batch_normalization", "depthwise_conv2d", "conv2d_1", "dense"}
        assert file["layers/conv2d_1/vars"].attrs["name"] == b"again"
        assert file["layers/batch_normalization/vars/3"].shape == (4,)
    line = convert.convert(tmp_path / "w.weights.h5", tmp_path / "x.weights.h5")[-1]
    assert line == "Layers by class: 2 conv2d, 1 batch_normalization, 1 depthwise_conv2d, 1 dense"


def test_a_keras_2_file_keeps_attributes_that_are_too_long_for_one(tmp_path: Path) -> None:
    many = drawn({f"layer_{'x' * 90}_{index}/kernel": (2, 2) for index in range(800)})
    weights_io.write(tmp_path / "w.h5", many)
    with h5py.File(tmp_path / "w.h5") as file:
        assert {"layer_names0", "layer_names1"} <= set(file.attrs)
    assert_same(weights_io.read(tmp_path / "w.h5"), many)


@pytest.mark.parametrize("numbers", ["<f8", ">f4", "<f2"])
def test_other_widths_become_float32(tmp_path: Path, numbers: str) -> None:
    np.savez(tmp_path / "w.npz", **{"a/kernel": np.array([1.5, -2.0], numbers)})
    array = weights_io.read(tmp_path / "w.npz").arrays["a/kernel"]
    assert array.dtype == np.float32
    assert array.tolist() == [1.5, -2.0]


@pytest.mark.parametrize("name", ["w.npz", "w.safetensors", "w.h5", "w.weights.h5"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_weight_that_is_no_finite_number_is_refused_by_name(tmp_path: Path, name: str, number: float) -> None:
    weights = drawn()
    next(iter(weights.arrays.values())).flat[3] = number
    weights_io.write(tmp_path / name, weights)
    message = refusal(tmp_path / name)
    assert "contains NaN or infinity in 1 of" in message
    assert repr(next(iter(weights.arrays))) in message


def test_a_safetensors_file_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    entry = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
    header = ("{" + entry + "," + entry + "}").encode()
    path = tmp_path / "twice.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(ZooError, match=r"'a' appears twice"):
        weights_io.read(path)


def test_bfloat16_is_read_from_safetensors_and_from_keras_3(tmp_path: Path) -> None:
    upper = np.array([1.5, -2.0], "<f4").view("<u2")[1::2]
    header = json.dumps({"a/kernel": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + upper.tobytes())
    with h5py.File(tmp_path / "w.weights.h5", "w") as file:
        dataset = file.create_dataset("layers/embedding/vars/0", data=upper.view("V2"))
        dataset.attrs["dtype"] = "bfloat16"
    for path, name in ((tmp_path / "w.safetensors", "a/kernel"), (tmp_path / "w.weights.h5", "embedding/embeddings")):
        assert weights_io.read(path).arrays[name].tolist() == [1.5, -2.0]


def keras1(path: Path, root: str = "", **attributes: str) -> None:
    """A file as Keras 1.2.2 on TensorFlow writes it."""
    with h5py.File(path, "w") as file:
        group = file.require_group(root) if root else file
        group.attrs["layer_names"] = np.array([b"conv1", b"bn", b"flatten_1"])
        stored = {"conv1": ["W", "b"], "bn": ["gamma", "beta", "running_mean", "running_std"], "flatten_1": []}
        for number, (layer, names) in enumerate(stored.items()):
            inside = group.create_group(layer)
            inside.attrs["weight_names"] = np.array([f"{layer}_{name}:0".encode() for name in names])
            for name in names:
                inside[f"{layer}_{name}:0"] = np.full(3, number, "f4")
        for name, text in attributes.items():
            group.attrs[name] = text


@pytest.mark.parametrize("root", ["", "model_weights"])
def test_keras_1_names_become_todays(tmp_path: Path, root: str) -> None:
    keras1(tmp_path / "w.h5", root)
    weights = weights_io.read(tmp_path / "w.h5")
    assert list(weights.arrays) == [
        "conv1/kernel", "conv1/bias", "bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance"
    ]  # fmt: skip
    assert weights.kind.startswith("Keras 1 ")


def test_kernels_of_theano_are_refused(tmp_path: Path) -> None:
    keras1(tmp_path / "w.h5", backend="theano", keras_version="2.0.0")
    with pytest.raises(ZooError, match="Theano"):
        weights_io.read(tmp_path / "w.h5")


def keras3(path: Path, config: dict[str, Any] | None, names: bool = True) -> None:
    """A ``.keras`` of two Dense layers, written in the order that the alphabet does not know."""
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for group, name, count in (("dense", "zulu", 2), ("layer_normalization", "norm", 1), ("dense_1", "alpha", 2)):
            variables = file.create_group(f"layers/{group}/vars")
            if names:
                variables.attrs["name"] = name
            for number in range(count):
                variables[str(number)] = np.full((2, 2)[number:], 7, "f4")
    if config is None:
        path.write_bytes(content.getvalue())
        return
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        archive.writestr("model.weights.h5", content.getvalue())


CONFIG = {
    "class_name": "Sequential",
    "config": {
        "layers": [
            {"class_name": "InputLayer", "config": {"name": "start"}},
            {"class_name": "Dense", "config": {"name": "zulu", "use_bias": True}},
            {"class_name": "LayerNormalization", "config": {"name": "norm", "center": False, "scale": True}},
            {"class_name": "Dense", "config": {"name": "alpha"}},
        ]
    },
}
ORDER = ["zulu/kernel", "zulu/bias", "norm/gamma", "alpha/kernel", "alpha/bias"]


def test_a_keras_file_takes_names_and_order_from_its_configuration(tmp_path: Path) -> None:
    keras3(tmp_path / "m.keras", CONFIG, names=False)
    assert list(weights_io.read(tmp_path / "m.keras").arrays) == ORDER


def test_a_weights_h5_keeps_the_order_in_which_it_was_written(tmp_path: Path) -> None:
    keras3(tmp_path / "w.weights.h5", None)
    weights = weights_io.read(tmp_path / "w.weights.h5")
    # One weight of a normalisation is its scale or its shift; only a configuration tells.
    assert list(weights.arrays) == [name.replace("gamma", "0") for name in ORDER]
    assert not weights.order_problems


def test_files_of_early_keras_3_have_no_names(tmp_path: Path) -> None:
    keras3(tmp_path / "w.weights.h5", None, names=False)
    weights = weights_io.read(tmp_path / "w.weights.h5")
    assert "without the names" in weights.kind
    assert list(weights.arrays)[-1] == "dense_1/bias"


def test_published_files_are_read(shared_data: Path) -> None:
    weights = weights_io.read(shared_data / "mobilenet" / "mobilenet_v1_0.25_224.h5")
    assert len(weights.arrays) == 137
    assert sum(array.size for array in weights.arrays.values()) == 475_544
    assert weights.arrays["conv_dw_1/depthwise_kernel"].shape == (3, 3, 8, 1)
    squeezenet = shared_data / "squeezenet" / "squeezenet_weights_tf_dim_ordering_tf_kernels_notop.h5"
    assert weights_io.read(squeezenet).arrays["fire2/squeeze1x1/kernel"].shape == (1, 1, 64, 16)


# ---- what is hostile stays out


def _h5(change: Callable[[Any], object]) -> Callable[[Path], Path]:
    """A good Keras 2 file with one thing changed."""

    def make(folder: Path) -> Path:
        path = folder / "bad.h5"
        weights_io.write(path, drawn())
        with h5py.File(path, "a") as file:
            change(file)
        return path

    return make


def _put(file: Any, item: Any) -> None:
    del file["head/head/bias:0"]
    file["head/head/bias:0"] = item


def _external(file: Any) -> None:
    del file["head/head/bias:0"]
    file.create_dataset("head/head/bias:0", (2,), "f4", external=[("/etc/passwd", 0, 8)])


def _virtual(file: Any) -> None:
    del file["head/head/bias:0"]
    layout = h5py.VirtualLayout((2,), "f4")
    layout[:] = h5py.VirtualSource("/tmp/other.h5", "x", (2,))
    file.create_virtual_dataset("head/head/bias:0", layout)


def _huge(packed: bool) -> Callable[[Any], None]:
    def change(file: Any) -> None:
        del file["head/head/bias:0"]
        options = {"compression": "gzip"} if packed else {}
        file.create_dataset("head/head/bias:0", (1 << 40,), "f4", chunks=(1 << 10,), **options)

    return change


def _circle(file: Any) -> None:
    file["head/round"] = file["head"]


def _deep(file: Any) -> None:
    file.create_group("/".join("x" * 40))


def _long_attribute(file: Any) -> None:
    del file["head"].attrs["weight_names"]
    file["head"].attrs.create("weight_names", np.zeros(3, "i8"))


def _unlisted(file: Any) -> None:
    del file["head"]


def _bomb(name: str) -> Callable[[Path], Path]:
    """A small archive whose only array unpacks to 128 MiB."""

    def make(folder: Path) -> Path:
        path = folder / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            if name.endswith(".keras"):
                archive.writestr("config.json", "{}")
            member = "model.weights.h5" if name.endswith(".keras") else "a/kernel.npy"
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array_header_1_0(
                    stream, {"descr": "<f4", "fortran_order": False, "shape": (1 << 25,)}
                )
                stream.write(bytes(1 << 27))
        return path

    return make


def _npz(content: bytes, member: str = "a/kernel.npy") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "bad.npz", "w") as archive:
            archive.writestr(member, content)
        return folder / "bad.npz"

    return make


def _npy(shape: tuple[int, ...], dtype: str = "<f4", content: bytes = bytes(8)) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue() + content


def _objects() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], object), allow_pickle=True)
    return stream.getvalue()


def _plain(content: bytes, name: str = "bad.h5") -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def _tensors(header: object, content: bytes = bytes(8)) -> Callable[[Path], Path]:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return _plain(struct.pack("<Q", len(text)) + text + content, "bad.safetensors")


def _tensor(kind: str, shape: list[int], end: int) -> dict[str, object]:
    return {"a/kernel": {"dtype": kind, "shape": shape, "data_offsets": [0, end]}}


def _keras(members: dict[str, bytes]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "bad.keras", "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return folder / "bad.keras"

    return make


def _twice(folder: Path) -> Path:
    with zipfile.ZipFile(folder / "bad.npz", "w") as archive:
        archive.writestr("a/kernel.npy", _npy((2,)))
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a/kernel.npy", _npy((2,)))
    return folder / "bad.npz"


HOSTILE: dict[str, tuple[Callable[[Path], Path], str]] = {
    "external link": (_h5(lambda file: _put(file, h5py.ExternalLink("/etc/passwd", "/x"))), "a link"),
    "soft link": (_h5(lambda file: _put(file, h5py.SoftLink("/stem"))), "a link"),
    "external storage": (_h5(_external), "in other files"),
    "virtual dataset": (_h5(_virtual), "in other files"),
    "huge and empty": (_h5(_huge(False)), "declares the shape"),
    "huge and packed": (_h5(_huge(True)), "4,398,046,5"),
    "objects": (_h5(lambda file: _put(file, np.array([b"a", b"b"], h5py.string_dtype()))), "of type object"),
    "whole numbers": (_h5(lambda file: _put(file, np.zeros(2, "i8"))), "of type int64"),
    "circle": (_h5(_circle), "in a cycle"),
    "deep": (_h5(_deep), "nested too deep"),
    "numbers for names": (_h5(_long_attribute), "not text"),
    "listed and not there": (_h5(_unlisted), "lists a missing layer 'head'"),
    "other HDF5": (_h5(lambda file: file.attrs.pop("layer_names")), "not of Keras"),
    "npz with objects": (_npz(_objects()), "of type object"),
    "npz with a pickle": (_npz(pickle.dumps({})), "damaged"),
    "npz with something else": (_npz(b"hello", "run.py"), "not a NumPy array"),
    "npz with whole numbers": (_npz(_npy((2,), "<i4")), "of type int32"),
    "npz that declares more than it has": (_npz(_npy((1 << 40,))), "declares the shape"),
    "npz that declares less than nothing": (_npz(_npy((-1, -2))), "declares the shape"),
    "npz bomb": (_bomb("bad.npz"), "declares 134,2"),
    "npz with two of a name": (_twice, "two entries"),
    "npz without names": (_npz(_npy((2,)), ".npy"), "the name ''"),
    "npz with nothing": (_keras({}), "a zip archive without files"),
    "keras bomb": (_bomb("bad.keras"), "declares 134,2"),
    "keras without weights": (_keras({"config.json": b"{}"}), "no model.weights.h5"),
    "keras with a torn configuration": (_keras({"config.json": b"{", "model.weights.h5": b""}), "not JSON"),
    "keras with torn weights": (_keras({"config.json": b"{}", "model.weights.h5": b"\x89HDF"}), "ad"),
    "web page": (_plain(b"\n<!DOCTYPE html>"), "a web page"),
    "git-lfs pointer": (_plain(b"version https://git-lfs.github.com/spec/v1\n"), "git-lfs"),
    "pickle": (_plain(pickle.dumps({}), "w.pkl"), "pickle"),
    "empty": (_plain(b""), "it is empty"),
    "noise": (_plain(b"hello, world"), "neither"),
    "safetensors without a header": (_tensors(b""), "safetensors"),
    "safetensors with a long header": (_plain(b"\xff" * 64, "bad.safetensors"), "safetensors"),
    "safetensors that declare too much": (_tensors(_tensor("F32", [1 << 40], 8)), "safetensors"),
    "safetensors with whole numbers": (_tensors(_tensor("I64", [1], 8)), "of type I64"),
    "safetensors that break off": (_tensors(_tensor("F32", [2], 8), b""), "safetensors"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_are_refused(tmp_path: Path, kind: str) -> None:
    make, words = HOSTILE[kind]
    assert words in refusal(make(tmp_path))


def test_how_many_batches_a_normalization_has_seen_is_a_number_like_others(tmp_path: Path) -> None:
    path = _h5(lambda file: _put(file, np.int64(3)))(tmp_path)
    assert weights_io.read(path).arrays["head/bias"] == np.float32(3)


def test_a_file_that_is_not_there_and_a_folder_are_told(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "nowhere.h5")
    assert "is a folder" in refusal(tmp_path)


# ---- and so does noise


def _good(kind: str) -> bytes:
    """Bytes of a good file; made once."""
    import tempfile

    if kind not in _MADE:
        with tempfile.TemporaryDirectory() as folder:
            weights_io.write(Path(folder, kind), drawn())
            _MADE[kind] = Path(folder, kind).read_bytes()
    return _MADE[kind]


_MADE: dict[str, bytes] = {}
MAGICS = (b"", b"\x89HDF\r\n\x1a\n", b"PK\x03\x04", b"\x10\0\0\0\0\0\0\0{")


def _read_or_refuse(path: Path) -> None:
    try:
        weights = weights_io.read(path)
    except ZooError:
        return
    assert all(array.dtype == np.float32 for array in weights.arrays.values())


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(magic=st.sampled_from(MAGICS), noise=st.binary(max_size=200), suffix=st.sampled_from(["h5", "safetensors"]))
def test_noise_is_read_or_refused(tmp_path: Path, magic: bytes, noise: bytes, suffix: str) -> None:
    path = tmp_path / f"noise.{suffix}"
    path.write_bytes(magic + noise)
    _read_or_refuse(path)


@pytest.mark.parametrize(
    ("kind", "examples"), [("w.npz", 200), ("w.safetensors", 200), ("w.h5", 8), ("w.weights.h5", 8)]
)
def test_damaged_files_are_read_or_refused(tmp_path: Path, kind: str, examples: int) -> None:
    """HDF5 has fewer examples, for it is read in a process of its own."""
    good = _good(kind)

    @settings(max_examples=examples, deadline=None)
    @given(position=st.integers(0, len(good) - 1), new=st.binary(min_size=1, max_size=8), end=st.integers(0, 3))
    def damaged(position: int, new: bytes, end: int) -> None:
        broken = good[:position] + new + good[position + len(new) :]
        (tmp_path / kind).write_bytes(broken[:position] if end == 3 else broken)
        _read_or_refuse(tmp_path / kind)

    damaged()


def test_a_checksum_that_is_wrong_is_told(tmp_path: Path) -> None:
    content = bytearray(_good("w.npz"))
    content[400] ^= 1
    (tmp_path / "w.npz").write_bytes(content)
    assert "damaged" in refusal(tmp_path / "w.npz")
    assert zlib.crc32(content) != zlib.crc32(_good("w.npz"))

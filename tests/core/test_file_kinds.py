"""What a file is, by its content: every kind under a wrong name, and the command that helps."""

import json
import pickle
import shlex
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from zoo.core import file_kinds
from zoo.core.errors import ZooError
from zoo.weights import io

# ModelProto: ir_version 8, producer "x", an empty graph, and one set of operators.
ONNX = b"\x08\x08" + b"\x12\x01x" + b"\x3a\x00" + b"\x42\x02\x10\x0f"
HEADER = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
SAFETENSORS = struct.pack("<Q", len(HEADER)) + HEADER + bytes(4)


def plain(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def archive(*names: str, content: bytes = b"x" * 99) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as out:
            for name in names:
                out.writestr(name, content)

    return make


def hdf5(attribute: str = "", group: str = "") -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with h5py.File(path, "w") as file:
            if attribute:
                file.attrs[attribute] = "{}"
            file.create_group(group or "a")

    return make


def folder(*names: str, content: bytes = b"{}") -> Callable[[Path], None]:
    def make(path: Path) -> None:
        for name in names:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content if name.endswith((".onnx", ".pb", ".bin")) else b"{}")

    return make


KINDS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "Keras 3 archive": (archive("metadata.json", "config.json", "model.weights.h5"), "keras", "model=NAME weights="),
    "whole HDF5": (hdf5("model_config"), "hdf5_model", "model=NAME weights="),
    "weights of Keras 2": (hdf5("layer_names"), "weights_keras2", "model=NAME weights="),
    "weights of Keras 3": (hdf5(group="layers/conv2d/vars"), "weights_keras3", "model=NAME weights="),
    "other HDF5": (hdf5(), "hdf5", "weights="),
    "SavedModel": (folder("saved_model.pb"), "saved_model", ""),
    "SavedModel of Keras 2": (folder("saved_model.pb", "keras_metadata.pb"), "saved_model_keras2", ""),
    "SavedModel of Keras 3": (folder("saved_model.pb", content=b"_misc_assets"), "saved_model_keras3", ""),
    "TensorFlow Lite": (plain(b"\x1c\0\0\0TFL3" + bytes(40)), "tflite", ""),
    "ONNX": (plain(ONNX), "onnx", ""),
    "safetensors": (plain(SAFETENSORS), "safetensors", "weights="),
    "npz": (archive("a/kernel.npy", "a/bias.npy"), "npz", "weights="),
    "checkpoint of PyTorch": (archive("archive/data.pkl", "archive/data/0"), "torch", "safetensors.torch.save_file"),
    "pickle": (plain(pickle.dumps({})), "pickle", "safetensors.torch.save_file"),
    "git-lfs pointer": (plain(b"version https://git-lfs.github.com/spec/v1\n"), "lfs", "git -C"),
    "zip of a model": (archive("tm/keras_model.h5", content=file_kinds.HDF5 * 9), "zip", "python -m zipfile -e"),
    "zip of a SavedModel": (archive("m/saved_model.pb", "m/variables/v"), "zip", "/m."),
    "run folder": (folder("run.json", "weights.npz"), "run", "Give run="),
    "exports": (folder("export.json", "onnx/model.onnx", content=ONNX), "export", "onnx/model.onnx"),
    "folder of a model": (folder("labels.txt", "some.bin", content=ONNX), "folder", "Give model="),
    "folder": (folder("a.txt"), "folder", "run=FOLDER"),
    "web page": (plain(b"\n <!DOCTYPE html><html>"), "page", "Download"),
    "gzip": (plain(b"\x1f\x8b\x08" + bytes(20)), "gzip", "tar -xzf"),
    "graph of a SavedModel": (plain(b"\x08\x01\x12" + bytes(20)), "graph", "folder"),
    "architecture alone": (plain(b'{"module": "keras", "class_name": "Sequential"'), "config", "load_weights"),
    "architecture of Keras 2": (plain(b'{"class_name": "Model", "config": {}'), "config", "load_weights"),
    "frozen graph": (plain(b"\n9\n\x05input\x12\x0bPlaceholder*\x0f\n\x05dtype"), "frozen", "TensorFlow Lite"),
    "empty": (plain(b""), "empty", ""),
    "noise": (plain(b"hello, world"), "unknown", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_the_content_decides_and_not_the_name(tmp_path: Path, name: str) -> None:
    make, word, remedy = KINDS[name]
    path = tmp_path / "wrong.keras.txt"
    make(path)
    kind = file_kinds.of(path)
    assert kind.word == word
    error = kind.refusal("model")
    assert str(path) in error.message
    assert kind.about in error.message
    assert remedy in error.remedy


def test_every_prefix_of_an_onnx_file_is_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    for end in range(1, len(ONNX)):
        path.write_bytes(ONNX[:end])
        assert file_kinds.of(path).word == "unknown"
    path.write_bytes(b"\x08\x08\x12" + b"\xff" * 9 + b"\x01")  # a length beyond the file
    assert file_kinds.of(path).word == "unknown"


def test_damaged_archives_and_missing_files_are_errors(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04" + bytes(50))
    with pytest.raises(ZooError, match="damaged zip archive"):
        file_kinds.of(tmp_path / "a.zip")
    with pytest.raises(ZooError, match="No such file"):
        file_kinds.of(tmp_path / "gone")


def test_exports_in_a_folder_are_no_weights(tmp_path: Path) -> None:
    folder("export.json", "onnx/model.onnx", content=ONNX)(tmp_path / "a")
    assert "Keras model that it was made from" in file_kinds.of(tmp_path / "a").refusal("weights").remedy


def test_the_content_of_an_unknown_file_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("secret")
    assert file_kinds.of(tmp_path / "x").refusal("weights").message.endswith("; it is text")


def test_a_numpy_array_is_not_weights(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    assert file_kinds.of(tmp_path / "x.npy").word == "array"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.gguf", b"GGUF\x03\0\0\0", "a GGUF file of llama.cpp"),
        ("a", b"\x08\x01\x12\x02\x0a\x00\xa2\x1f\x00", "neither HDF5"),  # Core ML
        ("a.mlmodel", b"\x08\x01\x12\x02\x0a\x00\xa2\x1f\x00", "a Core ML model"),
        ("saved_model.pb", b"\x08\x01\x12\x02\x0a\x00", "the graph of a SavedModel"),
        ("yolo.weights", b"\0\0\0\0\2\0", "a Darknet model"),
        ("m.xml", b'<?xml version="1.0"?>\n<net name="m">', "an OpenVINO model"),
        ("m.ckpt-1.index", b"\0\1", "a checkpoint of TensorFlow"),
        ("m.tar", bytes(257) + b"ustar", "an archive"),
        ("m.h5", b"\x89PNG\r\n\x1a\n", "an image"),
        ("m.zip", b"PK\x05\x06" + bytes(18), "empty: a zip archive without files"),
        ("m.keras.crdownload", bytes(9), "an incomplete download"),
        ("m.onnx.data", bytes(9), "the weights of an ONNX model"),
        ("m.ipynb", b'{"cells": []}', "a notebook"),
        ("m.cbm", b"CBM1", "a model of CatBoost"),
    ],
)
def test_models_of_other_programs_are_named(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert file_kinds.of(tmp_path / name).refusal("model").message.startswith(f"{tmp_path / name} is {words}")
    assert file_kinds.of(tmp_path / name).refusal("model").remedy


def test_a_folder_of_another_program_is_named_by_its_file(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    error = file_kinds.of(tmp_path).refusal("model")
    assert error.message.startswith(f"{tmp_path}/pytorch_model.bin is a Python pickle")
    assert "safetensors" in error.remedy


def test_a_preset_of_kerashub_is_converted_with_keras_hub(tmp_path: Path) -> None:
    folder("config.json", "model.weights.h5", "task.json")(tmp_path / "resnet")
    refusal = file_kinds.of(tmp_path / "resnet").refusal("model")
    assert "is a preset of KerasHub" in refusal.message
    assert f'from_preset("{tmp_path / "resnet"}")' in (refusal.remedy or "")


def test_an_unpacked_keras_model_is_packed_again(tmp_path: Path) -> None:
    """The printed command leaves out other files, which a packed model may not have."""
    folder("config.json", "model.weights.h5", "README.md")(tmp_path / "a.keras")
    remedy = str(file_kinds.of(tmp_path / "a.keras").refusal("model").remedy)
    command = remedy[remedy.index("(") : remedy.index(")") + 1].replace("python", sys.executable)
    subprocess.run(["sh", "-c", command], check=True)
    with zipfile.ZipFile(tmp_path / "packed.keras") as packed:
        assert packed.namelist() == ["config.json", "model.weights.h5"]


@pytest.mark.parametrize(
    ("member", "content"),
    [("_METADATA", b"{}"), ("1000/_CHECKPOINT_METADATA", b"{}"), ("manifest.ocdbt", b"\x0c\xdb\x3a\x2a"),
     ("flax_model.msgpack", b"\x82"), ("weights", b"\x81\xa6params\x81")],
)  # fmt: skip
def test_checkpoints_of_jax_are_saved_again(tmp_path: Path, member: str, content: bytes) -> None:
    (tmp_path / member).parent.mkdir(exist_ok=True)
    (tmp_path / member).write_bytes(content)
    refusal = file_kinds.of(tmp_path).refusal("weights")
    assert "checkpoint of" in refusal.message
    assert "safetensors.flax.save_file" in refusal.remedy
    with pytest.raises(ZooError) as caught:
        io.read(tmp_path / member)
    assert "Download" not in caught.value.remedy


def test_an_index_of_weights_and_a_pickle_get_their_own_remedies(tmp_path: Path) -> None:
    for name, content, remedy in (
        ("model.bin.index.json", b"{}", "save_pretrained"),
        ("a.joblib", b"\x80\x04", "numpy.savez"),
    ):
        (tmp_path / name).write_bytes(content)
        assert remedy in file_kinds.of(tmp_path / name).refusal("weights").remedy


def test_weights_of_keras_next_to_their_architecture_can_be_joined(tmp_path: Path) -> None:
    weights, text = tmp_path / "fer.h5", '{"class_name": "Sequential", "config": []}'
    with h5py.File(weights, "w") as file:
        file.attrs["layer_names"] = [b"conv"]
    assert "save the whole model where it was made" in file_kinds.of(weights).refusal("model").remedy
    (tmp_path / "net.json").write_text(text)
    remedy = file_kinds.of(weights).refusal("model").remedy
    assert "Or join them with net.json: python -m zoo run stack=tf-2.12 -c " in remedy
    words = shlex.split(remedy.partition("join them with net.json: ")[2])
    assert words[-1].endswith(f"model.load_weights({str(weights)!r}); model.save('joined.h5')")


def test_a_folder_of_transformers_is_named_by_its_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["ViTForImageClassification"]}')
    (tmp_path / "preprocessor_config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    refusal = file_kinds.of(tmp_path).refusal("model")
    assert "model.safetensors is a weights file (safetensors)" in refusal.message
    assert f"optimum-cli export onnx --task image-classification --model {tmp_path} FOLDER" in refusal.remedy


def test_a_file_of_tensorflow_js_gets_the_command_of_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text('{"modelTopology": {"class_name": "Sequential"}}')
    refusal = file_kinds.of(path).refusal("model")
    assert refusal.message == f"{path} is a TensorFlow.js model"
    assert f"--output_format=keras {path} model.h5" in refusal.remedy

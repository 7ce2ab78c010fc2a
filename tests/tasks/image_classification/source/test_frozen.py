"""Models without layers: what their files and runtimes say, and what the user is asked for."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from zoo.cli.main import main
from zoo.tasks.image_classification.source import application, frozen

# ModelProto with a graph of one node: its input, output, name and kind.
NODE = b"\x0a\x05image\x12\x01y\x1a\x01n\x22"


def onnx(kind: bytes) -> bytes:
    node = NODE + bytes([len(kind)]) + kind
    graph = b"\x0a" + bytes([len(node)]) + node
    return b"\x08\x08\x12\x01x\x3a" + bytes([len(graph)]) + graph + b"\x42\x02\x10\x0f"


@pytest.fixture
def answer(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the runtime says of a model; an image lies in the working folder."""
    row = {"shape": [64, 64, 3], "dtype": "float32", "quantization": None, "outputs": {"y": [3]}}
    monkeypatch.setattr(frozen.store, "ensure", lambda *_: SimpleNamespace(python=Path("python")))
    monkeypatch.setattr(application, "asked", lambda *_: row)
    Image.new("RGB", (40, 40)).save(pretending / "a.png")
    return row


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["infer", *words, "input=a.png", "output.root=runs"]) != 0
    return capsys.readouterr().err


def test_a_detector_with_boxes_is_refused_whatever_output_is_named(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answer["outputs"] = {"boxes": [10, 4], "kinds": [10], "scores": [10], "count": []}
    Path("net.onnx").write_bytes(onnx(b"Conv"))
    for words in ((), ("model.output=scores",)):
        said = " ".join(refusal(capsys, "model=net.onnx", "scale=0..1", *words).split())
        assert "detects objects: output boxes has 4 sides for each of 10 boxes" in said


def test_names_and_scaling_of_a_model_of_ultralytics(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answer["metadata"] = {"author": "Ultralytics", "names": "{0: 'old', 1: 'ripe', 2: 'unripe'}"}
    Path("net.onnx").write_bytes(onnx(b"Conv"))
    said = " ".join(refusal(capsys, "model=net.onnx").split())
    assert "Names of the classes: in the metadata of net.onnx" in said
    assert "net.onnx is of Ultralytics: scale=0..1" in said
    answer["metadata"]["names"] = "__import__('os')"
    assert "The 3 classes have no names" in refusal(capsys, "model=net.onnx")


@pytest.mark.parametrize("kind", [b"Sub", b"Div", b"Mul"])
def test_a_model_that_begins_with_arithmetic_may_scale_pixels_itself(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str], kind: bytes
) -> None:
    Path("net.onnx").write_bytes(onnx(kind))
    said = " ".join(refusal(capsys, "model=net.onnx").split())
    assert f"its first operation {kind.decode()} changes pixels, so scale=none is likely" in said


def test_a_model_that_begins_with_a_convolution_says_nothing_of_pixels(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("net.onnx").write_bytes(onnx(b"Conv"))
    said = " ".join(refusal(capsys, "model=net.onnx").split())
    assert "scale is missing: it was not found in net.onnx" in said
    assert "changes pixels" not in said


def test_a_saved_model_with_a_layer_rescaling(answer: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    Path("net/variables").mkdir(parents=True)
    Path("net/saved_model.pb").write_bytes(b"\x08\x01\x12\x04graph")
    Path("net/keras_metadata.pb").write_bytes(b'{"class_name": "Rescaling"}')
    said = " ".join(refusal(capsys, "model=net").split())
    assert "its layer Rescaling changes pixels, so scale=none is likely" in said


def test_a_detector_is_no_classifier(answer: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    answer["outputs"] = {"output0": [84, 8400]}
    Path("net.onnx").write_bytes(onnx(b"Conv"))
    said = " ".join(refusal(capsys, "model=net.onnx", "scale=0..1").split())
    assert "has the outputs output0 [84, 8400] None has one number for each class" in said
    answer["outputs"] = {}
    assert "Export it without ZipMap" in refusal(capsys, "model=net.onnx", "scale=0..1")
    answer["outputs"] = {"a": [3], "b": [4]}
    assert "model.output=NAME" in refusal(capsys, "model=net.onnx", "scale=0..1")


@pytest.mark.parametrize(
    ("pixels", "scale"), [("NominalRange_0_255", "none"), ("Normalized_0_1", "0..1"), ("Normalized_1_1", "-1..1")]
)
def test_scaling_and_order_of_colors_of_a_model_of_custom_vision(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str], pixels: str, scale: str
) -> None:
    Path("net.onnx").write_bytes(onnx(b"Conv"))
    facts = {"Image.BitmapPixelFormat": "Bgr8", "Image.NominalPixelRange": pixels}
    Path("metadata_properties.json").write_text(json.dumps(facts))
    assert f"metadata_properties.json next to net.onnx: scale={scale}, Bgr8" in refusal(capsys, "model=net.onnx")


def test_size_scaling_and_names_of_a_model_from_the_hugging_face_hub(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    answer["shape"] = [None, None, 3]
    Path("net.onnx").write_bytes(onnx(b"Conv"))
    assert "takes images of any size" in refusal(capsys, "model=net.onnx")
    facts = {"size": {"height": 96, "width": 96}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    Path("preprocessor_config.json").write_text(json.dumps(facts))
    Path("config.json").write_text(json.dumps({"id2label": {"0": "cat", "1": "dog", "2": "owl"}}))
    said = refusal(capsys, "model=net.onnx")
    assert "preprocessor_config.json next to net.onnx: scale=-1..1" in said
    assert "net.onnx: an ONNX model, 96 x 96 x 3, float32, 3 classes" in said
    facts["image_mean"] = [0.4, 0.4, 0.4]
    Path("preprocessor_config.json").write_text(json.dumps(facts))
    assert "scale is missing" in refusal(capsys, "model=net.onnx")


def test_the_description_above_a_folder_called_onnx_is_read(
    answer: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("hub/onnx").mkdir(parents=True)
    Path("hub/onnx/model.onnx").write_bytes(onnx(b"Conv"))
    facts = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    Path("hub/preprocessor_config.json").write_text(json.dumps(facts))
    assert "preprocessor_config.json next to model.onnx: scale=-1..1" in refusal(capsys, "model=hub/onnx/model.onnx")

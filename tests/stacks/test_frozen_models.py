"""Models without layers answer as their own runtime does: SavedModel, TensorFlow Lite and ONNX."""

import json
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support import CHECKOUT, real_stacks
from zoo.cli.main import main

pytestmark = [pytest.mark.stacks("export"), pytest.mark.slow]

# Writes every file, and `answers.npz`: the probabilities of `pixels.npy` by the runtime of each.
SAVE = """
import numpy as np, onnxruntime, tensorflow as tf, tf2onnx, keras
from ai_edge_litert.interpreter import Interpreter
from keras import layers

keras.utils.set_random_seed(1)
pixels, answers = np.load("pixels.npy"), {}
floats, unit = pixels.astype("float32"), pixels.astype("float32") / np.float32(255)

def network(shape, last="softmax", classes=3):
    return keras.Sequential([layers.Input(shape), layers.Flatten(),
                             layers.Dense(classes, last, kernel_initializer=keras.initializers.RandomNormal(0, 0.2))])

def lite(model, name, kind=None):
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if kind:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([row[None]] for row in unit * 2 - 1)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = kind
    open(name, "wb").write(converter.convert())

def by_lite(name, rows):
    model = Interpreter(name)
    asked, given = model.get_input_details()[0], model.get_output_details()[0]
    model.resize_tensor_input(asked["index"], rows.shape)
    model.allocate_tensors()
    model.set_tensor(asked["index"], rows)
    model.invoke()
    answer, (scale, zero) = model.get_tensor(given["index"]), given["quantization"]
    return (answer.astype("float32") - zero) * scale if scale else answer

model = network((12, 12, 3))
model.export("keras3", verbose=False)
answers["keras3"] = tf.saved_model.load("keras3").signatures["serving_default"](tf.constant(unit))["output_0"].numpy()
lite(model, "float.bin")
answers["float.bin"] = by_lite("float.bin", unit)
lite(model, "uint8.tflite", tf.uint8)
answers["uint8.tflite"] = by_lite("uint8.tflite", pixels)
lite(model, "int8.tflite", tf.int8)
answers["int8.tflite"] = by_lite("int8.tflite", (pixels.astype("int16") - 128).astype("int8"))

gray = network((12, 12))
lite(gray, "gray.tflite")
answers["gray.tflite"] = by_lite("gray.tflite", unit @ np.array([0.299, 0.587, 0.114], "float32"))

def to_onnx(model, name, channels_first):
    spec = [tf.TensorSpec((None, 12, 12, 3), tf.float32, name="image")]
    traced = tf.function(lambda image: model(image), input_signature=spec)
    tf2onnx.convert.from_function(traced, spec, opset=15, output_path=name,
                                  inputs_as_nchw=["image"] if channels_first else None)
    session = onnxruntime.InferenceSession(name, providers=["CPUExecutionProvider"])
    rows = unit.transpose(0, 3, 1, 2) if channels_first else unit
    return session.run(None, {session.get_inputs()[0].name: rows})[0]

answers["nhwc.onnx"] = to_onnx(model, "nhwc.onnx", False)
answers["nchw.onnx"] = to_onnx(model, "nchw.onnx", True)
logits = to_onnx(network((12, 12, 3), None), "logits.onnx", False)
answers["logits.onnx"] = tf.nn.softmax(logits).numpy()
second = to_onnx(network((12, 12, 3), "sigmoid", 1), "sigmoid.onnx", False)
answers["sigmoid.onnx"] = np.concatenate([1 - second, second], 1)

class Several(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None, 12, 12, 3), tf.float32, name="image")])
    def __call__(self, image):
        means = tf.reduce_mean(image, (1, 2))
        return {"means": means, "classes": tf.nn.softmax(9 * means), "maps": image}

several = Several()
tf.saved_model.save(several, "several", signatures=several.__call__)
answers["several"] = several(unit)["classes"].numpy()

class Writes(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec((None, 12, 12, 3), tf.float32, name="image")])
    def __call__(self, image):
        tf.io.write_file("executed", "x")
        return {"classes": tf.nn.softmax(tf.reduce_mean(image, (1, 2)))}

class WritesAtLoading(tf.Module):
    def __init__(self):
        super().__init__()
        names = tf.lookup.TextFileInitializer("labels.txt", tf.string, 0, tf.int64, -1, delimiter=" ")
        self.table = tf.lookup.StaticHashTable(names, -1)

    @tf.function(input_signature=[tf.TensorSpec((None, 12, 12, 3), tf.float32, name="image")])
    def __call__(self, image):
        self.table.lookup(tf.constant(["a"]))
        return {"classes": tf.nn.softmax(tf.reduce_mean(image, (1, 2)))}

open("labels.txt", "w").write("a 1\\n")
for name, kind in (("writes", Writes), ("reads", WritesAtLoading)):
    module = kind()
    tf.saved_model.save(module, name, signatures=module.__call__)
np.savez("answers.npz", **answers)
"""
# Prints the largest difference of each file to its own runtime, and what is said of its end.
COMPARE = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from zoo.protocol.request import ModelPart
from zoo.worker import model

pixels, answers, rows = np.load("pixels.npy"), np.load("answers.npz"), {}
for name in answers.files:
    whole = name.endswith("int8.tflite")
    scaling = [0.0] * 3, [255.0] * 3
    arguments = {"classes": answers[name].shape[1], "channels": 1 if name == "gray.tflite" else 3, "frozen": True,
                 "output": "classes" if name == "several" else None, "bgr": name == "nhwc.onnx"}
    if arguments["channels"] == 1:
        scaling = [0.0], [255.0]
    if whole:
        from zoo.worker import frozen_model
        scale, zero = frozen_model.open_model(name).quantization
        lowest = -128 if name == "int8.tflite" else 0
        scaling = [float(zero - lowest)] * 3, [1 / scale] * 3
    part = ModelPart(name=name, args=dict(arguments, normalise=scaling), saved=name)
    network, preprocess = model.build_model(part)
    given = network.predict_on_batch(preprocess(pixels[..., ::-1] if arguments["bgr"] else pixels))
    rows[name] = {"difference": float(np.abs(given - answers[name]).max()), "notes": part.notes,
                  "spread": float(np.ptp(answers[name], axis=0).max())}
print("ROWS" + json.dumps(rows))
"""
SCALES = {"uint8.tflite": [], "several": ["scale=0..1", "model.output=classes"]}
NOTES = {"logits.onnx": "a softmax is applied", "sigmoid.onnx": "probability of the second class"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("frozen")
    pixels = np.random.default_rng(0).integers(0, 256, (5, 12, 12, 3), np.uint8)
    np.save(folder / "pixels.npy", pixels)
    for number, image in enumerate(pixels):
        name = folder / "photos" / f"class {number % 3}" / f"{number}.png"
        name.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(name)
    row, environment = real_stacks.environment("export")
    command = [str(environment.python), "-c", SAVE]
    done = subprocess.run(command, cwd=folder, env=row.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "labels.txt").unlink()
    (folder / "executed").unlink(missing_ok=True)
    return folder


def infer(folder: Path, name: str, *words: str) -> int:
    output = [f"output.root={folder}", f"output.name=run-{name}", "probabilities=true"]
    scale = SCALES.get(name, ["scale=0..1"])
    return main(["infer", f"model={folder / name}", f"input={folder / 'photos'}", *scale, *output, *words])


def order(folder: Path) -> list[int]:
    """The numbers of the images in the order in which a folder is read."""
    return [int(path.stem) for path in sorted((folder / "photos").rglob("*.png"))]


def test_every_format_layout_and_ending_answers_as_its_own_runtime(files: Path) -> None:
    row, environment = real_stacks.environment("export")
    command = [str(environment.python), "-c", COMPARE, str(CHECKOUT)]
    done = subprocess.run(command, cwd=files, env=row.env, capture_output=True, text=True, check=False)
    assert "ROWS" in done.stdout, done.stderr[-3000:]
    rows = json.loads(done.stdout.partition("ROWS")[2])
    assert len(rows) == 10
    for name, each in rows.items():
        assert each["spread"] > 0.05, name  # the images differ
        assert each["difference"] <= 1e-6, name
        assert [NOTES[name] in note for note in each["notes"]] == [True] if name in NOTES else each["notes"] == []


@pytest.mark.parametrize("name", ["uint8.tflite", "nchw.onnx", "several"])
def test_answers_are_those_of_the_runtime_of_the_file(files: Path, name: str) -> None:
    assert infer(files, name) == 0
    answers = np.load(files / f"run-{name}" / "probabilities.npy")
    with np.load(files / "answers.npz") as stored:
        expected = stored[name][order(files)]
    np.testing.assert_allclose(answers, expected, atol=1e-6)


@pytest.mark.parametrize(("name", "words"), [("writes", "(WriteFile)"), ("reads", "InitializeTableFromTextFile")])
def test_operations_with_effects_are_refused(
    files: Path, name: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert infer(files, name) == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert words in shown
    assert "has effects outside of the model" in shown
    assert not (files / "executed").exists()


def test_outputs_are_named_where_there_are_several(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert infer(files, "several", "model.output=nothing", "output.name=wrong") == 1
    shown = capsys.readouterr().err
    assert "model.output=NAME" in shown


def test_labels_in_a_file_and_an_evaluation(files: Path) -> None:
    labelled = files / "labelled.tflite"
    labelled.write_bytes((files / "uint8.tflite").read_bytes())
    with zipfile.ZipFile(labelled, "a") as archive:
        archive.writestr("labels.txt", "0 ant\n1 bee\n2 cat\n")
    words = [f"model={labelled}", f"input={files / 'photos'}", f"output.root={files}", "output.name=named"]
    assert main(["infer", *words]) == 0
    record = json.loads((files / "named" / "run.json").read_text())
    assert record["data"]["class_names"] == ["ant", "bee", "cat"]
    assert record["weights"]["kind"] == "tflite"
    words = [f"model={files / 'uint8.tflite'}", f"data.root={files / 'photos'}", f"output.root={files}"]
    assert main(["evaluate", *words, "output.name=evaluated"]) == 0
    with np.load(files / "answers.npz") as stored:
        right = stored["uint8.tflite"].argmax(axis=1) == np.arange(5) % 3
    metrics = json.loads((files / "evaluated" / "run.json").read_text())["metrics"]
    assert metrics["test_accuracy"] == pytest.approx(right.mean())


def test_a_frozen_model_is_not_exported_again(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", f"model={files / 'nhwc.onnx'}", "format=onnx"]) == 1
    assert "Give the Keras model that it was made from" in " ".join(capsys.readouterr().err.split())


# Nested as Teachable Machine saves it; its DepthwiseConv2D is one that Keras 3 does not load.
KERAS_2 = """
import h5py, json, numpy as np, tensorflow as tf
from tensorflow.keras import Sequential, layers

tf.keras.utils.set_random_seed(1)
trunk = Sequential([layers.InputLayer((16, 16, 3)), layers.Conv2D(4, 3), layers.DepthwiseConv2D(3),
                    layers.GlobalAveragePooling2D()])
top = Sequential([layers.InputLayer((4,)), layers.Dense(2, "softmax", use_bias=False)])
model = Sequential([trunk, top])
model.build((None, 16, 16, 3))
model.save("keras_model.h5")
with h5py.File("keras_model.h5", "a") as file:  # as tf_keras 2.16 and later write it
    content = json.loads(file.attrs["model_config"])
    for part in content["config"]["layers"]:
        (start,) = [each for each in part["config"].get("layers", [part]) if each["class_name"] == "InputLayer"]
        start["config"]["optional"] = False
    file.attrs["model_config"] = json.dumps(content)
model.save("model.savedmodel", save_format="tf")
open("labels.txt", "w").write("0 Cat\\n1 Dog\\n")
pixels = np.load("pixels.npy").astype("float32")
np.save("answers.npy", model.predict(pixels / np.float32(127.5) - 1, verbose=0))
"""


@pytest.mark.stacks("export", "tf-2.12")
def test_a_model_of_keras_2_is_exported_and_its_saved_model_answers(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (3, 16, 16, 3), np.uint8) // [[[[1]]], [[[2]]], [[[9]]]]
    np.save(tmp_path / "pixels.npy", pixels)
    (tmp_path / "photos").mkdir()
    for number, image in enumerate(pixels):
        Image.fromarray(image.astype(np.uint8)).save(tmp_path / "photos" / f"{number}.png")
    row, environment = real_stacks.environment("tf-2.12")
    real_stacks.environment("export")
    command = [str(environment.python), "-c", KERAS_2]
    done = subprocess.run(command, cwd=tmp_path, env=row.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    words = ["scale=-1..1", f"input={tmp_path / 'photos'}", f"output.root={tmp_path}"]
    formats = ["format=onnx,litert", f"output={tmp_path / 'exported'}", "output.name=export"]
    assert main(["export", f"model={tmp_path / 'keras_model.h5'}", *words, *formats]) == 0
    record = json.loads((tmp_path / "export" / "run.json").read_text())
    assert record["compared_with"]["stack"] == "tf-2.12"
    assert {each["format"]: each["kept"] for each in record["exports"]} == {"onnx": True, "litert": True}
    assert max(each["difference"] for each in record["exports"]) < 1e-5
    assert json.loads((tmp_path / "exported" / "onnx" / "model.json").read_text())["classes"] == ["Cat", "Dog"]
    expected = np.load(tmp_path / "answers.npy")
    assert np.ptp(expected[:, 0]) > 0.01
    for name, scale in (("model.savedmodel", ["scale=-1..1"]), ("exported/onnx/model.onnx", [])):
        output = [f"output.name=run-{Path(name).name}", "probabilities=true"]
        assert main(["infer", f"model={tmp_path / name}", *scale, *words[1:], *output]) == 0
        answers = np.load(tmp_path / f"run-{Path(name).name}" / "probabilities.npy")
        np.testing.assert_allclose(answers, expected, atol=1e-5)


# Writes a file as Keras 2.15 does: its configuration is that of Keras 2, and its weights have the groups of Keras 3.
KERAS_2_15 = """
import io, json, zipfile
import h5py, numpy as np, tensorflow as tf
from keras.saving import serialization_lib
layers = tf.keras.layers
tf.keras.utils.set_random_seed(3)
first, inner = layers.Conv2D(4, 3, name="a"), layers.Conv2D(5, 3, name="b")
block = tf.keras.Sequential([layers.Input((14, 14, 4)), inner, layers.BatchNormalization(name="c")], name="d")
second, last = layers.SeparableConv2D(6, 3, name="e"), layers.Dense(3, activation="softmax", name="f")
model = tf.keras.Sequential([layers.Input((16, 16, 3)), first, block, second, layers.GlobalMaxPooling2D(), last])
model.set_weights([np.random.default_rng(n).normal(size=w.shape) ** 2 for n, w in enumerate(model.get_weights())])
places = {"layers/conv2d": first, "layers/sequential/layers/conv2d": inner, "layers/dense": last,
          "layers/sequential/layers/batch_normalization": block.layers[1], "layers/separable_conv2d": second}
stored = io.BytesIO()
with h5py.File(stored, "w") as out:
    out.create_group("layers/global_max_pooling2d/vars")
    for place, layer in places.items():
        for number, value in enumerate(layer.get_weights()):
            out[place + "/vars/%d" % number] = value
with zipfile.ZipFile("later.keras", "w") as archive:
    archive.writestr("metadata.json", json.dumps({"keras_version": "2.15.0", "date_saved": "2024-01-01@00:00:00"}))
    archive.writestr("config.json", json.dumps(serialization_lib.serialize_keras_object(model)))
    archive.writestr("model.weights.h5", stored.getvalue())
open("labels.txt", "w").write("a\\nb\\nc\\n")
np.save("answers.npy", model.predict(np.load("pixels.npy").astype("float32") / 255, verbose=0))
"""


@pytest.mark.stacks("tf-2.12")
def test_a_file_of_keras_2_15_answers_as_the_network_that_it_stores(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (3, 16, 16, 3), np.uint8)
    np.save(tmp_path / "pixels.npy", pixels)
    (tmp_path / "photos").mkdir()
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / "photos" / f"{number}.png")
    row, environment = real_stacks.environment("tf-2.12")
    command = [str(environment.python), "-c", KERAS_2_15]
    done = subprocess.run(command, cwd=tmp_path, env=row.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    words = [f"model={tmp_path / 'later.keras'}", "scale=0..1", f"input={tmp_path / 'photos'}", "probabilities=true"]
    assert main(["infer", *words, f"output.root={tmp_path}", "output.name=run"]) == 0
    expected = np.load(tmp_path / "answers.npy")
    assert np.ptp(expected) > 0.01
    np.testing.assert_allclose(np.load(tmp_path / "run" / "probabilities.npy"), expected, atol=1e-5)

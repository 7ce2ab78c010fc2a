"""Saved Keras models: what a file tells, and what is refused before Keras sees it."""

import ast
import copy
import io
import json
import shlex
import zipfile
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped]
import numpy as np
import pytest

from zoo.core.errors import ZooError
from zoo.weights import sandbox, saved_models


def layer(kind: str, module: str | None = "keras.layers", registered: str | None = None, **config: Any) -> Any:
    return {"module": module, "class_name": kind, "config": config, "registered_name": registered}


def config(*inner: Any) -> dict[str, Any]:
    """The configuration of a network for 32 x 32 images and three classes, with layers in the middle."""
    first = layer("InputLayer", batch_shape=[None, 32, 32, 3], name="input")
    last = layer("Dense", name="top", units=3, activation="softmax")
    return {"module": "keras", "class_name": "Sequential", "config": {"layers": [first, *inner, last]}}


def weights() -> bytes:
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file.create_dataset("layers/dense/vars/0", data=np.ones((3, 3), np.float32))
    return content.getvalue()


def archive(path: Path, content: Any, version: str = "3.15.1", **more: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("metadata.json", json.dumps({"keras_version": version}))
        out.writestr("config.json", json.dumps(content))
        for name, data in ({"model.weights.h5": weights()} | more).items():
            out.writestr(name, data)
    return path


def hdf5(path: Path, content: Any, version: str | None = "2.5.0") -> Path:
    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps(content).encode()
        if version:
            file.attrs["keras_version"] = version.encode()
        file.create_dataset("model_weights/dense/dense/kernel:0", data=np.ones((3, 3), np.float32))
    return path


def old(*inner: Any) -> dict[str, Any]:
    """The same as Keras 2 wrote it: without modules."""
    tree = copy.deepcopy(config(*inner))
    for row in [tree, *tree["config"]["layers"]]:
        row.pop("module", None)
        row.pop("registered_name", None)
    return tree


def refusal(path: Path) -> str:
    with pytest.raises(ZooError) as caught:
        saved_models.read(str(path))
    return str(caught.value)


def test_a_file_tells_generation_size_and_classes(tmp_path: Path) -> None:
    model = saved_models.read(str(archive(tmp_path / "a.keras", config(layer("Rescaling", scale=1 / 255)))))
    assert (model.generation, model.input_shape, model.outputs, model.wanted_scale) == (3, (32, 32, 3), 3, "none")
    model = saved_models.read(str(hdf5(tmp_path / "a.h5", old(layer("Conv2D", filters=8)))))
    assert (model.generation, model.input_shape, model.outputs, model.wanted_scale) == (2, (32, 32, 3), 3, None)
    assert saved_models.read(str(hdf5(tmp_path / "b.h5", old(), "2.1.5-tf"))).generation == 2


def test_a_file_is_read_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading starts a process."""
    read, asked = sandbox.read_model, []
    monkeypatch.setattr(sandbox, "read_model", lambda path: asked.append(path) or read(path))
    path = archive(tmp_path / "a.keras", config())
    assert saved_models.read(str(path)) == saved_models.read(str(path))
    assert len(asked) == 1
    archive(path, config(layer("Lambda", name="new")))
    assert "is a Lambda" in refusal(path)


GADGET = {"module": "keras.utils", "class_name": "function", "config": "get_file", "registered_name": "get_file"}


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        (layer("Lambda", name="doubled"), "its layer 'doubled' is a Lambda, which runs code of the file"),
        (layer("TFSMLayer", filepath="/tmp/evil"), "is a TFSMLayer"),
        (layer("TorchModuleWrapper", name="t"), "is a TorchModuleWrapper"),
        (layer("Mine", None, "Mine", name="own"), "'own' is a Mine, which is not part of Keras"),
        (layer("Mine", "my_package.layers", name="own"), "'own' is a Mine, which is not part of Keras"),
        (layer("pack>Mine", name="own"), "not part of Keras"),
        (layer("Popen", "subprocess", args=["touch", "x"]), "not part of Keras"),
        (layer("Activation", activation=GADGET), "'get_file' is a function, which is not part of Keras"),
        (layer("Activation", activation={"module": "builtins", "class_name": "function", "config": "f"}), "'f'"),
        (layer("Dense", units=3, kernel_initializer={"class_name": "__lambda__", "config": {}}), "__lambda__"),
    ],
)
def test_code_and_objects_of_others_are_refused_by_name(tmp_path: Path, inner: Any, words: str) -> None:
    said = refusal(archive(tmp_path / "a.keras", config(inner)))
    assert words in said
    assert "model file" in said
    assert "model.export('FOLDER')" in said
    nested = layer("TimeDistributed", layer=inner, name="outer")
    assert "is refused" in refusal(archive(tmp_path / "b.keras", config(nested)))


def test_a_network_of_tf_keras_within_another_is_of_keras(tmp_path: Path) -> None:
    """tf_keras 2.16 and newer name their modules in nested networks; those of others are refused as before."""
    tree = old(layer("Functional", name="inner", layers=[]))
    inner = tree["config"]["layers"][1] | {"registered_name": "Functional"}
    tree["config"]["layers"][1] = inner | {"module": "tf_keras.src.engine.functional"}
    assert saved_models.read(str(hdf5(tmp_path / "a.h5", tree))).outputs == 3
    tree["config"]["layers"][1] = inner | {"module": "tf_keras_evil.src.engine.functional"}
    assert "'inner' is a Functional, which is not part of Keras" in refusal(hdf5(tmp_path / "b.h5", tree))


def test_a_layer_of_tensorflow_hub_is_refused_with_the_way_to_save_it(tmp_path: Path) -> None:
    said = refusal(hdf5(tmp_path / "a.h5", old(layer("KerasLayer", None, name="hub", handle="https://example.org/x"))))
    assert "its layer 'hub' is a KerasLayer of TensorFlow Hub" in said
    assert 'model.save("FOLDER", save_format="tf")' in said


def test_a_lambda_of_keras_2_is_refused_which_that_keras_would_run(tmp_path: Path) -> None:
    assert "is a Lambda" in refusal(hdf5(tmp_path / "a.h5", old(layer("Lambda", name="l"))))
    for kind in ("TFOpLambda", "SlicingOpLambda"):
        call = layer(kind, name="write", function="io.write_file")
        assert "calls 'io.write_file'" in refusal(hdf5(tmp_path / "b.h5", old(call)))
    assert "is a TensorFlowOpLayer" in refusal(hdf5(tmp_path / "d.h5", old(layer("TensorFlowOpLayer", node_def="x"))))
    assert saved_models.read(str(hdf5(tmp_path / "c.h5", old(layer("TFOpLambda", function="math.multiply"))))).outputs


def test_how_a_model_was_compiled_does_not_matter(tmp_path: Path) -> None:
    inner = config(layer("Dense", units=1)) | {"compile_config": {"loss": layer("Lambda", name="hidden")}}
    assert "is a Lambda" in refusal(archive(tmp_path / "nested.keras", config(inner)))
    compiled = config() | {"compile_config": {"loss": layer("my_loss", "builtins", "my_loss")}}
    assert saved_models.read(str(archive(tmp_path / "a.keras", compiled))).outputs == 3


@pytest.mark.parametrize("name", ["../../evil.py", "/etc/evil", "assets.txt", "..\\evil", "config.json/../x"])
def test_an_archive_holds_nothing_but_a_model(tmp_path: Path, name: str) -> None:
    assert "which no Keras model has" in refusal(archive(tmp_path / "a.keras", config(), **{name: b"x"}))


def test_a_configuration_of_100_megabytes_is_not_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.keras", config())
    with zipfile.ZipFile(tmp_path / "b.keras", "w", zipfile.ZIP_DEFLATED) as out:
        with out.open("config.json", "w") as stream:
            for _ in range(100):
                stream.write(b" " * (1 << 20))
        for name in ("metadata.json", "model.weights.h5"):
            out.writestr(name, zipfile.ZipFile(path).read(name))
    assert "declares 104," in refusal(tmp_path / "b.keras")
    stored = archive(tmp_path / "c.keras", config())
    with zipfile.ZipFile(stored, "w") as out:
        out.writestr("metadata.json", "{}")
        out.writestr("config.json", b"[" * (100 << 20))
        out.writestr("model.weights.h5", weights())
    assert "'config.json' is 104,857,600 bytes long" in refusal(stored)


def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.keras"
    archive(path, config(), **{"model.weights.h5": b"\0" * (200 << 20)})
    assert "declares" in refusal(path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_file_that_breaks_off_is_refused(tmp_path: Path, share: float) -> None:
    for path in (archive(tmp_path / "a.keras", config()), hdf5(tmp_path / "a.h5", old())):
        content = path.read_bytes()
        path.write_bytes(content[: int(len(content) * share)])
        said = refusal(path)
        assert "is refused" in said or "truncated file" in said


@pytest.mark.parametrize("version", ["", "evil", "4.0.0", "2", "3." + "9" * 50])
def test_a_file_that_does_not_tell_its_keras_is_refused(tmp_path: Path, version: str) -> None:
    assert "version of Keras is unknown" in refusal(archive(tmp_path / "a.keras", config(), version))


def test_weights_alone_and_other_inputs_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("dense/kernel:0", data=np.ones((3, 3), np.float32))
    assert "weights but no model" in refusal(tmp_path / "a.h5")
    tokens = {"module": "keras", "class_name": "Sequential", "config": {"layers": [layer("Dense", units=3)]}}
    assert "not an image" in refusal(archive(tmp_path / "b.keras", tokens))


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ({"output_layers": [["age", 0, 0], ["sex", 0, 0]]}, "2 outputs: age, sex"),
        ({"output_layers": {"age": ["age", 0, 0], "sex": ["sex", 0, 0]}}, "2 outputs: age, sex"),
        ({"input_layers": [["a", 0, 0], ["b", 0, 0]], "output_layers": ["top", 0, 0]}, "2 inputs: a, b"),
    ],
)  # fmt: skip
def test_several_inputs_or_outputs_are_refused_by_name(tmp_path: Path, ends: dict[str, Any], words: str) -> None:
    content = config()
    content["config"] |= ends
    assert words in refusal(archive(tmp_path / "a.keras", content))


def test_several_outputs_are_refused_with_the_command_for_one_unless_the_file_runs_code(tmp_path: Path) -> None:
    content = config()
    content["config"] |= {"output_layers": [["age", 0, 0], ["sex", 0, 0]]}
    for name, stack, last in (("a b.keras", "tf-2.21", "one.keras"), ("b.h5", "tf-2.12", "one.h5")):
        before = old()
        before["config"] |= {"output_layers": [["age", 0, 0], ["sex", 0, 0]]}
        path = archive(tmp_path / name, content) if " " in name else hdf5(tmp_path / name, before)
        _, command, then = refusal(path).split("\n")
        words = shlex.split(command.partition("(outputs[0] is age): ")[2])
        assert words[:-1] == ["python", "-m", "zoo", "run", f"stack={stack}", "-c"]
        assert ast.unparse(ast.parse(words[-1])).splitlines()[1:] == [
            f"model = keras.models.load_model('{path}', compile=False)",
            f"keras.Model(model.inputs, model.outputs[0]).save('{last}')",
        ]
        assert then.startswith(f"Then give model={last}. model.output= is for SavedModel")
    content["config"]["layers"].append(layer("Lambda"))
    assert "python -m zoo run" not in refusal(archive(tmp_path / "c.keras", content))


@pytest.mark.parametrize(
    ("shape", "words"),
    [([None, 13], "(13,)"), ([None, 3, 32, 32], "(3, 32, 32)"), ([None, 10, 32, 32, 3], "(10, 32, 32, 3)")],
)
def test_other_inputs_are_refused_with_their_shape(tmp_path: Path, shape: list[Any], words: str) -> None:
    content = config(layer("TimeDistributed", build_input_shape=[None, 32, 32, 3]))
    content["config"]["layers"][0]["config"]["batch_shape"] = shape
    assert f"its input, {words}, is not an image" in refusal(archive(tmp_path / "a.keras", content))


def test_models_of_texts_are_refused_as_such(tmp_path: Path) -> None:
    content = config(layer("TextVectorization"))
    content["config"]["layers"][0]["config"] = {"batch_shape": [None, 1], "dtype": "string", "name": "text"}
    assert "takes texts, not images" in refusal(archive(tmp_path / "a.keras", content))
    words = refusal(archive(tmp_path / "b.keras", config(), **{"assets/layers/vocabulary.txt": b"x"}))
    assert "'assets/layers/vocabulary.txt', a file of a layer for texts or tables. Images are required" in words


@pytest.mark.parametrize(
    ("shape", "kind", "fits"),
    [((30, 5), "LSTM", False), ((28, 28), "LSTM", True), ((32, 128), "Conv1D", False), ((32, 128), "Flatten", True)],
)
def test_steps_and_features_are_not_an_image(tmp_path: Path, shape: tuple[int, int], kind: str, fits: bool) -> None:
    content = config(layer(kind))
    content["config"]["layers"][0]["config"]["batch_shape"] = [None, *shape]
    path = archive(tmp_path / "a.keras", content)
    if fits:
        assert saved_models.read(str(path)).input_shape[:2] == shape
    else:
        assert f"its input, {shape}, is not an image" in refusal(path)


def test_deep_nesting_is_no_trouble(tmp_path: Path) -> None:
    inner: Any = layer("Lambda", name="deep")
    for _ in range(200):
        inner = layer("TimeDistributed", layer=inner)
    assert "is a Lambda" in refusal(archive(tmp_path / "a.keras", config(inner)))


def called(function: str, value: float) -> dict[str, Any]:
    """An operation as Keras 3 writes it."""
    return {**layer(function, "keras.src.ops.numpy", name=function.lower()), "inbound_nodes": [{"args": [{}, value]}]}


AUGMENTATION = layer("RandomFlip", name="flip"), layer("RandomRotation", name="turn")


@pytest.mark.parametrize(
    ("inner", "wanted", "by"),
    [
        ([layer("Rescaling", name="r", scale=1 / 255)], "none", "r"),
        ([*AUGMENTATION, layer("Rescaling", name="r", scale=1 / 127.5, offset=-1)], "none", "r"),
        ([layer("Sequential", layers=[*AUGMENTATION]), layer("Rescaling", name="r", scale=1 / 255)], "none", "r"),
        ([layer("Sequential", name="s", layers=[layer("Rescaling", name="r", scale=1 / 255)])], "none", "r"),
        ([layer("Rescaling", name="r", scale=2.0, offset=-1.0)], "0..1", "r"),
        ([called("TrueDivide", 127.5), called("Subtract", 1.0)], "none", "truedivide"),
        ([layer("Normalization", name="n", mean=[124, 116, 104], variance=[3410, 3263, 3292])], "none", "n"),
        ([layer("Normalization", name="n", mean=[[0.5]], variance=0.08)], "0..1", "n"),
        ([layer("Normalization", name="n", mean=None, variance=None)], None, "n"),
        ([layer("Conv2D", name="c", filters=8), layer("Rescaling", name="r", scale=1 / 255)], None, ""),
        ([*AUGMENTATION], None, ""),
        ([layer("Flatten", name="f")], None, ""),
        ([layer("AveragePooling2D", name="p"), layer("Flatten", name="f")], None, ""),
    ],
)  # fmt: skip
def test_the_scale_that_a_network_needs_is_read_from_its_layers(
    tmp_path: Path, inner: list[Any], wanted: str | None, by: str
) -> None:
    model = saved_models.read(str(archive(tmp_path / "a.keras", config(*inner))))
    assert (model.wanted_scale, model.scaled_by) == (wanted, by)


@pytest.mark.parametrize(
    ("scale", "before", "wanted"), [(255, [], "none"), (1, [], "0..1"), (1, [1 / 255], "none"), (255, [255], "0..1")]
)
@pytest.mark.parametrize("generation", [2, 3])
def test_what_a_normalization_was_adapted_to_tells_the_scale(
    tmp_path: Path, scale: int, before: list[float], wanted: str, generation: int
) -> None:
    rescaling = [layer("Rescaling", name="r", scale=factor) for factor in before]
    inner = [*rescaling, layer("Normalization", name="n", mean=None, variance=None)]
    mean, variance = np.full((1, 1, 1, 3), 0.45 * scale, np.float32), np.full(3, 0.07 * scale**2, np.float32)
    if generation == 3:
        out = io.BytesIO()
        with h5py.File(out, "w") as file:
            file["layers/normalization/vars/0"], file["layers/normalization/vars/1"] = mean, variance
            file["layers/batch_normalization/vars/0"] = np.ones(3, np.float32)
        path = archive(tmp_path / "a.keras", config(*inner), **{"model.weights.h5": out.getvalue()})
    else:
        path = hdf5(tmp_path / "a.h5", old(*inner))
        with h5py.File(path, "a") as file:
            file["model_weights/n/mean:0"], file["model_weights/n/variance:0"] = mean, variance
            file["model_weights/b/b/moving_mean:0"] = np.ones(3, np.float32)
    assert saved_models.read(str(path)).wanted_scale == wanted


@pytest.mark.parametrize(
    ("loss", "activation", "measures"),
    [
        ("mse", "linear", True), ("mean_absolute_error", "relu", True), ("mse", "softmax", False),
        ("sparse_categorical_crossentropy", "linear", False), ({"class_name": "MeanSquaredError"}, "linear", True),
        ({"class_name": "function", "config": "huber"}, "linear", True), (None, "linear", True),
        (None, "sigmoid", False),
    ],
)  # fmt: skip
def test_a_loss_for_numbers_is_told_from_one_for_classes(
    tmp_path: Path, loss: Any, activation: str, measures: bool
) -> None:
    tree = config(layer("Conv2D", filters=8))
    tree["config"]["layers"][-1]["config"] |= {"units": 1, "activation": activation}
    path = archive(tmp_path / "a.keras", tree | {"compile_config": {"loss": loss}})
    assert saved_models.read(str(path)).measures == ("top" if measures else "")


@pytest.mark.parametrize(
    ("units", "loss", "activation", "labels"),
    [
        (5, "binary_crossentropy", "sigmoid", True), (5, None, "sigmoid", True),
        (5, "categorical_hinge", "softmax", False),
        (5, {"class_name": "BinaryCrossentropy", "config": {"from_logits": True}}, "linear", True),
        (5, None, "linear", False), (1, "binary_crossentropy", "sigmoid", False),
    ],
)  # fmt: skip
def test_several_labels_are_told_from_one_class(
    tmp_path: Path, units: int, loss: Any, activation: str, labels: bool
) -> None:
    tree = config(layer("Conv2D", filters=8))
    tree["config"]["layers"][-1]["config"] |= {"units": units, "activation": activation}
    path = archive(tmp_path / "a.keras", tree | {"compile_config": {"loss": loss}})
    assert saved_models.read(str(path)).labels == labels


def test_an_input_without_channels_is_gray(tmp_path: Path) -> None:
    tree = config(layer("Flatten", name="f"))
    tree["config"]["layers"][0]["config"]["batch_shape"] = [None, 28, 28]
    model = saved_models.read(str(archive(tmp_path / "a.keras", tree)))
    assert model.input_shape == (28, 28, 1)


@pytest.mark.parametrize("content", [None, [], "x", 7])
def test_a_configuration_that_is_no_object_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(ZooError, match="its configuration is not a JSON object"):
        saved_models.read(str(archive(tmp_path / "a.keras", content)))
    with pytest.raises(ZooError, match="its configuration is not a JSON object"):
        saved_models.read(str(hdf5(tmp_path / "a.h5", content)))

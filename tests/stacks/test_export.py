"""Exports on the real stack: every kind of model, by the runtime of each target; and what goes wrong."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support import CHECKOUT, real_stacks
from zoo.cli.main import main
from zoo.data.images import pixels, reading
from zoo.tasks.image_classification import export
from zoo.weights import io

pytestmark = [pytest.mark.stacks("export"), pytest.mark.slow]

RUN = ("onnx", "litert", "openvino", "savedmodel")
FORMATS = ",".join([*RUN, "coreml"])
TEXTS = "data=text_lines data.root={texts} model.layers=1 model.d_model=16 model.heads=2 model.d_ff=32 model.length=16"
PICTURES = "data=folder data.root={pictures} model.input_size=32 trainer.epochs=1"
TRAININGS = {
    "mnist_dense": "data=digits trainer.epochs=4",
    "mnist": "data=digits trainer.epochs=1",
    "mobilenet_v2": f"{PICTURES} model.alpha=0.35 data.resize=crop",
    "keras/MobileNetV3Small": PICTURES,
    "transformer/classifier": f"{TEXTS} trainer.epochs=1",
    "transformer/lm": "data=text_file data.root={text} trainer.epochs=1 trainer.steps=3 model.layers=1"
    " model.d_model=16 model.heads=2 model.length=12",
    "style_transfer/fast": "trainer.steps=1 model.filters=4 model.blocks=1 features=random trainer.size=32",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs are, with texts and pictures to train on."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "texts").mkdir()
    for name, word in (("good.txt", "fine"), ("bad.txt", "poor")):
        rows = [f"a {word} film number {number} with {word} people in it\n" for number in range(60)]
        (folder / "texts" / name).write_text("".join(rows))
    for name, color in (("red", (200, 20, 20)), ("blue", (20, 20, 200))):
        (folder / "pictures" / name).mkdir(parents=True)
        for number in range(20):
            Image.new("RGB", (32, 32), tuple(each + number for each in color)).save(
                folder / "pictures" / name / f"{number}.png"
            )
    (folder / "text.txt").write_text("to be or not to be that is the question\n" * 40)
    return folder


def _trained(place: Path, model: str, stack: str = "") -> Path:
    name = stack + model.replace("/", "-")
    if not (place / name / "weights.npz").is_file():
        places = {"texts": place / "texts", "text": place / "text.txt", "pictures": place / "pictures"}
        settings = TRAININGS[model].format(**places).split()
        own = [f"model={model}", "backend=cpu", f"output.root={place}", f"output.name={name}"]
        own += [f"stack={stack}"] if stack else []
        assert main(["train", *own, *settings]) == 0
    return place / name


def _exported(place: Path, model: str, *words: str) -> Path:
    folder = place / f"{model.replace('/', '-')}_{len(list(place.iterdir()))}"
    arguments = [f"run={_trained(place, model)}", f"output={folder}", f"output.root={place / 'exports'}", *words]
    assert main(["export", *arguments]) == 0
    return folder


def _rows(folder: Path) -> dict[str, Any]:
    return {row["format"]: row for row in json.loads((folder / "export.json").read_text())["formats"]}


@pytest.mark.parametrize("model", TRAININGS)
def test_every_model_runs_in_every_format_and_its_readme_works(
    place: Path, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = _exported(place, model, f"format={FORMATS}")
    assert not list(tmp_path.glob("*.mlpackage"))
    rows = _rows(folder)
    assert set(rows) == {*RUN, "coreml"}
    assert all(rows[name]["ran"] and rows[name]["difference"] < 1e-4 and not rows[name]["changed"] for name in RUN)
    assert rows["coreml"]["kept"]
    assert rows["coreml"]["ran"] == (sys.platform == "darwin")
    for name in RUN:
        assert rows[name]["files"]["items"] == 20
        assert rows[name]["files"]["changed"] == 0
        assert _said_by_program(folder / name, tmp_path / name)


@pytest.mark.parametrize("model", ["mnist", "style_transfer/fast"])
def test_the_lines_of_a_card_for_hubs_work_without_the_zoo(place: Path, model: str, tmp_path: Path) -> None:
    folder = _exported(place, model, "format=hub", "license=mit")
    assert _rows(folder)["hub"]["difference"] < 1e-4
    copied = shutil.copytree(folder / "hub", tmp_path / "far away")
    Image.fromarray(np.random.RandomState(0).randint(0, 256, (40, 44, 3), np.uint8)).save(copied / "image.jpg")
    card = (copied / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\n")
    (code,) = re.findall("```python\n(.*?)```", card, re.DOTALL)
    assert code.count("\n") <= 12
    python, variables = str(real_stacks.python("export")), {**os.environ, "PYTHONPATH": ""}

    def said(*words: str) -> str:
        command: Any = {"cwd": copied, "env": variables, "capture_output": True, "text": True, "check": True}
        return subprocess.run([python, *words], **command).stdout

    lines = said("-c", f"{code}\nimport sys; assert 'zoo' not in sys.modules").splitlines()
    program = said("predict.py", "image.jpg").split()
    if model == "style_transfer/fast":
        pixels = [np.asarray(Image.open(copied / name)) for name in ("restyled.png", "image.restyled.png")]
        np.testing.assert_array_equal(*pixels)
    else:
        assert lines[-1].split()[0] == program[1]
    own, listed = io.read(copied / "model.keras").arrays, io.read(copied / "model.safetensors").arrays
    assert sorted(array.shape for array in own.values()) == sorted(array.shape for array in listed.values())


def test_layers_of_ones_own_are_named_and_not_exported_for_hubs(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = place / "odd_model.py"
    odd = "class Odd(keras.layers.Layer):\n    def call(self, x):\n        return 2 * x\n"
    file.write_text(OWN.replace("def build", f"{odd}\n\ndef build").replace("Flatten()(x)", "Flatten()(Odd()(x))"))
    trained = [f"model={file}", "data=digits", "trainer.epochs=1", "backend=cpu", f"output.root={place}"]
    assert main(["train", *trained, "output.name=odd"]) == 0
    words = [f"run={place / 'odd'}", f"model={file}", "format=hub", f"output={place / 'odd_exported'}"]
    assert main(["export", *words, f"output.root={place / 'exports'}"]) == 1
    assert "hub: plain Keras cannot load its layers Odd, other formats can" in capsys.readouterr().err
    assert not (place / "odd_exported").exists()


@pytest.mark.stacks("export", "mlx")
@pytest.mark.parametrize("model", ["mnist", "transformer/lm"])  # all: scripts/maintenance/frameworks_page.py
def test_what_was_trained_on_mlx_is_exported_and_answers_as_on_mlx(place: Path, model: str) -> None:
    run, folder = _trained(place, model, "mlx"), place / f"mlx_{model.replace('/', '-')}_exported"
    words = [f"run={run}", f"format={FORMATS}", "compare_to=run", f"output={folder}"]
    assert main(["export", *words, f"output.root={place / 'exports'}"]) == 0
    assert json.loads((folder / "export.json").read_text())["compared_with"]["stack"] == "mlx"
    rows = _rows(folder)
    assert all(rows[name]["ran"] and rows[name]["difference"] < 1e-4 and not rows[name]["changed"] for name in RUN)
    assert rows["coreml"]["kept"]


@pytest.mark.stacks("export", "mlx")
def test_weights_and_model_files_of_mlx_are_read_elsewhere(place: Path) -> None:
    """Its Keras is newer than that of stack export, which opens its ``model.keras``."""
    run, exported = _trained(place, "mnist", "mlx"), place / "mlx_keras_exported"
    words = [f"model={run / 'model.keras'}", "scale=0..1", "format=onnx", f"output={exported}"]
    assert main(["export", *words, f"output.root={place / 'exports'}"]) == 0
    assert _rows(exported)["onnx"]["difference"] < 1e-4
    for name in ("mlx.safetensors", "mlx.h5", "mlx.weights.h5"):
        assert main(["weights", "convert", str(run / "weights.npz"), str(place / name)]) == 0
        back = place / f"{name}.npz"
        assert main(["weights", "convert", str(place / name), str(back)]) == 0
        with np.load(run / "weights.npz") as own, np.load(back) as read:
            assert set(own.files) == set(read.files)
            assert all(np.array_equal(own[each], read[each]) for each in own.files)


def _said_by_program(folder: Path, place: Path) -> str:
    """What predict.py prints in a copy of its folder, far from the zoo, in the environment of the stack."""
    shutil.copytree(folder, place)
    assert f"```python\n{(place / 'predict.py').read_text()}```" in (place / "README.md").read_text()
    Image.fromarray(np.full((40, 41, 3), 200, np.uint8)).save(place / "gray.png")
    kind = json.loads((place / "model.json").read_text())["inputs"][0]["name"]
    given = ["gray.png"] if kind == "image" else ["a fine film", "5"]
    command = [str(real_stacks.python("export")), "-I", "predict.py", *given]
    answer = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout or str((place / "gray.restyled.png").stat().st_size)


@pytest.mark.parametrize("model", ["keras/MobileNetV3Small"])
def test_images_of_any_size_are_resized_inside_of_the_file(place: Path, model: str, tmp_path: Path) -> None:
    folder = _exported(place, model, f"format={','.join(RUN)}", "preprocessing=inside")
    for name, row in _rows(folder).items():
        assert row["ran"]
        assert not row["changed"]
        assert (row["files"]["items"], row["files"]["changed"]) == (20, 0)
        assert row["files"]["difference"] < 0.01
        assert _said_by_program(folder / name, tmp_path / name)
        facts = json.loads((folder / name / "model.json").read_text())
        assert facts["inputs"] == [{"name": "image", "shape": [1, None, None, 3], "dtype": "uint8"}]
        assert facts["preprocessing"]["inside"]
        assert "takes the uint8 pixels of one image of any size" in (folder / name / "README.md").read_text()


@pytest.mark.parametrize("model", ["transformer/lm", "style_transfer/fast"])
def test_files_of_one_item_at_a_time(place: Path, model: str, tmp_path: Path) -> None:
    folder = _exported(place, model, f"format={','.join(RUN)}", "batch=one")
    for name, row in _rows(folder).items():
        assert (row["ran"], row["changed"], row["files"]["changed"]) == (True, 0, 0)
        facts = json.loads((folder / name / "model.json").read_text())
        assert {each["shape"][0] for each in facts["inputs"]} == {1}
        assert _said_by_program(folder / name, tmp_path / name)


def test_the_program_agrees_with_files_in_8_bits_of_scaled_images(place: Path) -> None:
    """The last bit of a scaled pixel decides how 8 bits round it."""
    limits = ["max_difference=1", "max_changed=1000"]
    folder = _exported(place, "mobilenet_v2", "format=onnx,litert", "quantize=dynamic,int8", *limits)
    assert len(json.loads((folder / "export.json").read_text())["formats"]) == 4


@pytest.mark.parametrize("resize", ["stretch", "crop"])
def test_pixels_are_resized_inside_as_by_pillow(place: Path, resize: str, tmp_path: Path) -> None:
    """By a network whose probabilities are its pixels; images are enlarged, reduced, and averaged in groups."""
    python, output, random = str(real_stacks.python("export")), tmp_path / "exported", np.random.RandomState(1)
    subprocess.run([python, "-c", PIXELS], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "names.txt").write_text("".join(f"{number}\n" for number in range(30 * 40 * 3)))
    words = [f"model={tmp_path / 'pixels.keras'}", f"classes={tmp_path / 'names.txt'}", "scale=none"]
    words += [f"resize={resize}", "format=onnx,litert", "preprocessing=inside", f"output={output}"]
    assert main(["export", *words, f"output.root={place / 'exports'}"]) == 0
    for number, (width, height) in enumerate([(7, 5), (40, 30), (41, 97), (333, 150), (501, 499)]):
        image = Image.fromarray(random.randint(0, 256, (height, width, 3), np.uint8))
        image.save(tmp_path / f"{number}.png")
        wanted = pixels.read(tmp_path / f"{number}.png", reading.photo((30, 40), resize)).ravel() / 255
        for name in ("onnx", "litert"):
            code = f"import predict; predict.np.save('p.npy', predict.predict({str(tmp_path / f'{number}.png')!r}))"
            subprocess.run([python, "-c", code], cwd=output / name, capture_output=True, check=True)
            logs = np.log(np.load(output / name / "p.npy"))
            assert np.abs((logs - logs.mean()) - (wanted - wanted.mean())).max() < 1.5 / 255


def test_images_are_not_resized_inside_for_models_of_other_images(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for model in ("mnist", "transformer/classifier", "style_transfer/fast"):
        words = [f"run={_trained(place, model)}", "format=onnx", "preprocessing=inside"]
        assert main(["export", *words, f"output.root={place / 'exports'}"]) == 1
        said = capsys.readouterr().err
        assert f"with resize=stretch or resize=crop, not for {model}\nRemove preprocessing=inside." in said


def test_the_way_of_resizing_of_a_training_is_that_of_its_export(place: Path) -> None:
    facts = json.loads((_exported(place, "mobilenet_v2", "format=onnx") / "onnx" / "model.json").read_text())
    how = facts["preprocessing"]
    assert (how["resize"], how["filter"], how["crop"], how["height"]) == ("crop", "bilinear", 0.875, 32)


def test_an_export_whose_readme_reads_files_in_another_way_is_not_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the README once did: without the inversion, scaling and centering of ink."""
    monkeypatch.setattr(export, "_code", lambda *_: (pixels.read, pixels.loaded, pixels.upright, prepared))
    run, output = _trained(place, "mnist_dense"), place / "careless"
    words = ["export", f"run={run}", "format=onnx", f"output={output}", f"output.root={place / 'exports'}"]
    assert main(words) == 1
    assert "its README's program differs for files: largest difference" in capsys.readouterr().err
    assert not output.exists()


def prepared(image: Any, how: Any) -> Any:
    return np.array(image.convert("L").resize((how.width, how.height)))[..., None]


def test_quantized_exports_are_smaller_and_keep_the_accuracy(place: Path) -> None:
    whole = _rows(_exported(place, "mnist", "format=onnx,litert,openvino"))
    folder = _exported(place, "mnist", "format=onnx,litert,openvino", "quantize=float16,dynamic,int8")
    rows = json.loads((folder / "export.json").read_text())["formats"]
    names = [f"{name}-{how}" for name in ("onnx", "litert", "openvino") for how in ("float16", "dynamic", "int8")]
    assert [row["folder"] for row in rows] == [name for name in names if name != "openvino-dynamic"]
    for row in rows:
        assert row["bytes"] < 0.6 * whole[row["format"]]["bytes"]
        assert row["accuracy"] > whole["onnx"]["accuracy"] - 0.02
        assert row["files"]["changed"] <= 2
    code = "import predict; print(predict.predict('seven.png').sum())"
    draw = Image.new("L", (90, 120), 255)
    draw.paste(0, (30, 20, 50, 100))
    draw.save(folder / "onnx-int8" / "seven.png")
    command = [str(real_stacks.python("export")), "-c", code]
    said = subprocess.run(command, cwd=folder / "onnx-int8", capture_output=True, text=True, check=True)
    assert float(said.stdout) == pytest.approx(1, abs=1e-5)


def test_metadata_tell_classes_and_preprocessing(place: Path) -> None:
    folder = _exported(place, "mnist", "format=onnx")
    code = (
        "import onnx; m = onnx.load('model.onnx'); print({p.key: p.value for p in m.metadata_props}); "
        "values = (*m.graph.input, *m.graph.output); "
        "print([d.dim_param or d.dim_value for v in values for d in v.type.tensor_type.shape.dim])"
    )
    command = [str(real_stacks.python("export")), "-c", code]
    text = subprocess.run(command, cwd=folder / "onnx", capture_output=True, text=True, check=True)
    facts = json.loads((folder / "onnx" / "model.json").read_text())
    assert json.dumps(facts["classes"]) in text.stdout
    assert text.stdout.endswith("['batch', 28, 28, 1, 'batch', 10]\n")
    assert str(place) not in text.stdout + json.dumps(facts)
    assert facts["preprocessing"]["divide"] == pytest.approx([255.0])
    assert facts["inputs"] == [{"name": "image", "shape": [None, 28, 28, 1], "dtype": "float32"}]


def test_an_export_with_other_results_is_not_kept(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, output = _trained(place, "mnist"), place / "refused"
    words = [f"run={run}", "format=onnx", "quantize=float16", "max_difference=1e-9", f"output={output}"]
    assert main(["export", *words, f"output.root={place / 'exports'}"]) == 1
    said = capsys.readouterr().err
    assert re.search(
        r"onnx: its outputs differ from the source model's: largest difference \S+, 0 predictions in 1000", said
    )
    assert not output.exists()


def test_a_training_exports_at_its_end(place: Path) -> None:
    words = ["train", "model=mnist_dense", "data=digits", "trainer.epochs=1", "backend=cpu", f"output.root={place}"]
    assert main([*words, "output.name=both", "output.export=[onnx]"]) == 0
    assert (place / "both" / "export" / "onnx" / "model.onnx").is_file()


def test_a_killed_export_leaves_nothing_under_its_name(place: Path) -> None:
    run, output = _trained(place, "mnist"), place / "killed"
    words = [f"run={run}", f"format={FORMATS}", f"output={output}", f"output.root={place / 'cut'}"]
    command = [sys.executable, "-m", "zoo", "export", *words]
    process = subprocess.Popen(command, cwd=CHECKOUT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(place.glob("cut/*/export.part/onnx/model.onnx")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not output.exists()
    assert not list(place.glob("cut/*/export"))


def test_of_two_at_once_one_gets_the_folder(place: Path) -> None:
    run, output = _trained(place, "mnist"), place / "shared"
    words = [f"run={run}", "format=onnx", f"output={output}", f"output.root={place / 'two'}"]
    command = [sys.executable, "-m", "zoo", "export", *words]
    pipes: Any = {"cwd": CHECKOUT, "stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    ends = [process.communicate()[1] for process in [subprocess.Popen(command, **pipes) for _ in range(2)]]
    assert sorted("it was not changed" in end for end in ends) == [False, True]
    assert (output / "onnx" / "model.onnx").is_file()
    assert not list(place.glob(".shared*"))


# Converters that do not say by themselves what is the matter, and the room for what they write first.
FULL_DISKS = [("openvino", 160_000), ("savedmodel", 60_000)]


@pytest.mark.parametrize(("format_", "room"), FULL_DISKS)
def test_a_full_disk_is_named_and_nothing_half_written_is_kept(
    place: Path, small_disk: Path, format_: str, room: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The weights take 140 kB: there is room for the run folder, and not for what is exported."""
    run = _trained(place, "mnist")
    (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free - 100_000 - room))
    words = [f"run={run}", f"format={format_}", "compare_to=rebuilt", "items=20"]
    assert main(["export", *words, f"output.root={small_disk / 'runs'}"]) == 1
    said = capsys.readouterr().err
    assert "No space left on device" in said
    assert "Free some space" in said
    assert not list(small_disk.glob("runs/*/export*"))


def test_a_full_disk_for_the_result_leaves_none_of_it(
    place: Path, small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _trained(place, "mnist")
    (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free - 60_000))
    words = [f"run={run}", "format=onnx", "compare_to=rebuilt", f"output={small_disk / 'mine'}"]
    assert main(["export", *words, f"output.root={place / 'elsewhere'}"]) == 1
    said = capsys.readouterr().err
    assert f"Cannot write {small_disk / 'mine'}: No space left on device" in said
    assert "output=FOLDER" in said
    assert [path.name for path in small_disk.iterdir()] == ["ballast"]
    (exported,) = (place / "elsewhere").glob("*/export")
    assert f"The exported files are in {exported}" in said
    assert (exported / "README.md").is_file()


OWN = """
import keras


def build(input_shape, classes, width=8):
    image = keras.layers.Input(shape=input_shape)
    x = keras.layers.Conv2D(width, 3, activation="relu")(image)
    return keras.models.Model(inputs=image, outputs=keras.layers.Dense(classes)(keras.layers.Flatten()(x)))
"""
SAVE = """
import keras
from keras import layers
keras.Sequential([layers.Input((32, 32, 3)), layers.Conv2D(4, 3), layers.BatchNormalization(),
                  layers.GlobalAveragePooling2D(), layers.Dense(3)]).save("mine.keras")
"""

PIXELS = """
import keras
from keras import layers
keras.Sequential([layers.Input((30, 40, 3)), layers.Rescaling(1 / 255), layers.Flatten(),
                  layers.Softmax()]).save("pixels.keras")
"""


def test_a_model_of_ones_own_is_exported_when_it_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, where = place / "my_model.py", f"output.root={place / 'exports'}"
    file.write_text(OWN)
    trained = [f"model={file}", "data=digits", "trainer.epochs=1", "backend=cpu", f"output.root={place}"]
    assert main(["train", *trained, "output.name=own"]) == 0
    assert main(["export", f"run={place / 'own'}", "format=onnx", where]) == 1
    assert "run only when you name it" in capsys.readouterr().err
    words = [f"run={place / 'own'}", f"model={file}", "format=onnx,litert", f"output={place / 'own_exported'}", where]
    assert main(["export", *words]) == 0
    assert all(row["ran"] and row["difference"] < 1e-4 for row in _rows(place / "own_exported").values())


def test_a_saved_model_is_exported(place: Path) -> None:
    subprocess.run([str(real_stacks.python("export")), "-c", SAVE], cwd=place, check=True, capture_output=True)
    (place / "names.txt").write_text("cat\ndog\nowl\n")
    output = place / "saved_exported"
    words = [f"model={place / 'mine.keras'}", f"classes={place / 'names.txt'}", "scale=-1..1", f"output={output}"]
    assert main(["export", *words, "format=onnx,openvino", f"output.root={place / 'exports'}"]) == 0
    assert all(row["ran"] and row["difference"] < 1e-4 for row in _rows(output).values())
    facts = json.loads((output / "onnx" / "model.json").read_text())
    assert facts["classes"] == ["cat", "dog", "owl"]
    assert facts["preprocessing"]["subtract"] == pytest.approx([127.5] * 3)

"""Models of the user's own on real stacks: files of Python that go wrong, and files that Keras saved."""

import csv
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support import real_stacks
from tests.support.trainings import SMALL, ready
from zoo.cli.main import main

pytestmark = pytest.mark.stacks

NETWORK = """
import os
import keras

def build(input_shape, classes):
    {0}
    inputs = keras.layers.Input(shape=input_shape)
    x = keras.layers.Flatten()(inputs)
    return keras.models.Model(inputs=inputs, outputs=keras.layers.Dense({1})(x))
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NETWORK.format("x = (", "classes"), "mine.py, line "),
        (NETWORK.format("pass", "classes - 3"), "the model of mine.py ends in (None, 7); these data need (None, 10)"),
        (NETWORK.format("os.fork()", "classes"), "mine.py starts another process with os.fork"),
        (NETWORK.format("print('x' * 10**6); raise ValueError('no')", "classes"), "in build: ValueError: no"),
        pytest.param(NETWORK.format("import posix; posix.fork()", "classes"), "", marks=pytest.mark.slow),
    ],
    ids=["syntax", "outputs", "forks", "prints", "forks-past-the-guard"],
)
def test_a_model_file_that_goes_wrong_is_an_error_and_nothing_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    """The last one trains all the same: the second process ends where it began."""
    (tmp_path / "mine.py").write_text(text)
    chosen = [*ready("tf-1.8"), *SMALL, f"model={tmp_path / 'mine.py'}", "preset=smoke"]
    status = main(["train", *chosen, f"output.root={tmp_path}", "output.name=run"])
    shown = capsys.readouterr().err
    assert "Traceback" not in shown
    assert len(shown) < 10_000
    assert (status, words in shown) == (1 if words else 0, True)


SAVE = """
import keras
import numpy as np

keras.utils.set_random_seed(1)

def network(x):
    return keras.layers.Dense(3, activation="softmax")(keras.layers.Flatten()(x))

def write(x):
    open("executed", "w").close()
    return x

start = keras.Input((12, 12, 3))
good = keras.Model(start, network(keras.layers.Conv2D(4, 3, activation="relu")(start)))
good.save("good.keras")
good.save("good.h5")
keras.Model(start, keras.layers.Conv2D(3, 1)(start)).save("map.keras")
keras.Model(start, keras.layers.UnitNormalization()(good.output)).save("unit.keras")
for kind in ("keras", "h5"):
    keras.Model(start, network(keras.layers.Lambda(lambda x: write(x))(start))).save("lambda." + kind)
np.save("answers.npy", good.predict(np.load("pixels.npy") / np.float32(255)))
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that a Keras 3 saved, a sound one and its answers, and one with a Lambda that leaves a trace."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "photos").mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (2, 12, 12, 3), np.uint8)
    np.save(folder / "pixels.npy", pixels)
    for number, image in enumerate(pixels):
        Image.fromarray(image).save(folder / "photos" / f"{number}.png")
    row, environment = real_stacks.environment("tf-2.21")
    command = [str(environment.python), "-c", SAVE]
    done = subprocess.run(command, cwd=folder, env=row.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (folder / "executed").unlink(missing_ok=True)
    shutil.copy(folder / "good.keras", folder / "archive.bin")
    shutil.copy(folder / "good.h5", folder / "model, final")
    hostile(folder)
    return folder


def hostile(folder: Path) -> None:
    """The sound archive with an entry that leaves it, and with a configuration of 100 MB."""
    for name in ("leaves", "large"):
        shutil.copy(folder / "good.keras", folder / f"{name}.keras")
    with zipfile.ZipFile(folder / "leaves.keras", "a") as archive:
        archive.writestr("../../evil", "x")
    with zipfile.ZipFile(folder / "good.keras") as sound, zipfile.ZipFile(folder / "large.keras", "w") as archive:
        for name in sound.namelist():
            content = sound.read(name)
            if name == "config.json":
                content = json.dumps(json.loads(content) | {"notes": "x" * 100_000_000}).encode()
            archive.writestr(name, content)


def answers(run: Path) -> Any:
    """Probabilities by photo and class; the table names the best class first."""
    with (run / "predictions.csv").open(newline="") as source:
        rows = [list(row.values())[1:] for row in csv.DictReader(source)]
    likely = [dict(zip(row[::2], map(float, row[1::2]), strict=True)) for row in rows]
    return np.array([[each[f"class {number}"] for number in range(3)] for each in likely])


def infer(folder: Path, name: str) -> int:
    words = [f"model={folder / name}", f"input={folder / 'photos'}", "scale=0..1", *ready("tf-2.21")]
    output = [f"output.root={folder}", f"output.name=run-{name}"]
    return main(["infer", *words, *output, "backend.probes=false"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("lambda.keras", "is a Lambda, which runs code of the file"),
        ("lambda.h5", "is a Lambda, which runs code of the file"),
        ("leaves.keras", "'../../evil', which no Keras model has"),
        ("large.keras", "'config.json' is 100,"),
    ],
)
def test_a_hostile_file_is_refused_and_runs_nothing(
    saved: Path, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    real_stacks.environment("tf-2.21")
    assert infer(saved, name) == 1
    shown = capsys.readouterr().err
    assert words in shown
    assert "Traceback" not in shown
    assert not (saved / f"run-{name}").exists()
    assert not (saved / "executed").exists()
    assert not (saved.parent.parent / "evil").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["good.keras", "good.h5", "archive.bin", "model, final"])
def test_a_saved_model_answers_as_the_keras_that_saved_it(saved: Path, name: str) -> None:
    real_stacks.environment("tf-2.21")
    assert infer(saved, name) == 0
    np.testing.assert_allclose(answers(saved / f"run-{name}"), np.load(saved / "answers.npy"), atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), [("map.keras", "a map of classes"), ("unit.keras", "an embedding")])
def test_a_saved_model_without_an_answer_for_an_image_is_refused(
    saved: Path, capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    real_stacks.environment("tf-2.21")
    assert infer(saved, name) == 1
    assert words in capsys.readouterr().err

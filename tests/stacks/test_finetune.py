"""Fine-tuning on folders of pictures, on real stacks: what is frozen stays, what is asked for happens."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support import CHECKOUT, real_stacks
from tests.support.conformance import Answers
from tests.support.pictures import stripes
from tests.support.questions import FROZEN, PUBLISHED, STACKS
from tests.support.trainings import history, record
from zoo.cli.main import main
from zoo.core import paths

pytestmark = pytest.mark.stacks

STATISTICS = ("moving_mean", "moving_variance")


@pytest.mark.parametrize("stack", STACKS["frozen"])
def test_a_frozen_normalisation_uses_its_statistics_and_keeps_them(conformance: Answers, stack: str) -> None:
    for case, answer in conformance.of(stack, "frozen").items():
        assert answer["loss"] == pytest.approx(answer["by_numpy"], rel=1e-5), case
        assert answer["same"] < 1e-6, "what the frozen model learnt is not what the whole model knows"
        for name, distance in answer["moved"].items():
            layer, weight = name.split("/")
            # The convolution before a frozen normalisation learns on; the normalisation does not.
            assert (distance == 0) == (layer in FROZEN[case]), (case, name, distance)
            if weight in STATISTICS and layer not in FROZEN[case]:
                assert distance > 1e-3


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stripes(tmp_path_factory.mktemp("stripes") / "pictures").parent


def train(root: Path, name: str, *settings: str, code: int = 0) -> dict[str, Any]:
    """The record of a training, empty where it is refused."""
    words = [f"data.root={root / 'pictures'}", "data=folder", f"output.root={root}", f"output.name={name}"]
    assert main(["train", *words, *settings]) == code
    return {} if code else record(root / name)


TUNED = ["model=mobilenet", "model.alpha=0.25", "model.input_size=32", "backend=cpu", "trainer.epochs=1",
         "trainer.batch_size=16", "fine_tune.head_epochs=3", "fine_tune.head_learning_rate=0.02",
         "trainer.patience=null"]  # fmt: skip


def test_published_weights_are_fine_tuned_in_stages(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"no {PUBLISHED}")
    words = [*TUNED, f"weights={PUBLISHED}", "fine_tune.unfreeze_from=conv_pw_12", "fine_tune.probe=0"]
    run = train(root, "tuned", *words)
    shown = capsys.readouterr()
    assert "The last layer, conv_preds, starts untrained: the weights are for other classes" in shown.err
    assert "Skipped 1 of 73 images" in shown.err
    rows = [(row["epoch"], row["stage"]) for row in history(root / "tuned")]
    assert rows == [("1", "1"), ("2", "1"), ("3", "1"), ("4", "2")]
    assert "Stage 2, from epoch 4 on: the layers from conv_pw_12 on learn" in shown.err
    assert run["weights"]["source"] == str(PUBLISHED)
    assert (run["data"]["train_items"], run["data"]["validation_items"], run["data"]["test_items"]) == (60, 6, 6)
    assert run["judgement"]["part"] == "test"
    assert run["metrics"]["test_accuracy"] >= 0.5
    names = {row["path"] for row in run["artifacts"]}
    assert {"confusion.csv", "confusion.png", "mistakes.csv", "skipped.csv", "labels.npy"} <= names
    assert not [path for path in (root / "tuned").iterdir() if path.name.startswith(".features")]
    assert "test accuracy" in shown.out
    assert main(["infer", f"run={root / 'tuned'}", "input=test", f"output.root={root / 'answers'}"]) == 0
    (answer,) = (root / "answers").iterdir()
    again = json.loads((answer / "run.json").read_text())["metrics"]
    assert again["test_accuracy"] == run["metrics"]["test_accuracy"]
    with np.load(root / "tuned" / "weights.npz") as learnt:
        names = {name.split("/")[0] for name in learnt.files}
    assert "conv_preds" in names


def test_few_images_are_also_classified_by_a_linear_probe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"no {PUBLISHED}")
    random = np.random.default_rng(0)
    for channel, name in enumerate(("red", "green", "blue")):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for number in range(12):
            pixels = random.integers(0, 200, (40, 40, 3)).astype(np.uint8)
            pixels[..., channel] |= 0x80
            Image.fromarray(pixels).save(tmp_path / "pictures" / name / f"{number}.png")
    words = [*TUNED, f"weights={PUBLISHED}", "trainer.learning_rate=1e-9", "data.validation=0.2", "data.test=0.2"]
    words.append("fine_tune.head_learning_rate=1e-9")
    run = train(tmp_path, "probed", *words)
    probe = run["linear_probe"]
    assert probe["kept"]
    assert run["metrics"]["best_epoch"] == 0
    assert run["metrics"]["val_loss"] == probe["val_loss"]
    assert probe["verdict"] in capsys.readouterr().out
    accuracy = run["metrics"]["test_accuracy"]
    assert accuracy > 0.5
    assert main(["infer", f"run={tmp_path / 'probed'}", "input=test", f"output.root={tmp_path / 'answers'}"]) == 0
    (answer,) = (tmp_path / "answers").iterdir()
    assert json.loads((answer / "run.json").read_text())["metrics"]["test_accuracy"] == accuracy
    # Without test images, the figures of the validation images must be of weights that never saw them.
    run = train(tmp_path, "untested", *words, "data.test=0", "fine_tune.head_epochs=1")
    assert run["linear_probe"]["kept"]
    assert run["metrics"]["val_loss"] == pytest.approx(run["linear_probe"]["val_loss"], rel=1e-4)
    run = train(tmp_path, "unprobed", *words, "fine_tune.probe=0", "fine_tune.head_epochs=1")
    assert "linear_probe" not in run
    assert run["metrics"]["best_epoch"] > 0


@pytest.mark.parametrize("stack", ["torch", "jax", "mlx"])
def test_every_framework_fine_tunes_in_stages(root: Path, stack: str) -> None:
    """The stage of the last layer trains a model that shares its layers with the whole one."""
    real_stacks.python(stack)
    small = ["model=mobilenet", "model.alpha=0.25", "model.input_size=32", "backend=cpu", "trainer.batch_size=16"]
    if not (root / "small" / "weights.npz").is_file():
        train(root, "small", *small, "stack=tf-2.21", "weights=none", "trainer.epochs=1")
    words = [
        *TUNED,
        f"stack={stack}",
        f"weights={root / 'small' / 'weights.npz'}",
        "fine_tune.unfreeze_from=conv_pw_12",
    ]
    run = train(root, f"tuned-{stack}", *words)
    rows = [(row["epoch"], row["stage"]) for row in history(root / f"tuned-{stack}")]
    assert rows == [("1", "1"), ("2", "1"), ("3", "1"), ("4", "2")]
    assert run["stack"]["name"] == stack
    with np.load(root / "small" / "weights.npz") as before, np.load(root / f"tuned-{stack}" / "weights.npz") as after:
        moved = {name for name in before.files if not np.array_equal(before[name], after[name])}
    assert {"conv_preds/kernel", "conv_preds/bias"} <= moved
    assert "conv_pw_11/kernel" not in moved


@pytest.mark.parametrize(("backend", "stack"), [("cpu", "tf-1.8"), ("plaidml", "plaidml-0.7")])
def test_old_kerases_fine_tune_what_a_new_one_learnt(root: Path, backend: str, stack: str) -> None:
    real_stacks.python(stack)
    small = ["model=mnist_dense", "model.units=8", "data.size=16", "trainer.batch_size=16"]
    if not (root / "first" / "weights.npz").is_file():
        train(root, "first", *small, "backend=cpu", "trainer.epochs=1")
    run = train(
        root, stack, *small, f"backend={backend}", f"stack={stack}", f"weights={root / 'first' / 'weights.npz'}",
        "trainer.epochs=2", "fine_tune.head_epochs=2", "fine_tune.unfreeze_from=predictions", "augment.flip=true",
        "augment.crop=0.1", "augment.color=0.2", "data.balance=true", "trainer.label_smoothing=0.1",
        "data.normalize=standard", "trainer.schedule=one_cycle",
    )  # fmt: skip
    assert run["metrics"]["epochs"] == 4
    with np.load(root / "first" / "weights.npz") as before, np.load(root / stack / "weights.npz") as after:
        moved = {name: float(np.abs(before[name] - after[name]).max()) for name in before.files}
    assert {name for name, distance in moved.items() if not distance} == {"hidden/kernel", "hidden/bias"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["weights=nowhere.h5", "model=mobilenet"], "nowhere.h5"),
        (["stack=tf-1.8", "model=mnist_dense", "data.size=16", "trainer.precision=mixed_float16"], "float32 only"),
        (["stack=tf-1.8", "model=mnist_dense", "data.size=16", "trainer.precision=float64"], "float64 needs Keras 3"),
    ],
)
def test_what_cannot_be_is_refused(
    root: Path, settings: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    real_stacks.python("tf-1.8")
    words = [f"data.root={root / 'pictures'}", "data=folder", f"output.root={root / 'refused'}", "backend=cpu"]
    assert main(["train", *words, *settings]) == 1
    assert message in capsys.readouterr().err


def test_weights_of_another_width_and_layers_that_are_not_there_are_refused(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not PUBLISHED.is_file():
        pytest.skip(f"no {PUBLISHED}")
    real_stacks.python("tf-1.8")
    tuned = [*TUNED, f"weights={PUBLISHED}", "stack=tf-1.8"]  # it starts in the shortest time
    train(root, "wide", *tuned, "model.alpha=0.5", code=1)
    assert "not model.alpha=0.5" in capsys.readouterr().err
    train(root, "unknown", *tuned, "fine_tune.unfreeze_from=conv_pw_14", code=1)
    assert "did you mean 'conv_pw_" in capsys.readouterr().err


@pytest.mark.slow
def test_half_precision_trains_and_impatience_ends_a_stage(root: Path) -> None:
    run = train(
        root, "half", "model=mnist", "data.size=16", "backend=cpu", "trainer.precision=mixed_bfloat16",
        "trainer.epochs=20", "trainer.patience=1", "trainer.batch_size=16", "trainer.learning_rate=0.000000001",
    )  # fmt: skip
    assert run["metrics"]["epochs"] < 20
    assert np.isfinite(run["metrics"]["test_loss"])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_pictures(tmp_path: Path) -> None:
    real_stacks.python("tf-1.8")
    script = CHECKOUT / "scripts" / "benchmarks" / "folder_memory.py"
    command = [
        sys.executable,
        str(script),
        "--few",
        "200",
        "--many",
        "600",
        "--size",
        "320",
        "--work",
        str(tmp_path),
    ]
    answer = subprocess.run(
        [*command, "model=mnist_dense", "model.units=2", "trainer.epochs=1", "trainer.batch_size=32", "backend=cpu",
         "stack=tf-1.8"],
        capture_output=True, text=True, check=False, env=os.environ | {"ZOO_CACHE": str(paths.cache_dir())},
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout + answer.stderr
    ratios = json.loads(answer.stdout.splitlines()[-1])
    # The decoded pictures of the larger run take 184 MB; mapped and kept, they would show.
    assert ratios["host_ratio"] < 1.3
    assert ratios["worker_ratio"] < 1.3

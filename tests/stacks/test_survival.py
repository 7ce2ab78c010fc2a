"""Real trainings and the faults that befall them, each really caused."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import psutil
import pytest

from tests.support import CHECKOUT, scripts
from tests.support.trainings import Training, history, ready, record
from zoo.cli.main import main

pytestmark = pytest.mark.stacks

SCRIPTS = CHECKOUT / "scripts"
SMALL = ["model=mnist_dense", "data=digits", "backend.probes=false"]


def train(folder: Path, *overrides: str, stack: str = "tf-1.8") -> int:
    return main(["train", *ready(stack), *SMALL, *overrides, f"output.root={folder.parent}",
                     f"output.name={folder.name}"])  # fmt: skip


@pytest.fixture(scope="module")
def kill_matrix() -> ModuleType:
    module: ModuleType = scripts.load("maintenance/kill_matrix")
    return module


@pytest.mark.parametrize(
    ("stack", "kills"),
    [("tf-1.8", 1), *(pytest.param(*row, marks=pytest.mark.slow) for row in (("tf-1.8", 3), ("tf-2.21", 1)))],
)
def test_killed_again_and_again_a_run_ends_as_if_nothing_had_been(
    kill_matrix: ModuleType, tmp_path: Path, stack: str, kills: int
) -> None:
    ready(stack)
    runs = kill_matrix.matrix(tmp_path, stack, "cpu", kills, 7)
    assert runs["kills"] == kills
    assert runs["good"] == runs["runs"], runs["bad"]


@pytest.mark.parametrize("stack", ["tf-2.5", "jax", "plaidml-0.7", "mlx"])
def test_a_run_that_was_cut_off_ends_as_the_one_that_was_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stack: str
) -> None:
    """SIGKILL strikes the worker, and on tf-2.5 the disk besides; on JAX the host is asked to stop by SIGTERM.

    In the second epoch the first layer leaves off learning. Images are altered and mixed, and weights averaged.
    """
    words = ["trainer.epochs=12", "trainer.schedule=cosine", "trainer.checkpoint_minutes=0.001"]
    words += ["freeze.before=predictions", "freeze.after=0.1"]
    words += ["trainer.ema=0.99", "augment.mixup=0.2", "augment.randaugment=2"]
    whole, cut = (Training(tmp_path / name, *words, stack=stack) for name in ("whole", "cut"))
    cut.until("epoch   2")
    if stack == "jax":
        cut.host.send_signal(signal.SIGTERM)
    else:
        cut.worker.kill()
    assert cut.end()[0] == (130 if stack == "jax" else 1)
    if stack == "tf-2.5":
        newest = max((cut.folder / "checkpoints").glob("*.npz"))
        os.truncate(newest, newest.stat().st_size // 2)
    assert main(["train", f"resume={cut.folder}"]) == 0
    assert ("is damaged" in capsys.readouterr().err) == (stack == "tf-2.5")
    assert whole.end()[0] == 0
    events = [json.loads(line) for line in (cut.folder / "events.jsonl").read_text().splitlines()]
    (began,) = [event for event in events if event["event"] == "resume"]
    assert began["done"] > 0
    same = ("epoch", "loss", "accuracy", "val_loss", "val_accuracy", "learning_rate", "best")
    rows = [[[row[name] for name in same] for row in history(tmp_path / name)] for name in ("whole", "cut")]
    assert rows[0] == rows[1]
    weights = [np.load(tmp_path / name / "weights.npz") for name in ("whole", "cut")]
    assert set(weights[0].files) == set(weights[1].files)
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0].files)
    metrics = [record(tmp_path / name)["metrics"] for name in ("whole", "cut")]
    assert metrics[0]["test_loss"] == metrics[1]["test_loss"]


def test_time_is_up_and_another_stack_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ready("tf-2.21")
    folder = tmp_path / "run"
    assert train(folder, "trainer.max_minutes=0.001", "trainer.epochs=500") == 0
    run = record(folder)
    assert run["stopped"] == "max_minutes"
    assert run["metrics"]["test_accuracy"] > 0
    assert "trainer.max_minutes" in capsys.readouterr().out
    before = len(history(folder))
    assert main(["train", f"resume={folder}", "stack=tf-2.21", "trainer.epochs=6", "trainer.max_minutes=5"]) == 0
    assert "the optimizer and random numbers start again" in capsys.readouterr().err
    run = record(folder)
    assert run["stack"]["name"] == "tf-2.21"
    assert len(run["interruptions"]) == 1
    assert len(history(folder)) == 6 >= before
    assert run["metrics"]["test_accuracy"] > 0.85


def test_a_loss_that_explodes_goes_back_and_on_with_half_the_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "wild"
    wild = ["model=mnist_conv5", "model.l2=1", "trainer.optimizer=sgd", "trainer.learning_rate=10",
            "trainer.schedule=constant", "trainer.warmup=0", "trainer.epochs=1",
            "trainer.batch_size=16", "data.train_limit=400"]  # fmt: skip
    chosen = [*ready("tf-1.8"), *wild, "data=digits", f"output.root={tmp_path}", "output.name=wild"]
    assert main(["train", *chosen, "trainer.on_nan=rollback"]) == 0
    assert "Back to epoch 1, step 0, with 0.5 times" in capsys.readouterr().err
    assert all(np.isfinite(value).all() for value in np.load(folder / "weights.npz").values())
    assert float(history(folder)[-1]["learning_rate"]) < 10


@pytest.mark.parametrize("small_disk", ["6m"], indirect=True)
def test_on_a_full_disk_training_goes_on_and_says_so(small_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(small_disk / "run", "trainer.epochs=3", "trainer.disk_reserve_gb=1") == 0
    shown = capsys.readouterr().err
    assert shown.count("Cannot write a checkpoint") == 1
    assert record(small_disk / "run")["exit"] == "completed"
    (small_disk / "ballast").write_bytes(bytes(small_disk.stat().st_dev and _free(small_disk) - 20_000))
    assert train(small_disk / "full", "trainer.epochs=3", "trainer.disk_reserve_gb=0") == 1
    shown = capsys.readouterr().err
    assert "No space left" in shown
    assert "Traceback" not in shown


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def test_memory_above_the_ceiling_stops_with_a_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert train(folder, "trainer.max_memory_gb=0.01", "trainer.batch_size=64") == 1
    shown = capsys.readouterr().err
    assert "trainer.max_memory_gb is 0.01" in shown
    assert f"resume={folder} trainer.batch_size=32" in shown
    assert list((folder / "checkpoints").glob("*.npz"))


def test_a_worker_that_hangs_is_ended_and_its_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The worker is stopped by SIGSTOP in the middle of training: to its host it is as a device that hangs."""
    folder, words = tmp_path / "run", [*ready("tf-1.8"), *SMALL, "trainer.epochs=100000", "trainer.hang_minutes=0.2"]
    command = [sys.executable, "-m", "zoo", "train", *words, f"output.root={tmp_path}", "output.name=run"]
    host = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert host.stderr is not None
    for line in host.stderr:
        if line.startswith("epoch"):
            break
    (worker,) = psutil.Process(host.pid).children()
    worker.send_signal(signal.SIGSTOP)
    _, shown = host.communicate(timeout=120)
    assert host.returncode == 1
    assert "did not respond" in shown
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    assert main(["train", f"resume={folder}", "trainer.max_minutes=0.01"]) == 0
    assert "Resuming" in capsys.readouterr().err


OWN = """
try:
    import keras
except ImportError:
    from tensorflow import keras


def build(input_shape, classes, width=8):
    layers = keras.layers
    inputs = layers.Input(shape=input_shape)
    x = layers.Conv2D(width, (3, 3), strides=(4, 4), padding="same", activation="relu")(inputs)
    x = layers.Add()([x, layers.Conv2D(width, (3, 3), padding="same")(x)])
    x = layers.Dropout(0.3)(layers.Flatten()(x))
    print("x" * 1000000)
    return keras.models.Model(inputs=inputs, outputs=layers.Dense(classes)(x))
"""


@pytest.mark.parametrize(
    "stack", ["tf-1.8", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tf-2.21", "torch", "tf-2.5"))]
)
def test_a_model_file_of_one_s_own_is_trained_killed_and_goes_on(tmp_path: Path, stack: str) -> None:
    """It ends in no activation, and prints a megabyte; images are altered and mixed, and weights averaged."""
    model = tmp_path / "own.py"
    model.write_text(OWN)
    words = [f"model={model}", "trainer.epochs=8", "trainer.batch_size=64", "trainer.checkpoint_minutes=0.001"]
    words += ["trainer.ema=0.99", "augment.mixup=0.2", "augment.randaugment=2"]
    whole, cut = (Training(tmp_path / name, *words, stack=stack) for name in ("whole", "cut"))
    cut.until("epoch   1")
    cut.worker.kill()
    assert cut.end()[0] == 1
    assert main(["train", f"resume={cut.folder}", f"model={model}"]) == 0
    assert whole.end()[0] == 0
    weights = [np.load(tmp_path / name / "weights.npz") for name in ("whole", "cut")]
    assert weights[0].files == weights[1].files
    assert all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0].files)
    predict = ["infer", f"run={whole.folder}", "input=test", f"model={model}", f"output.root={tmp_path}"]
    assert main([*predict, "output.name=answers"]) == 0
    answers = np.load(tmp_path / "answers" / "probabilities.npy")
    assert np.allclose(answers.sum(axis=1), 1, atol=1e-5)
    assert record(tmp_path / "answers")["metrics"]["test_loss"] == pytest.approx(whole.record["metrics"]["test_loss"])

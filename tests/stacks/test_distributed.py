"""One training on several real processes: the same weights as of one, and an end in order whatever happens."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.support.pictures import stripes
from tests.support.trainings import SMALL, ready, record
from zoo.cli.main import main

pytestmark = [pytest.mark.stacks, pytest.mark.slow]


def train(folder: Path, *overrides: str) -> dict[str, Any]:
    assert main(["train", *SMALL, *overrides, f"output.root={folder.parent}", f"output.name={folder.name}"]) == 0
    return record(folder)


@pytest.mark.stacks("torch")
def test_two_processes_learn_what_one_learns(tmp_path: Path) -> None:
    """Weights of scikit-learn's digits; batches of 62, which do not have the size that was asked for."""
    words = [*ready("torch"), "trainer.epochs=2", "trainer.batch_size=64", "augment.crop=0.1", "model.dropout=0.2"]
    words += ["trainer.learning_rate=0.002"]
    one = train(tmp_path / "one", *words)
    two = train(tmp_path / "two", *words, "distributed.processes=2")
    assert two["processes"]["bytes_per_step"] > 4 * one["metrics"]["parameters"] - 100
    assert two["metrics"]["test_accuracy"] == pytest.approx(one["metrics"]["test_accuracy"], abs=0.01)
    with np.load(tmp_path / "one/weights.npz") as first, np.load(tmp_path / "two/weights.npz") as second:
        for name in first.files:
            assert np.abs(first[name] - second[name]).max() <= 1e-4 * np.abs(first[name]).max(), name


@pytest.mark.parametrize("stack", ["torch", "jax", "tf-2.21"])
def test_in_float64_two_processes_differ_by_less_than_the_files_can_tell(tmp_path: Path, stack: str) -> None:
    """Digits, a network with pools, dropout, and crops: what differs otherwise is rounding, and no mistake."""
    words = [*ready(stack), "model=mnist", "model.dropout=0.2", "augment.crop=0.1", "trainer.precision=float64"]
    train(tmp_path / "1", *words, "trainer.epochs=1")
    processes = train(tmp_path / "2", *words, "trainer.epochs=1", "distributed.processes=2")["processes"]
    assert [row["device"]["proof"] for row in processes["all"]] == ["matmul"] * 2
    assert len(processes["peak_memory_bytes"]) == 2
    with np.load(tmp_path / "1/weights.npz") as first, np.load(tmp_path / "2/weights.npz") as second:
        for name in first.files:
            assert np.abs(first[name] - second[name]).max() <= 2.0**-23 * np.abs(first[name]).max(), name


@pytest.mark.parametrize("stack", ["torch", "tf-2.21"])
def test_in_float64_two_processes_normalize_by_the_statistics_of_all(tmp_path: Path, stack: str) -> None:
    """MobileNet on batches of 25, 25 and 10 drawn pictures, of which one process has an item less."""
    words = [*ready(stack), "model=mobilenet", "model.alpha=0.25", "model.input_size=32", "weights=none"]
    words += ["data=folder", f"data.root={stripes(tmp_path / 'pictures')}", "trainer.batch_size=25"]
    words += ["trainer.precision=float64", "trainer.epochs=2", "trainer.patience=null"]
    for count in (1, 2):
        train(tmp_path / str(count), *words, f"distributed.processes={count}")
    with np.load(tmp_path / "1/weights.npz") as first, np.load(tmp_path / "2/weights.npz") as second:
        for name in first.files:
            assert np.abs(first[name] - second[name]).max() <= 2.0**-22 * np.abs(first[name]).max(), name


@pytest.mark.stacks("torch")
def test_two_processes_normalize_maps_in_bfloat16(tmp_path: Path) -> None:
    words = [*ready("torch"), "model=mobilenet", "model.alpha=0.25", "model.input_size=32", "weights=none"]
    words += ["data=folder", f"data.root={stripes(tmp_path / 'pictures')}", "trainer.batch_size=25"]
    words += ["trainer.precision=mixed_bfloat16", "trainer.epochs=1"]
    losses = []
    for count in (1, 2):
        train(tmp_path / str(count), *words, f"distributed.processes={count}")
        losses += [event["loss"] for event in events(tmp_path / str(count)) if event["event"] == "epoch"]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


@pytest.mark.parametrize("stack", ["torch", "tf-2.21"])
def test_in_float64_two_processes_learn_pairs_of_words_as_one_does(tmp_path: Path, stack: str) -> None:
    """All of the network is of float64: on TensorFlow no optimizer can bound gradients of two kinds together."""
    for word, name in (("good", "for.txt"), ("bad", "against.txt")):
        lines = [f"a {word} film number {number}, {'very ' * (number % 4)}{word}" for number in range(60)]
        (tmp_path / "texts").mkdir(exist_ok=True)
        (tmp_path / "texts" / name).write_text("\n".join(lines))
    words = [*ready(stack), "model=transformer/classifier", "data=text_lines", f"data.root={tmp_path / 'texts'}"]
    words += ["model.layers=1", "model.d_model=16", "model.heads=2", "model.d_ff=32", "model.length=16"]
    words += ["model.pair_buckets=500", "trainer.precision=float64", "trainer.epochs=2", "trainer.batch_size=12"]
    for count in (1, 2):
        train(tmp_path / str(count), *words, f"distributed.processes={count}")
    with np.load(tmp_path / "1/weights.npz") as first, np.load(tmp_path / "2/weights.npz") as second:
        for name in first.files:
            assert np.abs(first[name] - second[name]).max() <= 2.0**-22 * np.abs(first[name]).max(), name


def events(folder: Path) -> list[dict[str, Any]]:
    path = folder / "events.jsonl"
    lines = path.read_text().splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def disturb(folder: Path, stack: str, victim: int, number: signal.Signals) -> str:
    """Send a signal to one of two processes after the first epoch; return the errors of the failed command."""
    words = [*SMALL, *ready(stack), "trainer.epochs=500", "distributed.processes=2"]
    command = [
        sys.executable,
        "-m",
        "zoo",
        "train",
        *words,
        f"output.root={folder.parent}",
        f"output.name={folder.name}",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        while not any(event["event"] == "epoch" for event in events(folder)):
            assert process.poll() is None
            time.sleep(0.1)
        pids = [row["process"] for row in events(folder)[0]["processes"]["all"]]
        os.kill(pids[victim], number)
        began = time.monotonic()
        errors = process.communicate()[1]
    assert time.monotonic() - began < 30
    assert process.returncode == 1
    assert not any(psutil.pid_exists(pid) for pid in pids)
    return str(errors)


@pytest.mark.parametrize(("stack", "victim"), [("torch", 1), ("jax", 0)])
def test_the_end_of_one_process_ends_all_and_one_process_goes_on(tmp_path: Path, stack: str, victim: int) -> None:
    folder = tmp_path / "run"
    assert f"process {victim} of 2 was killed by SIGKILL" in disturb(folder, stack, victim, signal.SIGKILL)
    kept = max(int(path.stem) for path in (folder / "checkpoints").glob("*.json"))
    last = max(event["epoch"] for event in events(folder) if event["event"] == "epoch") + 2
    assert main(["train", f"resume={folder}", "distributed.processes=1", f"trainer.epochs={last}"]) == 0
    assert [event["done"] for event in events(folder) if event["event"] == "resume"] == [kept]


@pytest.mark.parametrize(("stack", "victim"), [("torch", 0), ("tf-2.21", 1), ("jax", 1)])
def test_a_suspended_process_is_named(tmp_path: Path, stack: str, victim: int) -> None:
    """The first process of PyTorch holds the store, whose requests then do not return."""
    errors = disturb(tmp_path / "run", stack, victim, signal.SIGSTOP)
    assert f"process {victim} of 2 (process id" in errors
    assert "does not answer" in errors


def test_an_old_keras_is_refused_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SMALL, *ready("tf-1.8"), "distributed.processes=2", f"output.root={tmp_path}"]
    assert main(["train", *words]) == 1
    assert "needs" in capsys.readouterr().err

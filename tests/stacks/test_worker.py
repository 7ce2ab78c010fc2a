"""The worker on real libraries, eight years apart: the same numbers, the same files, the same manners."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.support import real_stacks
from tests.support.trainings import infer, ready, record, short, train
from zoo.cli.main import main
from zoo.environments import machine, stacks, store
from zoo.execution import diagnosis, worker_process
from zoo.runs import result

pytestmark = pytest.mark.stacks

STACKS = ("tf-2.21", "plaidml-0.7", "tf-1.8")
REST = [name for name in stacks.names() if name not in STACKS]
OTHERS = [(left, right) for left in STACKS for right in STACKS if left != right]
# Without dropout nothing is drawn by the framework: the first weights and the order come from numpy, and every
# stack must walk the same path. Measured on tf-2.21, Linux x86_64.
DENSE = ["model=mnist_dense", "model.dropout=0", "data=digits", "trainer.epochs=2", "trainer.learning_rate=0.001",
         "trainer.schedule=constant", "trainer.warmup=0", "seed=5"]  # fmt: skip
DENSE_LOSSES = (1.2359, 0.4071)


@pytest.mark.parametrize("stack", STACKS)
def test_it_trains_proves_its_device_and_leaves_no_temporary_files(
    root: Path, stack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    run = record(short(root, stack))
    assert not list((tmp_path / "temporary").iterdir())
    assert run["exit"] == "completed"
    assert run["metrics"]["test_accuracy"] > 0.85
    assert run["metrics"]["parameters"] == 34_826
    assert run["device"]["device_kind"] == "cpu"
    assert "cpu" in run["device"]["name"].lower()
    pins = stacks.pins(stacks.lock_file(stacks.load(stack), machine.probe().platform))
    pinned = {"tf-2.21": pins.get("keras", pins.get("keras-nightly")), "plaidml-0.7": "2.2.4", "tf-1.8": "2.1"}
    assert run["versions"]["keras"].startswith(pinned[stack])
    files = {row["path"] for row in run["artifacts"]}
    assert {"weights.npz", "history.csv", "curves.png", "split.npz", "requirements.lock"} <= files
    assert ("model.keras" if stack == "tf-2.21" else "model.h5") in files


@pytest.mark.parametrize(("trained_on", "used_on"), OTHERS)
def test_weights_of_one_stack_give_the_same_probabilities_on_another(root: Path, trained_on: str, used_on: str) -> None:
    source = short(root, trained_on)
    home = infer(root, f"run={source}", "input=test")
    abroad = infer(root, f"run={source}", "input=test", *ready(used_on))
    at_home, away = (np.load(folder / "probabilities.npy") for folder in (home, abroad))
    assert at_home.shape == (359, 10)
    np.testing.assert_allclose(away, at_home, atol=1e-4, rtol=0)
    accuracies = [record(folder)["metrics"]["test_accuracy"] for folder in (source, home, abroad)]
    assert accuracies == pytest.approx([accuracies[0]] * 3, abs=1.5 / 359)  # a near tie may fall either way


@pytest.mark.stacks("tf-1.8")
@pytest.mark.parametrize("stack", REST)
def test_every_other_stack_trains_and_gives_the_same_probabilities(root: Path, stack: str) -> None:
    chosen = ready(stack)
    source = short(root, "tf-1.8")
    home, abroad = infer(root, f"run={source}", "input=test"), infer(root, f"run={source}", "input=test", *chosen)
    at_home, away = (np.load(folder / "probabilities.npy") for folder in (home, abroad))
    np.testing.assert_allclose(away, at_home, atol=1e-4, rtol=0)
    if stacks.load(stack).trains:
        run = record(train(root, *chosen, "model=mnist_dense", "data=digits", "trainer.epochs=3"))
        assert run["exit"] == "completed"
        assert run["metrics"]["test_accuracy"] > 0.85
        assert all(row["ok"] for row in run["probes"])
    else:
        assert main(["train", *chosen, "data=digits", f"output.root={root}"]) == 1


@pytest.mark.parametrize("stack", STACKS)
def test_every_stack_walks_the_same_path_from_the_same_seed(root: Path, stack: str) -> None:
    history = result.open_run(train(root, *ready(stack), *DENSE)).history
    assert [row["loss"] for row in history] == pytest.approx(DENSE_LOSSES, abs=2e-3)


def test_the_same_seed_gives_the_same_weights_and_another_does_not(root: Path) -> None:
    first, again, other = (
        np.load(train(root, *ready("tf-1.8"), *DENSE, *extra) / "weights.npz")["hidden/kernel"]
        for extra in ([], ["trainer.jit=false"], ["seed=6"])
    )
    np.testing.assert_allclose(first, again, atol=1e-6)
    assert np.abs(first - other).max() > 0.01


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(short(root, "tf-1.8"), tmp_path / "copy"))


def _damage(folder: Path, kind: str) -> None:
    path = folder / "weights.npz"
    arrays = dict(np.load(path))
    if kind == "missing and surplus and misshapen":
        arrays["nonsense/kernel"] = arrays.pop("conv1/kernel")
        arrays["predictions/bias"] = np.zeros(3, np.float32)
        np.savez(path, **arrays)
    elif kind == "not finite":
        arrays["conv1/kernel"][0, 0, 0, 0] = np.nan
        np.savez(path, **arrays)
    elif kind == "pickled":
        np.savez(path, **{**arrays, "conv1/kernel": np.array([{"a": 1}], object)})
    elif kind == "truncated":
        path.write_bytes(path.read_bytes()[:1000])
    else:
        path.write_bytes(b"")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("missing and surplus and misshapen", ("missing conv1/kernel", "surplus nonsense/kernel", "(3,)")),
        ("pickled", ("is not an .npz file of numbers",)),
        ("truncated", ("is truncated, or is not an .npz file",)),
        ("not finite", ("conv1/kernel contains NaN or infinity",)),
        ("empty", ("weights",)),
    ],
)
def test_damaged_weights_are_refused(
    copied: Path, root: Path, capsys: pytest.CaptureFixture[str], kind: str, words: tuple[str, ...]
) -> None:
    _damage(copied, kind)
    assert main(["infer", f"run={copied}", "input=test", f"output.root={root}"]) == 1
    shown = capsys.readouterr().err
    assert all(word in shown for word in words)


def test_a_loss_that_explodes_stops_the_run(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wild = [
        "model=mnist_conv5",
        "model.l2=1",
        "trainer.optimizer=sgd",
        "trainer.learning_rate=10",
        "trainer.epochs=3",
    ]
    arguments = ["train", *ready("tf-1.8"), *wild, "data=digits", f"output.root={root}", "output.name=wild"]
    assert main(arguments) == 1
    shown = capsys.readouterr().err
    assert "the loss became" in shown
    assert "trainer.learning_rate" in shown
    assert record(root / "wild")["exit"] == "failed"


def _start_long(root: Path, name: str) -> tuple["subprocess.Popen[str]", psutil.Process]:
    """Start a training of hours in a process of its own; return it and its worker once an epoch is done."""
    words = [*ready("tf-1.8"), "model=mnist_dense", "data=digits", "trainer.epochs=100000"]
    command = [sys.executable, "-m", "zoo", "train", *words, f"output.root={root}", f"output.name={name}"]
    host = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert host.stderr is not None
    for line in host.stderr:
        if line.startswith("epoch"):
            break
    (worker,) = psutil.Process(host.pid).children()
    return host, worker


def test_ctrl_c_stops_a_real_worker_and_keeps_its_weights(root: Path) -> None:
    host, worker = _start_long(root, "stopped")
    host.send_signal(signal.SIGINT)
    shown, _ = host.communicate(timeout=60)
    assert host.returncode == 130
    assert "weights" in shown
    assert not worker.is_running()
    assert record(root / "stopped")["exit"] == "interrupted"
    assert set(np.load(root / "stopped" / "weights.npz").files) == {
        "hidden/kernel", "hidden/bias", "predictions/kernel", "predictions/bias",
    }  # fmt: skip


def test_a_killed_host_leaves_no_worker_behind(root: Path) -> None:
    host, worker = _start_long(root, "orphan")
    host.kill()
    host.communicate()
    deadline = time.monotonic() + 20
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE


def test_a_killed_worker_is_reported(root: Path) -> None:
    host, worker = _start_long(root, "killed")
    os.kill(worker.pid, signal.SIGKILL)
    _, shown = host.communicate(timeout=60)
    assert host.returncode == 1
    assert "SIGKILL" in shown
    assert record(root / "killed")["exit"] == "failed"
    assert (root / "killed" / "weights.npz").is_file()


@pytest.mark.slow
def test_real_mnist_reaches_its_figure(root: Path, shared_data: Path) -> None:
    words = ["model=mnist", "data=mnist", f"data.root={shared_data / 'mnist'}", "data.validation=0"]
    folder = train(root, *ready("tf-2.21"), *words)
    assert record(folder)["metrics"]["test_accuracy"] >= 0.990  # ten seeds have 0.9902 to 0.9930 on two processors
    assert record(folder)["data"]["published"] is True


def test_a_promised_gpu_that_is_not_there_stops_the_run(tmp_path: Path) -> None:
    stack, environment = real_stacks.environment("tf-1.8")
    device = {"backend": "cuda-mac", "framework": "tensorflow", "device_kind": "gpu", "id": None}
    of_stack = {"framework": stack.framework, "keras": stack.keras}
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"protocol": 1, "verb": "probe", "stack": of_stack, "device": device}))
    outcome = worker_process.run(environment.python, store.child_environment(stack), request, lambda event: None)
    message = diagnosis.failure(outcome, tmp_path, "cuda-mac").message
    assert outcome.returncode == 1
    assert "promises a GPU" in message
    assert "CPU" in message

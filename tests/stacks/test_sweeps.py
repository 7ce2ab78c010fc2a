"""Sweeps by real engines on this machine give the weights that one run after the other gives."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support import CHECKOUT, engines, real_stacks

pytestmark = [pytest.mark.slow, pytest.mark.stacks("tf-1.8")]
STACK = "tf-1.8"
FAST = [
    "model=mnist_dense",
    "data=digits",
    f"stack={STACK}",
    "backend=cpu",
    "backend.probes=false",
    "trainer.epochs=2",
]
HERE = os.environ | {"PYTHONPATH": str(CHECKOUT)}


def sweep(at: Path, name: str, *words: str, python: str = sys.executable, env: dict[str, str] = HERE) -> Path:
    command = [python, "-m", "zoo", "train", "-m", *FAST, "seed=1,2", f"output.name={name}", *words]
    done = subprocess.run(command, cwd=at, env=env | {"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return at / "runs" / name


def weights(folder: Path) -> list[bytes]:
    return [(folder / name / "weights.npz").read_bytes() for name in ("001", "002")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    real_stacks.environment(STACK)
    return weights(sweep(tmp_path_factory.mktemp("local"), "local"))


def test_slurm_gives_the_same_weights_and_an_element_killed_twice_completes(
    tmp_path: Path, expected: list[bytes]
) -> None:
    with engines.slurm(tmp_path) as variables:
        killed: list[int] = []
        watching = threading.Thread(target=kill_twice, args=(tmp_path / "runs" / "slurm" / "001", killed))
        watching.start()
        folder = sweep(tmp_path, "slurm", "launcher=slurm", "trainer.epochs=100", env=variables)
        watching.join()
        record = json.loads((folder / "001" / "run.json").read_text())
        assert len(killed) == 2
        assert record["exit"] == "completed"
        assert len(record["interruptions"]) == 2
        assert weights(sweep(tmp_path, "same", "launcher=slurm", env=variables)) == expected


def kill_twice(folder: Path, killed: list[int]) -> None:
    """Kill the host of a run whenever it has trained an epoch, two times."""
    deadline, epochs = time.monotonic() + 300, 0
    while len(killed) < 2 and time.monotonic() < deadline:
        log = folder / "events.jsonl"
        trained = log.read_text().count('"event": "epoch"') if log.is_file() else 0
        if trained > epochs:
            pid = json.loads((folder / ".lock").read_text())["pid"]
            if pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                epochs = trained
        time.sleep(0.02)


def test_hosts_over_ssh_give_the_same_weights(tmp_path: Path, expected: list[bytes]) -> None:
    with engines.sshd(tmp_path) as config:
        words = ["launcher=ssh", "launcher.hosts=mac1,mac2", f"launcher.options=[-F,{config}]"]
        folder = sweep(tmp_path, "ssh", *words)
    assert weights(folder) == expected
    assert {json.loads(line).get("place") for line in (folder / "jobs.jsonl").read_text().splitlines()} >= {
        "mac1", "mac2",
    }  # fmt: skip


@pytest.mark.network
def test_a_ray_cluster_gives_the_same_weights(tmp_path: Path, expected: list[bytes]) -> None:
    with engines.ray(tmp_path) as (python, address, variables):
        words = ["launcher=ray", f"launcher.address={address}"]
        assert weights(sweep(tmp_path, "ray", *words, python=str(python), env=variables)) == expected


def test_a_job_that_is_canceled_in_slurm_is_not_started_again(tmp_path: Path) -> None:
    real_stacks.environment(STACK)
    with engines.slurm(tmp_path) as variables:
        words = [
            "launcher=slurm",
            "seed=1,2",
            "trainer.epochs=300",
            f"output.root={tmp_path / 'runs'}",
            "output.name=s",
        ]
        command = [sys.executable, "-m", "zoo", "train", "-m", *FAST, *words]
        whole = subprocess.Popen(command, cwd=CHECKOUT, env=variables, stderr=subprocess.PIPE, text=True)
        deadline, canceled = time.monotonic() + 240, ""
        while not canceled and time.monotonic() < deadline:
            jobs = subprocess.run(
                ["squeue", "--noheader", "--format=%i|%j"], env=variables, capture_output=True, text=True, check=True
            ).stdout
            rows = [line.strip().split("|") for line in jobs.splitlines()]
            canceled = next((number for number, name in rows if name == "zoo-002"), "")
            time.sleep(0.2)
        subprocess.run(["scancel", canceled], env=variables, check=True)
        said = whole.communicate(timeout=240)[1]
    assert "002: the job was canceled and is not started again" in said
    assert json.loads((tmp_path / "runs" / "s" / "001" / "run.json").read_text())["exit"] == "completed"

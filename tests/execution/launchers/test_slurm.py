"""zoo.execution.launchers.slurm: settings become parameters of sbatch, and squeue tells what runs."""

import subprocess
import time
from typing import Any

import pytest

from zoo.config.schemas.launching import LauncherSettings
from zoo.core.errors import ZooError
from zoo.execution.launchers import slurm


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        ({}, {"time": 1440, "cpus_per_task": 1}),
        ({"minutes": 30, "cpus": 4, "partition": "gpu", "gpus": 2, "memory_gb": 1.5},
         {"time": 30, "cpus_per_task": 4, "partition": "gpu", "gpus_per_node": 2, "mem": "1536M"}),
        ({"options": ["account=lab", "--exclusive", "mail-type=END=x"]},
         {"time": 1440, "cpus_per_task": 1,
          "additional_parameters": {"account": "lab", "exclusive": True, "mail-type": "END=x"}}),
    ],
)  # fmt: skip
def test_settings_become_parameters_of_sbatch(settings: dict[str, Any], parameters: dict[str, Any]) -> None:
    assert slurm._parameters(LauncherSettings(**settings)) == parameters


@pytest.mark.parametrize("option", ["", "=x", "a b", "a;b=1", "--"])
def test_what_is_no_option_of_sbatch_is_refused(option: str) -> None:
    with pytest.raises(ZooError, match="is not an option of sbatch"):
        slurm._parameters(LauncherSettings(options=["account=lab", option]))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.CompletedProcess[str]]:
    """What squeue answers, one after the other; the clock stands still."""
    answers: list[subprocess.CompletedProcess[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        assert command[0] == "squeue"
        return answers.pop(0)

    monkeypatch.setattr(slurm.subprocess, "run", run)
    return answers


def test_the_queue_is_asked_once_a_second_and_keeps_nodes(
    answers: list[subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    queue = slurm.Queue()
    answers.append(subprocess.CompletedProcess([], 0, " 7|RUNNING|node1\n8|PENDING|\nerror|x\n", ""))
    assert queue.has("7")
    assert queue.has("8")
    assert not queue.has("9")
    assert (queue.nodes, answers) == ({"7": "node1"}, [])
    clock[0] += 0.9
    assert queue.has("7")
    clock[0] += 0.1
    answers.append(subprocess.CompletedProcess([], 1, "", "slurm_load_jobs error"))
    assert queue.has("7"), "the controller restarts"
    clock[0] += 1.0
    answers.append(subprocess.CompletedProcess([], 0, "8|RUNNING|node2\n", ""))
    assert not queue.has("7")
    assert queue.nodes == {"7": "node1", "8": "node2"}

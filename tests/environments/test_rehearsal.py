"""Macs that nobody has at hand, rehearsed: the whole command line, with the system's tools as captured programs.

Only the last call is missing: a stack's environment is stood in for, and the worker pretends (tests/support).
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.machines import FOLDER
from tests.support import SUPPORT
from tests.support.stand_in_mac import install_tools

pytestmark = pytest.mark.slow

# Machine, architecture of its Python, the backend and stack that are chosen, the GPU that is promised.
MACS = [
    ("m1", "arm64", "metal", "tf-2.19", "Apple M1"),
    ("m4", "arm64", "mps", "torch", "Apple M4"),
    ("rx_570", "x86_64", "metal", "tf-2.12", "AMD Radeon RX 570"),
    ("two_gpus_sonoma", "x86_64", "metal", "tf-2.12", "AMD Radeon Pro 5500M"),
    ("rx_5700_xt", "x86_64", "plaidml", "plaidml-0.7", "Radeon RX 5700 XT"),
    ("gtx_750_ti", "x86_64", "cpu", "tf-1.8", None),
    ("rosetta", "x86_64", "mps", "torch", "Apple M2"),
]
# Names a file that gets a line for every command of a rehearsal.
TABLE = "ZOO_REHEARSAL"
NAMES = [row[0] for row in MACS]


class Mac:
    """A Mac, and a working folder whose path has a space and accents, behind a link as /tmp is one on macOS."""

    def __init__(self, name: str, architecture: str, folder: Path) -> None:
        (folder / "private" / "Été à la mer").mkdir(parents=True)
        (folder / "tmp").symlink_to(folder / "private")
        self.name, self.architecture, self.folder = name, architecture, folder / "tmp" / "Été à la mer"
        tools = install_tools(FOLDER / f"{name}.txt", folder / "bin")
        self.variables = os.environ | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PWD": str(self.folder),
            "ZOO_CACHE": str(self.folder / "cache"), "ZOO_WORKER_ENV": "FAKE_WORKER",
        }  # fmt: skip

    def start(self, *words: str, worker: str = "ok") -> "subprocess.Popen[str]":
        """Start a command with a worker that pretends as ``worker`` says."""
        command = [sys.executable, str(SUPPORT / "stand_in_mac.py"), self.architecture, *words]
        variables = self.variables | {"FAKE_WORKER": worker}
        return subprocess.Popen(
            command, cwd=self.folder, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip

    def zoo(self, *words: str, worker: str = "ok") -> tuple[int, str]:
        """Run a command to its end; return its exit status and all that it printed."""
        process = self.start(*words, worker=worker)
        shown, _ = process.communicate(timeout=600)  # a certification has many steps
        assert "Traceback" not in shown
        self.tell(words, worker, process.returncode, shown)
        return process.returncode, shown

    def tell(self, words: tuple[str, ...], planted: str, code: int, shown: str) -> None:
        """Keep what happened where somebody wants a table of it: scripts/maintenance/rehearsal_page.py."""
        if os.environ.get(TABLE):
            row = {"mac": self.name, "command": words, "planted": planted, "code": code, "shown": shown}
            with Path(os.environ[TABLE]).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    def record(self) -> dict[str, Any]:
        """The record of the newest run."""
        newest = max((self.folder / "runs").iterdir())
        record: dict[str, Any] = json.loads((newest / "run.json").read_text(encoding="utf-8"))
        return record


@pytest.fixture
def mac(request: pytest.FixtureRequest, tmp_path: Path) -> Mac:
    name = request.param
    return Mac(name, next((row[1] for row in MACS if row[0] == name), "arm64"), tmp_path)


@pytest.mark.parametrize(("mac", "expected"), [(row[0], row[2:]) for row in MACS], ids=NAMES, indirect=["mac"])
def test_doctor_plan_and_training_agree(mac: Mac, expected: tuple[str, str, str | None]) -> None:
    backend, stack, gpu = expected
    code, shown = mac.zoo("doctor", "--json")
    report = json.loads(shown)
    row = next(each for each in report["backends"] if each["name"] == backend)
    assert (code, row["usable"], row["stack"]) == (0, True, stack)
    assert report["advice"] == f"python -m zoo train model=mnist backend={backend}"
    assert report["machine"]["os"] == "macos"
    assert not report["machine"]["notes"]
    code, shown = mac.zoo("train", "model=mnist", "data=digits", "--dry-run")
    assert code == 0
    assert re.search(rf"3 backend +{backend}, required device: {'GPU' if gpu else 'CPU'}", shown)
    assert gpu is None or f"a matrix product must run on a GPU ({gpu})" in shown
    code, shown = mac.zoo("train", "model=mnist", "data=digits")
    record = mac.record()
    assert (code, record["exit"]) == (0, "completed"), shown
    assert (record["backend"], record["stack"]["name"], record["device_kind"]) == (
        backend,
        stack,
        "gpu" if gpu else "cpu",
    )
    assert record["stack"]["platform"] == report["machine"]["platform"]


@pytest.mark.parametrize("mac", ["rosetta"], indirect=True)
def test_a_python_that_rosetta_translates_is_said_and_not_used(mac: Mac) -> None:
    _, shown = mac.zoo("doctor")
    assert "this Python is an x86_64 build that Rosetta translates" in shown
    _, shown = mac.zoo("train", "model=mnist", "data=digits", "--dry-run")
    assert re.search(r"4 python +3\.\d+ \(arm64\)", shown)


@pytest.mark.parametrize("mac", ["m4"], indirect=True)
def test_missing_command_line_tools_are_said(mac: Mac) -> None:
    _, shown = mac.zoo("doctor")
    assert "command-line tools: none: `xcode-select --install`" in shown


@pytest.mark.parametrize("mac", ["m1_macos_11"], indirect=True)
def test_macos_11_is_told_to_update_and_that_a_browser_downloaded_the_zoo(mac: Mac) -> None:
    _, shown = mac.zoo("doctor")
    assert "was downloaded by Safari: macOS may block programs and libraries in it" in shown
    assert "Update macOS to 12.1 or newer" in shown
    code, shown = mac.zoo("train", "model=mnist", "data=digits")
    assert code != 0
    assert "Update macOS to 12.1 or newer" in shown


@pytest.mark.parametrize("mac", ["m1"], indirect=True)
def test_a_plug_in_that_cannot_be_loaded_is_explained(mac: Mac) -> None:
    code, shown = mac.zoo("train", "model=mnist", "data=digits", worker="plugin")
    assert code == 1
    assert "metal-tf220-pywrap" in shown
    assert "tensorflow==2.19.1 tensorflow-metal==1.2.0" in shown


@pytest.mark.parametrize(
    ("mac", "issue"),
    [("m1", "metal-fused-dense-relu-wrong"), ("m4", "mps-silent-wrong"), ("rx_5700_xt", "plaidml-opencl-wrong")],
    indirect=["mac"],
)
def test_wrong_numbers_stop_the_run_and_are_explained(mac: Mac, issue: str) -> None:
    code, shown = mac.zoo("train", "model=mnist", "data=digits", worker="wrong")
    assert code == 1
    assert f"\n{issue}: " in shown
    assert "what to do: " in shown
    assert mac.record()["exit"] == "failed"


@pytest.mark.parametrize("mac", ["m1"], indirect=True)
def test_out_of_memory_on_8_gb_goes_on_by_the_command_that_is_shown(mac: Mac) -> None:
    words = ("train", "model=mnist", "data=digits", "trainer.batch_size=64")
    code, shown = mac.zoo(*words, "trainer.on_oom=halve", worker="oom")
    assert (code, mac.record()["adjusted"]) == (0, {"trainer.batch_size": 32})
    code, shown = mac.zoo(*words, worker="oom")
    assert code == 1
    (command,) = re.findall(r"To resume with smaller batches: python -m zoo (.+)", shown)
    code, shown = mac.zoo(*shlex.split(command))
    assert code == 0, shown
    assert mac.record()["exit"] == "completed"


@pytest.mark.parametrize("mac", ["m1"], indirect=True)
def test_a_laptop_that_slept_longer_than_a_hang_goes_on(mac: Mac) -> None:
    words = ("train", "model=mnist", "data=digits", "trainer.hang_minutes=0.1")
    process = mac.start(*words, worker="steady")
    assert process.stdout is not None
    while "epoch   1/3" not in (line := process.stdout.readline()):
        assert line
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(15)  # more than twice what counts as a hang
    os.killpg(process.pid, signal.SIGCONT)
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert mac.record()["exit"] == "interrupted"
    mac.tell(words, "sleep", process.returncode, shown)

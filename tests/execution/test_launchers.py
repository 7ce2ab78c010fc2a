"""Starting processes by a launcher."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from zoo.cli.main import main
from zoo.config.schemas import launching
from zoo.core.errors import ZooError
from zoo.execution import launchers

ECHO = "import sys; print(sys.stdin.read(), flush=True); print('log', file=sys.stderr); sys.exit(3)"
SLEEP = "import time; print('awake', flush=True); time.sleep(60)"


def start(folder: Path, code: str, stdin: bool = False) -> launchers.Process:
    return launchers.load("local").start([sys.executable, "-c", code], dict(os.environ), folder, stdin)


def test_a_launcher_is_a_module_of_the_folder() -> None:
    assert "local" in launching.launcher_names()
    with pytest.raises(ZooError, match="locl"):
        launchers.load("locl")


def test_a_process_reads_writes_and_ends(tmp_path: Path) -> None:
    process = start(tmp_path, ECHO, stdin=True)
    assert process.stdin is not None
    process.stdin.write(b"hello")
    process.stdin.close()
    assert list(process.events()) == [b"hello\n"]
    assert process.wait() == 3
    assert not process.is_running()
    assert (tmp_path / "worker.log").read_text() == "log\n"


@pytest.mark.parametrize(("way", "number"), [("terminate", signal.SIGTERM), ("kill", signal.SIGKILL)])
def test_a_process_is_ended(tmp_path: Path, way: str, number: int) -> None:
    process = start(tmp_path, SLEEP)
    assert process.stdin is None
    assert next(iter(process.events())) == b"awake\n"
    getattr(process, way)()
    assert process.wait() == -number


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="Cannot start nothing"):
        launchers.load("local").start(["nothing"], {}, tmp_path, stdin=False)


NICE = """
from zoo.execution.launchers import local


def start(command, env, cwd, stdin, lock=None):
    return local.start(["nice", "-n", "7", *command], env, cwd, stdin, lock)
"""


def test_a_new_file_in_the_folder_starts_workers_once_it_is_named(
    pretending: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pretending / "polite.py").write_text(NICE)
    monkeypatch.setattr(launchers, "__path__", [*launchers.__path__, str(pretending)])
    monkeypatch.setattr(launching, "FOLDERS", [*launching.FOLDERS, str(pretending)])
    assert main(["train", "data=digits", "launcher=polite", "output.name=polite"]) == 0
    record = json.loads((pretending / "runs" / "polite" / "run.json").read_text())
    assert record["exit"] == "completed"
    assert record["config"]["launcher"]["name"] == "polite"


def test_a_launcher_that_there_is_not_is_named_before_anything_is_built(
    pretending: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "data=digits", "launcher=loacl"]) == 1
    assert "did you mean 'local'" in capsys.readouterr().err
    assert not (pretending / "runs").exists()

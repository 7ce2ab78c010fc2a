"""Starting processes by a launcher."""

import os
import signal
import sys
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.runs import launchers

ECHO = "import sys; print(sys.stdin.read(), flush=True); print('log', file=sys.stderr); sys.exit(3)"
SLEEP = "import time; print('awake', flush=True); time.sleep(60)"


def start(folder: Path, code: str, stdin: bool = False) -> launchers.Process:
    return launchers.load("local").start([sys.executable, "-c", code], dict(os.environ), folder, stdin)


def test_a_launcher_is_a_module_of_the_folder() -> None:
    assert launchers.names() == ["local"]
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

"""Builds of environments that are killed or run beside others: nothing of them goes on, and the next one works."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.tiny_stack import PLATFORM, wheel, write_lock
from zoo.cli.main import main
from zoo.core import paths, uses
from zoo.core.errors import ZooError
from zoo.environments import stacks, store

BUILDER = """
import sys, time
from pathlib import Path
from zoo.environments import stacks, store
print(store.ensure(stacks.load("small", Path(sys.argv[1])), sys.argv[2], lambda *_: time.sleep(float(sys.argv[3]))))
"""


def well(_stack: stacks.Stack, _python: Path) -> None:
    return None


def builder(stack: stacks.Stack, check_s: float = 0.0) -> "subprocess.Popen[str]":
    """Build in another process, which ends in a check that takes so long."""
    command = [sys.executable, "-c", BUILDER, str(stack.folder.parent), PLATFORM, str(check_s)]
    variables = {**os.environ, "PYTHONPATH": str(paths.PACKAGE.parent)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables)


def working_in(folder: Path) -> list[str]:
    """The command lines of all processes that name a folder, but for the builders themselves."""
    table = subprocess.run(["ps", "-axww", "-o", "command"], capture_output=True, text=True, check=True).stdout
    return [line for line in table.splitlines() if str(folder) in line and "store.ensure" not in line]


def wait_for(word: str, process: "subprocess.Popen[str]") -> None:
    """Wait until a process below the cache, and not only what guards it, has this word in its command line."""
    while not any(word in line and "killpg" not in line for line in working_in(store.environments_dir())):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.parametrize("step", ["compileall", "pip sync"])
def test_a_build_that_is_killed_ends_with_all_its_processes(stack: stacks.Stack, tmp_path: Path, step: str) -> None:
    write_lock(stack.folder, wheel(tmp_path / "index", "1.0", modules=300))
    process = builder(stack)
    wait_for(step, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 10
    while working_in(store.environments_dir()):
        assert time.monotonic() < deadline, working_in(store.environments_dir())
        time.sleep(0.05)
    assert store.ensure(stack, PLATFORM, well).build_s > 0


def test_a_build_folder_in_which_something_still_writes_keeps_nobody_from_building(
    stack: stacks.Stack, tmp_path: Path
) -> None:
    folder = store.ensure(stack, PLATFORM, well).folder
    (folder / "zoo-environment.json").unlink()
    folder.rename(folder.with_name(f".{folder.name}.0123abcd.building"))
    code = "import os, sys\nwhile 1: os.makedirs(sys.argv[1], exist_ok=True); open(sys.argv[1] + '/x', 'w').close()"
    busy = folder.with_name(f".{folder.name}.0123abcd.building") / "lib" / "deep"
    writer = subprocess.Popen([sys.executable, "-c", code, str(busy)], stderr=subprocess.DEVNULL)
    try:
        assert store.ensure(stack, PLATFORM, well).build_s > 0
    finally:
        writer.kill()
        writer.wait()
    assert {row.state for row in store.list_environments() if row.folder == folder} == {"ready"}


def test_what_is_being_built_or_waited_for_is_not_removed(
    stack: stacks.Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = builder(stack, 2), builder(stack, 2)
    while not list(store.environments_dir().glob(".*.building")):
        time.sleep(0.01)
    assert {row.state for row in store.list_environments()} == {"it is being built"}
    assert main(["env", "remove", "small"]) == 1
    shown = capsys.readouterr().err
    assert f"is in use by process {first.pid}" in shown or f"is in use by process {second.pid}" in shown
    assert [process.wait() for process in (first, second)] == [0, 0]
    assert [row.state for row in store.list_environments()] == ["ready"]
    assert main(["env", "remove", "small"]) == 0
    assert store.list_environments() == []


def test_an_environment_in_which_a_worker_runs_is_not_removed(
    stack: stacks.Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = store.ensure(stack, PLATFORM, well)
    with store.in_use(environment):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=uses.handles())
        assert main(["env", "remove", "--all"]) == 1
        assert f"process {os.getpid()}" in capsys.readouterr().err
    assert main(["env", "remove", "--all"]) == 1, "its worker still runs"
    (environment.folder / "bin" / "python").unlink()
    with pytest.raises(ZooError, match="must be built again, and is in use by"):
        store.ensure(stack, PLATFORM, well)
    child.communicate(b"\n")
    assert store.ensure(stack, PLATFORM, well).build_s > 0
    assert main(["env", "remove", "--all"]) == 0


def test_an_environment_that_was_removed_meanwhile_is_not_run(stack: stacks.Stack) -> None:
    environment = store.ensure(stack, PLATFORM, well)
    store.remove(None)
    with pytest.raises(ZooError, match="was removed while it was opened"), store.in_use(environment):
        pass

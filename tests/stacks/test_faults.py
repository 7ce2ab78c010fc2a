"""What befalls a machine while it trains, each really caused: no room, no memory, no terminal, another time."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support import SUPPORT
from tests.support.trainings import SMALL, Training, ready

pytestmark = pytest.mark.stacks

CGROUPS = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
YEAR = 365 * 86_400


def resumed(folder: Path, *overrides: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "zoo", "train", f"resume={folder}", *overrides]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def mounted(*words: str) -> None:
    if shutil.which("mount") is None or subprocess.run(["mount", *words], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 6 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted("-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder))
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def _fill(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as out:
        while True:
            out.write(bytes(512))


@pytest.mark.slow
def test_a_disk_that_fills_up_costs_nothing_where_there_is_room_again(small_disk: Path) -> None:
    run, ballast = Training(small_disk / "run", "trainer.epochs=100", "trainer.disk_reserve_gb=0"), small_disk / "x"
    run.until("epoch   2")
    _fill(ballast)
    run.until("WARNING: Cannot write a checkpoint")
    for _ in range(4):
        run.until("epoch")
    ballast.unlink()
    assert run.end()[0] == 0
    assert run.epochs == list(range(1, 101))  # the log had no room for some of them
    assert run.record["exit"] == "completed"


@pytest.mark.slow
def test_a_folder_that_becomes_read_only_loses_no_more_than_its_checkpoint_tells(tmp_path: Path) -> None:
    run = Training(tmp_path / "run", "trainer.epochs=100")
    run.until("epoch   2")
    folder = str(run.folder)
    mounted("--bind", folder, folder)
    try:
        mounted("-o", "remount,ro,bind", folder)
        assert "Read-only file system" in run.until("WARNING: Cannot write a checkpoint")
        code, said = run.end()
    finally:
        subprocess.run(["umount", "-l", folder], check=False)
    assert code == 1
    assert "error: Cannot write the run folder" in said
    assert f"resume={folder}" in said
    assert "Traceback" not in said
    done = resumed(run.folder)
    assert done.returncode == 0, done.stderr
    assert run.epochs == list(range(1, 101))
    assert run.record["interruptions"][0]["exit"] == "killed"


def test_a_folder_that_is_read_only_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    mounted("-t", "tmpfs", "-o", "ro", "tmpfs", str(tmp_path))
    try:
        code, said = Training(tmp_path / "run").end()
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=False)
    assert code == 1
    assert "Cannot create a run folder" in said
    assert "Device" not in said


@pytest.fixture
def limited() -> Iterator[Callable[[int], tuple[str, ...]]]:
    """Makes a shell's words that put what follows under a ceiling of memory which the system itself enforces."""
    parent = next((path for path in CGROUPS if (path / "cgroup.procs").is_file()), None)
    group = (parent or Path()) / f"zoo-test-{os.getpid()}"
    try:
        assert parent is not None
        group.mkdir()
    except (AssertionError, OSError):
        pytest.skip("no control group can be made here")

    def limit(size: int) -> tuple[str, ...]:
        both = {"memory.limit_in_bytes": size, "memory.memsw.limit_in_bytes": size}  # the second with swap
        for name, value in (both | {"memory.max": size, "memory.swap.max": 0}).items():
            if (group / name).is_file():
                (group / name).write_text(str(value))
        if not any((group / name).is_file() for name in ("memory.limit_in_bytes", "memory.max")):
            pytest.skip("control groups know no memory here")
        return ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")

    yield limit
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            group.rmdir()
            return
        except OSError:  # its last process is on its way out
            time.sleep(0.1)


LARGE = ("model=mnist", "trainer.batch_size=1294", "trainer.epochs=1", "freeze.before=null")


@pytest.mark.slow
def test_where_the_system_ends_a_worker_for_its_memory_half_the_batch_goes_on(
    tmp_path: Path, limited: Callable[[int], tuple[str, ...]]
) -> None:
    run = Training(tmp_path / "run", *LARGE, "trainer.on_oom=halve", before=limited(400 << 20))
    code, said = run.end()
    assert code == 0, said
    assert "WARNING: Out of memory with trainer.batch_size=1294; continuing with 647" in said
    assert run.record["adjusted"]["trainer.batch_size"] <= 647
    assert "-9" in run.record["attempts"][0]["failed"]


def test_where_no_more_memory_is_given_a_smaller_batch_is_proposed(tmp_path: Path) -> None:
    if not hasattr(psutil, "RLIMIT_AS"):
        pytest.skip("this system limits no process from outside")
    run = Training(tmp_path / "run", *LARGE, "trainer.epochs=50")
    run.until("Device")
    most = run.worker.memory_info().vms + (100 << 20)
    run.worker.rlimit(psutil.RLIMIT_AS, (most, most))
    code, said = run.end()
    assert code == 1
    assert "out of memory with trainer.batch_size=1294" in said
    assert f"resume={run.folder} trainer.batch_size=647" in said
    assert "Traceback" not in said


TAKE_TERMINAL = "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
TAKE_TERMINAL += "from zoo.cli.main import main; sys.exit(main())"


@pytest.mark.parametrize("wanted", [pytest.param("stop", marks=pytest.mark.slow), "continue"])
def test_a_terminal_that_is_closed(tmp_path: Path, wanted: str) -> None:
    """The system itself sends SIGHUP, and whatever is written to the terminal afterwards fails."""
    ours, theirs = os.openpty()
    words = ["train", *ready("tf-1.8"), *SMALL, "trainer.epochs=40", f"trainer.on_hangup={wanted}"]
    host = subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *words, f"output.root={tmp_path}", "output.name=run"],
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"epoch   2" not in shown:
        shown += os.read(ours, 4096)
    os.close(ours)
    code = host.wait(timeout=120)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    log = (tmp_path / "run" / "host.log").read_text()
    if wanted == "continue":
        assert (code, record["exit"]) == (0, "completed")
        assert "epoch  40/40" in log
    else:
        assert (code, record["exit"]) == (130, "interrupted")
        assert resumed(tmp_path / "run", "trainer.epochs=40").returncode == 0


@pytest.fixture(scope="module")
def other_clock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables under which a process takes its time from a clock that can be set, without setting the machine's."""
    folder = tmp_path_factory.mktemp("clock")
    library, source = folder / "clock.so", SUPPORT / "clock.c"
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    if shutil.which("cc") is None or sys.platform != "linux":
        pytest.skip("no C compiler, or no Linux: the clock cannot be replaced")
    subprocess.run(command, check=True, capture_output=True)
    return {"LD_PRELOAD": str(library), "CLOCK_OFF": str(folder / "off"), "ZOO_WORKER_ENV": "CLOCK_OFF"}


@pytest.mark.slow
def test_a_clock_that_is_set_back_and_forth_changes_nothing(tmp_path: Path, other_clock: dict[str, str]) -> None:
    limits = ["trainer.hang_minutes=1", "trainer.max_minutes=60", "trainer.epochs=100"]
    run, off = Training(tmp_path / "run", *limits, env={**os.environ, **other_clock}), Path(other_clock["CLOCK_OFF"])
    run.until("epoch   2")
    off.write_text(str(-YEAR))
    run.until("epoch   6")
    off.write_text(str(YEAR))
    code, said = run.end()
    assert code == 0, said
    record = run.record
    stamps = [json.loads(line)["t"] for line in (run.folder / "events.jsonl").read_text().splitlines()]
    assert max(stamps) - min(stamps) > 1.9 * YEAR  # the worker did see the other time
    assert "stopped" not in record
    assert 0 < record["seconds"] < 300
    assert all(0 <= seconds < 300 for seconds in record["phases"].values()), record["phases"]


@pytest.mark.slow
def test_a_machine_that_stood_still_ends_no_healthy_worker(tmp_path: Path) -> None:
    """Both processes are frozen for longer than trainer.hang_minutes, as a container or a lid does."""
    run = Training(tmp_path / "run", "trainer.epochs=40", "trainer.hang_minutes=0.25")
    run.until("epoch   2")
    worker = run.worker
    for process in (run.host, worker):
        process.send_signal(signal.SIGSTOP)
    time.sleep(17)
    run.host.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    worker.send_signal(signal.SIGCONT)
    code, said = run.end()
    assert code == 0, said
    assert run.epochs == list(range(1, 41))

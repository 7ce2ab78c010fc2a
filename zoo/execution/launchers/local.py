"""Start workers, and the runs of sweeps, as child processes on this machine."""

import contextlib
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from zoo.config.schemas.launching import LauncherSettings
from zoo.execution.launchers import Command, Executor, Job, commands

NAME = "here"


class LocalProcess(commands.Child):
    @property
    def stdin(self) -> IO[bytes] | None:
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        return self.process.stdout

    def events(self) -> Iterable[bytes]:
        return self.process.stdout or ()


def start(command: list[str], env: dict[str, str], cwd: Path, stdin: bool, lock: int | None = None) -> LocalProcess:
    """Start a child process; see :class:`zoo.execution.launchers.Launcher`."""
    worker = Command("worker", command, cwd, cwd / "worker.log")
    remedy, handles = "`python -m zoo env list` shows its state.", [] if lock is None else [lock]
    given = subprocess.PIPE if stdin else subprocess.DEVNULL
    return LocalProcess(*commands.child(worker, env, remedy, handles, given, subprocess.PIPE))


class LocalExecutor(Executor):
    """Executes commands on this machine, ``jobs`` at a time."""

    def __init__(self, jobs: int) -> None:
        self.jobs: int | None = jobs
        self.places = [NAME]

    def submit(self, command: Command, place: str | None = None) -> Job:
        return commands.start(command)


@contextlib.contextmanager
def opened(settings: LauncherSettings, folder: Path) -> Iterator[LocalExecutor]:
    yield LocalExecutor(settings.jobs or 1)

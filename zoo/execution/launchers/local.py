"""Start workers, and the runs of sweeps, as child processes on this machine."""

import contextlib
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from zoo.config.schemas.launching import LauncherSettings
from zoo.core import processes, uses
from zoo.core.errors import ZooError
from zoo.execution.launchers import Command, Job, commands
from zoo.protocol.variables import WATCH_HOST

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
    with processes.death_pipe() as (theirs, ours):
        inherited = [theirs, *uses.handles(), *([] if lock is None else [lock])]
        with (cwd / "worker.log").open("ab") as log:
            try:
                # In a new session, Ctrl-C reaches only the host, which then stops the worker cleanly.
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=log, env={**env, WATCH_HOST: str(theirs)}, cwd=cwd, start_new_session=True,
                    pass_fds=inherited,
                )  # fmt: skip
            except OSError as error:
                message = f"Cannot start {command[0]}: {error.strerror or error}"
                raise ZooError(message, "`python -m zoo env list` shows its state.") from error
    return LocalProcess(process, ours)


class LocalExecutor:
    """Executes commands on this machine, ``jobs`` at a time."""

    def __init__(self, jobs: int) -> None:
        self.jobs: int | None = jobs
        self.places = [NAME]

    def submit(self, command: Command, place: str | None = None) -> Job:
        return commands.start(command)

    def find(self, ticket: str) -> Job | None:
        """Return None: no command outlives the process that started it."""
        return None


@contextlib.contextmanager
def opened(settings: LauncherSettings, folder: Path) -> Iterator[LocalExecutor]:
    yield LocalExecutor(settings.jobs or 1)

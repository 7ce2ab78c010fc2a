"""Start workers, and the runs of sweeps, as child processes on this machine."""

import contextlib
import subprocess
from pathlib import Path

from zoo.config.schemas.launching import LauncherSettings
from zoo.core.errors import ZooError
from zoo.execution.launchers import Command, Executor, Job, commands


def start(command: list[str], env: dict[str, str], cwd: Path, stdin: bool, lock: int | None = None) -> commands.Child:
    """Start a child process; see :class:`zoo.execution.launchers.Launcher`."""
    streams = {"stdin": subprocess.PIPE if stdin else subprocess.DEVNULL, "stdout": subprocess.PIPE}
    with (cwd / "worker.log").open("ab") as log:
        try:
            return commands.Child(command, env, cwd, [] if lock is None else [lock], stderr=log, **streams)
        except OSError as error:
            message = f"Cannot start {command[0]}: {error.strerror or error}"
            raise ZooError(message, "`python -m zoo env list` shows its state.") from error


class LocalExecutor(Executor):
    """Executes commands on this machine, ``jobs`` at a time."""

    def __init__(self, jobs: int) -> None:
        self.jobs, self.places = jobs, ["here"]

    def submit(self, command: Command, place: str | None = None) -> Job:
        return commands.start(command)


def opened(settings: LauncherSettings, folder: Path) -> contextlib.nullcontext[LocalExecutor]:
    return contextlib.nullcontext(LocalExecutor(settings.jobs or 1))

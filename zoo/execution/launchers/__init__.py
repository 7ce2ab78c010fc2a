"""Launchers start processes on this machine, or on other machines through an engine. Each module here is a launcher.

A launcher has at least one of two functions. ``start`` starts the worker of a run that this process hosts. ``opened``
opens an executor of whole commands, such as the runs of a sweep, on any machine.
"""

import contextlib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from zoo.config.schemas.launching import LauncherSettings, launcher_names
from zoo.core.errors import ZooError, require_known


class Running(Protocol):
    """A process or a job, from its start to its end."""

    def is_running(self) -> bool:
        """Return True until it has ended, also while it waits."""

    def interrupt(self) -> None:
        """Request a stop after the current step; a waiting job never starts."""

    def kill(self) -> None:
        """Kill the process."""

    def wait(self) -> int:
        """Wait for the end; return the exit status, nonzero if it was killed, and negative for a process's signal."""


class Process(Running, Protocol):
    @property
    def stdin(self) -> IO[bytes] | None:
        """Return the standard input, if requested."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Return the standard output if it is connected to this process; :meth:`events` reads it."""

    def events(self) -> Iterable[bytes]:
        """Yield the lines of the standard output until it is closed."""

    def terminate(self) -> None:
        """Request an immediate stop."""


# Exit status of a job that somebody canceled in the engine.
CANCELED = 254


@dataclass(frozen=True)
class Command:
    """A command to execute on a machine that shares this machine's folders.

    Attributes:
        name: short name for the listings of an engine.
        words: program and arguments; the path of the interpreter may differ on other machines.
        folder: working directory.
        log: file to append the output to.
    """

    name: str
    words: list[str]
    folder: Path
    log: Path
    variables: dict[str, str] = field(default_factory=dict)


class Job(Running, Protocol):
    """A command submitted to an executor: waiting, running, or ended."""

    @property
    def ticket(self) -> str:
        """Return the id of the job, with which :meth:`Executor.find` finds it from any process."""

    @property
    def place(self) -> str:
        """Return the machine, if known."""


class Executor(Protocol):
    """Executes commands.

    Attributes:
        jobs: largest number of simultaneous commands; None if the engine decides.
        places: kinds of machines; each kind needs its own environments.
    """

    jobs: int | None
    places: list[str]

    def submit(self, command: Command, place: str | None = None) -> Job:
        """Submit a command to one of ``places``; if None, the executor chooses one."""

    def find(self, ticket: str) -> Job | None:
        """Return an unfinished job that another process submitted, or None: most jobs end with their process."""
        return None


class Launcher(Protocol):
    """A module that starts processes."""

    def start(
        self, command: list[str], env: dict[str, str], cwd: Path, stdin: bool, lock: int | None = None
    ) -> Process:
        """Start a process that ends when this process ends for any reason.

        Args:
            env: the complete environment variables of the process.
            cwd: the run folder; standard error is appended to its ``worker.log``.
            stdin: connect standard input; if False, it is empty.
            lock: open file of the run folder's lock, which the process keeps open.
        """

    def opened(self, settings: LauncherSettings, folder: Path) -> contextlib.AbstractContextManager[Executor]:
        """Open an executor of commands; its unfinished jobs are stopped when the block ends.

        ``folder``, for the engine's files, is shared by all machines.
        """


def load(name: str) -> Launcher:
    require_known("launcher", [name], launcher_names())
    launcher: Launcher = importlib.import_module(f"{__name__}.{name}")
    return launcher


def is_elsewhere(name: str) -> bool:
    """Return True if the launcher only submits whole runs, whose host processes are not this process."""
    return not hasattr(load(name), "start")


def executor(settings: LauncherSettings, folder: Path) -> contextlib.AbstractContextManager[Executor]:
    launcher = load(settings.name)
    if not hasattr(launcher, "opened"):
        raise ZooError(f"launcher={settings.name} starts workers only, no sweeps", "Remove launcher=.")
    return launcher.opened(settings, folder)

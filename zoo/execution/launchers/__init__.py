"""Launchers start processes, here or on other machines through an engine; each module of this folder is one.

A launcher has at least one of two functions. ``start`` starts the worker of a run whose host is this process.
``opened`` opens an executor of whole commands, such as the runs of a sweep, whose hosts run where the commands run.
"""

import contextlib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from zoo.config.schemas.launching import LauncherSettings, launcher_names
from zoo.core import paths
from zoo.core.errors import ZooError, unknown


class Process(Protocol):
    @property
    def stdin(self) -> IO[bytes] | None:
        """Return its standard input, if one was requested."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Return its standard output, if it is connected to this process; :meth:`events` reads it."""

    def events(self) -> Iterable[bytes]:
        """Yield the lines of its standard output until it is closed."""

    def interrupt(self) -> None:
        """Ask it to stop after the current step."""

    def terminate(self) -> None:
        """Ask it to stop immediately."""

    def kill(self) -> None:
        """Kill the process."""

    def is_running(self) -> bool:
        """Return True until it has ended."""

    def wait(self) -> int:
        """Wait for its end; return its exit status, negative for a signal."""


@dataclass(frozen=True)
class Command:
    """A command to execute on a machine that shares this machine's folders.

    Attributes:
        name: short, for the listings of an engine.
        words: program and arguments; the path of the interpreter may differ on other machines.
        folder: working directory.
        log: file to append the output to.
    """

    name: str
    words: list[str]
    folder: Path
    log: Path
    variables: dict[str, str] = field(default_factory=dict)


class Job(Protocol):
    """A command submitted to an executor: waiting, running, or ended."""

    @property
    def ticket(self) -> str:
        """Return the id with which the executor, in any process, finds it again."""

    @property
    def place(self) -> str:
        """Return the machine, if known."""

    def is_running(self) -> bool:
        """Return True until it has ended, including while it waits."""

    def interrupt(self) -> None:
        """Ask it to stop after the current step; a waiting job never starts."""

    def kill(self) -> None:
        """Kill the process."""

    def wait(self) -> int:
        """Wait for its end; return its exit status, which is nonzero if it was killed."""


class Executor(Protocol):
    """Executes commands.

    Attributes:
        jobs: most commands at a time; None leaves that to the engine.
        places: kinds of machines, each of which needs its own environments.
    """

    jobs: int | None
    places: list[str]

    def submit(self, command: Command, place: str | None = None) -> Job:
        """Submit a command to one of ``places``, or to one that the executor chooses (None)."""

    def find(self, ticket: str) -> Job | None:
        """Return an unfinished job that another process submitted, or None."""


class Launcher(Protocol):
    """A module that starts processes."""

    def start(
        self, command: list[str], env: dict[str, str], cwd: Path, stdin: bool, lock: int | None = None
    ) -> Process:
        """Start a process that ends when this process ends for any reason.

        Args:
            command: program and arguments.
            env: its complete environment variables.
            cwd: the run folder; standard error is appended to its ``worker.log``.
            stdin: connect standard input; if False, it is empty.
            lock: open file of the run folder's lock, which the process keeps open.
        """

    def opened(self, settings: LauncherSettings, folder: Path) -> contextlib.AbstractContextManager[Executor]:
        """Open an executor of commands; jobs still running when the block ends are stopped.

        Args:
            folder: shared by all machines, for the engine's files.
        """


def load(name: str) -> Launcher:
    if name not in launcher_names():
        raise unknown("launcher", name, launcher_names())
    launcher: Launcher = importlib.import_module(f"{__name__}.{name}")
    return launcher


def is_elsewhere(name: str) -> bool:
    """Return True if the hosts of the launcher's runs also run elsewhere, so that this process only submits them."""
    return not hasattr(load(name), "start")


def executor(settings: LauncherSettings, folder: Path) -> contextlib.AbstractContextManager[Executor]:
    launcher = load(settings.name)
    if not hasattr(launcher, "opened"):
        raise ZooError(f"launcher={settings.name} starts workers only, no sweeps", "Leave launcher= out.")
    return launcher.opened(settings, folder)


def needed(library: str, extra: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        words = f"launcher={extra} needs the library {library}: {error}"
        raise ZooError(words, paths.install_command(extra)) from error

"""Launchers start processes, here or by an engine on other machines; each module of this folder is one.

A launcher has at least one of two functions. ``start`` starts the worker of a run whose host is this process.
``opened`` opens an executor of whole commands, such as the runs of a sweep, each of which has a host of its own
wherever it is executed.
"""

import contextlib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

from zoo.config.schemas.launching import LauncherSettings, launcher_names
from zoo.core.errors import ZooError, unknown


class Process(Protocol):
    """A worker's process that has been started."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input, where that was asked for."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """Its standard output, where that comes here; :meth:`events` reads it."""

    def events(self) -> Iterable[bytes]:
        """Yield the lines of its standard output until that is closed."""

    def interrupt(self) -> None:
        """Ask it to stop after the current step."""

    def terminate(self) -> None:
        """Ask it to stop at once."""

    def kill(self) -> None:
        """End it."""

    def is_running(self) -> bool:
        """Whether it has not ended."""

    def wait(self) -> int:
        """Wait for its end; return its exit status, negative for a signal."""


@dataclass(frozen=True)
class Command:
    """A command to be executed on a machine that sees the same folders as this one.

    Attributes:
        name: short, for the lists of an engine.
        words: program and arguments; the program is the interpreter here, and may lie elsewhere on other machines.
        folder: in which it is executed.
        log: file that its output is appended to.
        variables: environment variables to add to those that it gets anyway.
    """

    name: str
    words: list[str]
    folder: Path
    log: Path
    variables: dict[str, str] = field(default_factory=dict)


class Job(Protocol):
    """A command that was handed to an executor: it waits, is running, or has ended."""

    @property
    def ticket(self) -> str:
        """What the executor finds it by again, from another process too."""

    @property
    def place(self) -> str:
        """The machine, as far as it is known."""

    def is_running(self) -> bool:
        """Whether it has not ended; a job that still waits has not."""

    def interrupt(self) -> None:
        """Ask it to stop after the current step; one that still waits is never started."""

    def kill(self) -> None:
        """End it."""

    def wait(self) -> int:
        """Wait for its end; return its exit status, not 0 where it did not end by itself."""


class Executor(Protocol):
    """Executes commands.

    Attributes:
        jobs: commands at a time at most; None leaves that to the engine.
        places: kinds of machines, each of which needs environments of its own.
    """

    jobs: int | None
    places: list[str]

    def submit(self, command: Command, place: str | None = None) -> Job:
        """Hand over a command.

        Args:
            command: what to execute.
            place: one of ``places``; None leaves the choice to the executor.
        """

    def find(self, ticket: str) -> Job | None:
        """Return a job that another process handed over and that has not ended; None where there is none."""


class Launcher(Protocol):
    """A module that starts processes."""

    def start(
        self, command: list[str], env: dict[str, str], cwd: Path, stdin: bool, lock: int | None = None
    ) -> Process:
        """Start a process that ends when this one ends, however that happens.

        Args:
            command: program and arguments.
            env: its environment variables, complete.
            cwd: the run folder; standard error is appended to ``worker.log`` there.
            stdin: give it a standard input; else that is empty.
            lock: open file of the run folder's lock, which lasts as long as the process.
        """

    def opened(self, settings: LauncherSettings, folder: Path) -> contextlib.AbstractContextManager[Executor]:
        """Open an executor of commands; what is left running when the block is left is ended.

        Args:
            settings: of the launcher.
            folder: shared by all machines, for what the engine writes.
        """


def load(name: str) -> Launcher:
    """Load a launcher."""
    if name not in launcher_names():
        raise unknown("launcher", name, launcher_names())
    launcher: Launcher = importlib.import_module(f"{__name__}.{name}")
    return launcher


def is_elsewhere(name: str) -> bool:
    """Whether runs with that launcher have their host elsewhere too, so that this process only hands them over."""
    return not hasattr(load(name), "start")


def executor(settings: LauncherSettings, folder: Path) -> contextlib.AbstractContextManager[Executor]:
    """Open the executor of a launcher; see :class:`Launcher`."""
    launcher = load(settings.name)
    if not hasattr(launcher, "opened"):
        raise ZooError(f"launcher={settings.name} starts workers only, no sweeps", "Leave launcher= out.")
    return launcher.opened(settings, folder)


def needed(library: str, extra: str) -> Any:
    """Import the library of an engine, which the zoo does not require."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        words = f"launcher={extra} needs the library {library}: {error}"
        raise ZooError(words, f"pip install 'keras-gpu-zoo[{extra}]'") from error

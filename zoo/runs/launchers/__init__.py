"""Launchers start the process of a worker; each module of this folder is one, found by its name."""

import importlib
import pkgutil
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Protocol

from zoo.core.errors import unknown


class Process(Protocol):
    """A worker's process that has been started."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """Its standard input, where that was asked for."""

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

        Raises:
            ZooError: it cannot be started.
        """


def names() -> list[str]:
    """Return the names of all launchers."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Launcher:
    """Load a launcher.

    Raises:
        ZooError: there is none of that name.
    """
    if name not in names():
        raise unknown("launcher", name, names())
    launcher: Launcher = importlib.import_module(f"{__name__}.{name}")
    return launcher

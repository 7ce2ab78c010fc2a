"""Execute commands on the current machine, for all executors."""

import os
import signal
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zoo.core import processes, uses
from zoo.core.errors import ZooError
from zoo.execution.launchers import Command
from zoo.protocol.variables import WATCH_HOST

# Time for a stopped run to finish its step and to write a checkpoint and its record.
GRACE_S = 60.0
POLL_S = 0.1


@dataclass
class Child:
    """A child process that ends when this process ends: closing ``pipe`` signals it to the child."""

    process: "subprocess.Popen[bytes]"
    pipe: int

    def is_running(self) -> bool:
        return self.process.poll() is None

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def terminate(self) -> None:
        self.process.terminate()

    def kill(self) -> None:
        """Send SIGKILL; the child's own children see the end of a pipe."""
        self.process.kill()

    def wait(self) -> int:
        """Wait for the end of the process; return its exit status, negative for a signal."""
        status = self.process.wait()
        if self.pipe >= 0:
            os.close(self.pipe)
            self.pipe = -1
        return status


@dataclass
class LocalJob(Child):
    """A command that runs as a child process; ``place`` is the name of the machine."""

    place: str = "here"

    @property
    def ticket(self) -> str:
        return str(self.process.pid)


def start(command: Command) -> LocalJob:
    remedy = "Check that the machine has the same folders and interpreter, or set launcher.python=PATH."
    return LocalJob(*child(command, {**os.environ, **command.variables}, remedy))


def child(
    command: Command,
    env: dict[str, str],
    remedy: str,
    handles: Iterable[int] = (),
    stdin: int = subprocess.DEVNULL,
    stdout: int | None = None,
) -> tuple["subprocess.Popen[bytes]", int]:
    """Start a child process with its log; return it, and the pipe that ends with this process.

    In its new session, Ctrl-C reaches only this process. Without ``stdout``, the log has the standard output too.
    """
    with processes.death_pipe() as (theirs, ours):
        try:
            with open_log(command.log) as log:
                process = subprocess.Popen(
                    command.words, stdin=stdin, stdout=log if stdout is None else stdout, stderr=log,
                    env={**env, WATCH_HOST: str(theirs)}, cwd=command.folder, start_new_session=True,
                    pass_fds=[theirs, *uses.handles(), *handles],
                )  # fmt: skip
        except OSError as error:
            text = f"Cannot start {command.words[0]} in {command.folder}: {error.strerror or error}"
            raise ZooError(text, remedy) from error
    return process, ours


def open_log(path: Path) -> IO[bytes]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab")


def execute(command: Command) -> int:
    """Execute a command and return its exit status; stop it cleanly if an engine cancels this call."""
    job = start(command)
    try:
        while job.is_running():  # polls, because an engine raises its exception between bytecodes
            time.sleep(POLL_S)
    except BaseException:
        stop(job)
        raise
    return job.wait()


def stop(job: LocalJob, grace_s: float = GRACE_S) -> None:
    if job.is_running():
        job.terminate()
    deadline = time.monotonic() + grace_s
    while job.is_running() and time.monotonic() < deadline:
        time.sleep(POLL_S)
    if job.is_running():
        job.kill()
    job.wait()

"""Execute commands on the current machine, for all executors."""

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from zoo.core import processes, uses
from zoo.core.errors import ZooError
from zoo.execution.launchers import Command
from zoo.protocol.variables import WATCH_HOST

# Time for a stopped run to finish its step and to write a checkpoint and its record.
GRACE_S = 60.0
POLL_S = 0.1


@dataclass
class Child:
    """A child process that ends when this process ends: closing ``pipe`` signals it to the child.

    ``place`` is the name of the machine.
    """

    process: "subprocess.Popen[bytes]"
    pipe: int
    place: str = "here"

    @property
    def ticket(self) -> str:
        return str(self.process.pid)

    @property
    def stdin(self) -> IO[bytes] | None:
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        return self.process.stdout

    def events(self) -> Iterable[bytes]:
        return self.process.stdout or ()

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


def spawn(words: list[str], env: Mapping[str, str], cwd: Path, locks: Sequence[int] = (), **streams: Any) -> Child:
    """Start a child process that keeps ``locks`` open; raise OSError on failure.

    In a new session, Ctrl-C reaches only this process, which then stops the child cleanly.
    """
    with processes.death_pipe() as (theirs, ours):
        process = subprocess.Popen(
            words, env={**env, WATCH_HOST: str(theirs)}, cwd=cwd, start_new_session=True,
            pass_fds=[theirs, *uses.handles(), *locks], **streams,
        )  # fmt: skip
    return Child(process, ours)


def start(command: Command) -> Child:
    variables, null = {**os.environ, **command.variables}, subprocess.DEVNULL
    try:
        with open_log(command.log) as log:
            return spawn(command.words, variables, command.folder, stdin=null, stdout=log, stderr=subprocess.STDOUT)
    except OSError as error:
        raise ZooError(
            f"Cannot start {command.words[0]} in {command.folder}: {error.strerror or error}",
            "Check that the machine has the same folders and interpreter, or set launcher.python=PATH.",
        ) from error


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


def stop(job: Child, grace_s: float = GRACE_S) -> None:
    if job.is_running():
        job.terminate()
    deadline = time.monotonic() + grace_s
    while job.is_running() and time.monotonic() < deadline:
        time.sleep(POLL_S)
    if job.is_running():
        job.kill()
    job.wait()

"""Execute commands on the current machine, for all executors."""

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from zoo.core import processes, uses
from zoo.core.errors import ZooError
from zoo.execution.launchers import Command
from zoo.protocol.variables import WATCH_HOST

# Time for a stopped run to finish its step and to write a checkpoint and its record.
GRACE_S = 60.0
POLL_S = 0.1


class Child(subprocess.Popen[bytes]):
    """A child process that ends when this process ends: closing our end of a pipe signals it to the child.

    It keeps ``locks`` open. In a new session, Ctrl-C reaches only this process, which then stops the child cleanly.
    """

    place = "here"

    def __init__(
        self, words: list[str], env: Mapping[str, str], cwd: Path, locks: Sequence[int] = (), **streams: Any
    ) -> None:
        with processes.death_pipe() as (theirs, self._pipe):
            super().__init__(
                words, env={**env, WATCH_HOST: str(theirs)}, cwd=cwd, start_new_session=True,
                pass_fds=[theirs, *uses.handles(), *locks], **streams,
            )  # fmt: skip
        self.ticket = str(self.pid)

    def events(self) -> Iterable[bytes]:
        return self.stdout or ()

    def is_running(self) -> bool:
        return self.poll() is None

    def interrupt(self) -> None:
        self.send_signal(signal.SIGINT)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process; return its exit status, negative for a signal."""
        status = super().wait(timeout)
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        return status


def start(command: Command) -> Child:
    variables, null = {**os.environ, **command.variables}, subprocess.DEVNULL
    try:
        with open_log(command.log) as log:
            return Child(command.words, variables, command.folder, stdin=null, stdout=log, stderr=subprocess.STDOUT)
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


def stop(job: Child) -> None:
    job.terminate()
    try:
        job.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        job.kill()
        job.wait()

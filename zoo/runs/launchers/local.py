"""Start workers as child processes on this machine."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from zoo.core import processes, uses
from zoo.core.errors import ZooError

# Names the file descriptor that the worker watches: it can be read once this process is gone.
DEATH_PIPE = "ZOO_WATCH_HOST"


class LocalProcess:
    """A child process.

    Args:
        process: it.
        death_pipe: our end of the pipe that tells it of the end of this process; nobody ever writes to it.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", death_pipe: int) -> None:
        self._process, self._death_pipe = process, death_pipe
        self.stdin: IO[bytes] | None = process.stdin
        self.pid = process.pid

    def events(self) -> Iterable[bytes]:
        """Yield the lines of its standard output until that is closed."""
        return self._process.stdout or ()

    def interrupt(self) -> None:
        """Send SIGINT."""
        self._process.send_signal(signal.SIGINT)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL."""
        self._process.kill()

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait(self) -> int:
        """Wait for its end; return its exit status, negative for a signal."""
        status = self._process.wait()
        if self._death_pipe >= 0:
            os.close(self._death_pipe)
            self._death_pipe = -1
        return status


def start(command: list[str], env: dict[str, str], cwd: Path, stdin: bool, lock: int | None = None) -> LocalProcess:
    """Start a child process; see :class:`zoo.runs.launchers.Launcher`."""
    with processes.death_pipe() as (theirs, ours):
        inherited = [theirs, *uses.handles(), *([] if lock is None else [lock])]
        with (cwd / "worker.log").open("ab") as log, _start_errors(command[0]):
            # A session of its own: Ctrl-C reaches only the host, which then stops the worker in its own way.
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                env={**env, DEATH_PIPE: str(theirs)}, cwd=cwd, start_new_session=True, pass_fds=inherited,
            )  # fmt: skip
    return LocalProcess(process, ours)


@contextlib.contextmanager
def _start_errors(program: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ZooError(
            f"Cannot start {program}: {error.strerror or error}", "`python -m zoo env list` shows its state."
        ) from error

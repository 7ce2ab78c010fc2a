"""The process of ``zoo.weights.sandbox`` as a fork of this one, for those who read files by the thousand.

Everything else is the real door: the same code reads, under the same limits, and answers in the same files. Only
starting Python and its libraries, a third of a second each time, is left out.
"""

import contextlib
import os
import resource
import signal
import subprocess
import tempfile
import traceback
from collections.abc import Iterator
from typing import Any

from zoo.weights import sandbox


class Forked:
    """Stands in for the module ``subprocess``; knows the most memory that any fork took, and how many were ended."""

    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self) -> None:
        self.peak_bytes, self.hung = 0, 0

    def run(self, command: list[str], *, timeout: float, **_: Any) -> "subprocess.CompletedProcess[str]":
        """Read the file that the command names; its last words are the arguments of ``child``."""
        with tempfile.TemporaryFile() as said:
            pid = os.fork()
            if not pid:
                _read(command[-4:], said.fileno(), timeout)
            _, status, used = os.wait4(pid, 0)
            self.peak_bytes = max(self.peak_bytes, used.ru_maxrss * 1024)
            code = os.waitstatus_to_exitcode(status)
            if code == -signal.SIGALRM:
                self.hung += 1
                raise subprocess.TimeoutExpired(command, timeout)
            said.seek(0)
            return subprocess.CompletedProcess(command, code, "", said.read().decode("utf-8", "replace"))


def _read(words: list[str], said: int, timeout: float) -> None:
    """The fork's life: it never returns."""
    code = 1
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the library does not come back to Python while it hangs
        signal.setitimer(signal.ITIMER_REAL, timeout)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(said, 2)
        sandbox.child(*words)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


@contextlib.contextmanager
def forking(seconds: float) -> Iterator[Forked]:
    """While inside, HDF5 is read in forks that are ended after so many seconds."""
    forked, kept = Forked(), (sandbox.subprocess, sandbox.SECONDS)
    sandbox.subprocess, sandbox.SECONDS = forked, seconds  # type: ignore[assignment, misc]
    try:
        yield forked
    finally:
        sandbox.subprocess, sandbox.SECONDS = kept  # type: ignore[misc]

"""Stop a worker's process: in three steps after Ctrl-C or SIGTERM, or as configured after a hangup."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from zoo.core import console, processes
from zoo.execution.launchers import Process

INTERRUPT_GRACE_S = 30.0
TERMINATE_GRACE_S = 5.0


class Stopper:
    """Stop a process in three steps: interrupt (and call ``asked``), terminate, kill.

    The next step follows after another signal or a delay.
    """

    def __init__(self, process: Process, asked: Callable[[], None]) -> None:
        self._process, self._asked = process, asked
        self._steps = 0
        self._timer: threading.Timer | None = None

    def proceed(self, *_signal: Any) -> None:
        """Take the next step; can handle a signal."""
        self.rest()
        self._steps += 1
        if self._steps == 1:
            console.say("\nStopping after this step and saving a checkpoint. Press Ctrl-C again to stop immediately.")
            self._asked()
            self._send(self._process.interrupt, INTERRUPT_GRACE_S)
        elif self._steps == 2:
            console.say("Stopping now.")
            self._send(self._process.terminate, TERMINATE_GRACE_S)
        elif self._process.is_running():
            self._process.kill()

    def _send(self, step: Callable[[], None], patience_s: float) -> None:
        if self._process.is_running():
            step()
        self._timer = threading.Timer(patience_s, self.proceed)
        self._timer.daemon = True
        self._timer.start()

    def rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


@contextlib.contextmanager
def stopping(process: Process, asked: Callable[[], None], log: Path, outlives_terminal: bool) -> Iterator[None]:
    """Handle signals inside the block; the process has ended when the block is left for any reason.

    After a hangup, output goes to ``log``, and the process is stopped unless it ``outlives_terminal``.
    """
    stopper = Stopper(process, asked)

    def hangup(*_signal: Any) -> None:
        console.leave_terminal(log)
        if not outlives_terminal:
            stopper.proceed()

    wanted = {"SIGINT": stopper.proceed, "SIGTERM": stopper.proceed, "SIGHUP": hangup}
    numbers = {getattr(signal, name): act for name, act in wanted.items() if hasattr(signal, name)}
    try:
        with processes.handling(numbers):
            try:
                yield
            finally:
                stopper.rest()
    finally:
        if process.is_running():
            process.kill()
        process.wait()

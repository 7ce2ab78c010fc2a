"""Limits on a worker's process, the file of its events, and its stop.

Ctrl-C and SIGTERM stop it in three steps, a hangup as configured.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from zoo.core import console, processes
from zoo.execution.launchers import Process

# On a busy machine, a thread can be delayed this long; a longer delay means that the process was suspended.
SUSPENDED_S = 5.0
INTERRUPT_GRACE_S = 30.0
TERMINATE_GRACE_S = 5.0


@dataclass(frozen=True)
class ProcessLimits:
    """Limits on a worker's process.

    Attributes:
        lock: open file of the run folder's lock, which the worker inherits.
        hang_s: time without an event after which it is killed; 0 disables the limit.
        outlives_terminal: continue after the terminal closes, with messages in ``host.log``.
    """

    lock: int | None = None
    hang_s: float = 0.0
    outlives_terminal: bool = False


@contextlib.contextmanager
def watchdog(process: Process, patience_s: float, hung: Callable[[float], None]) -> Iterator[Callable[[], None]]:
    """Kill a process after ``patience_s`` without activity, unless it is 0; yield a function that reports activity.

    ``hung`` is called with the seconds of silence first. The monotonic clock excludes time asleep and clock changes.
    """
    last, over, pause = [time.monotonic()], threading.Event(), min(1.0, patience_s / 10)

    def watch() -> None:
        looked = time.monotonic()
        while not over.wait(pause):
            now = time.monotonic()
            if now - looked > pause + SUSPENDED_S:
                last[0] = now  # this process was suspended: Ctrl-Z, or a frozen container
            looked, silent = now, now - last[0]
            if silent > patience_s:
                hung(silent)
                process.kill()
                return

    def alive() -> None:
        last[0] = time.monotonic()

    if patience_s:
        threading.Thread(target=watch, daemon=True).start()
    try:
        yield alive
    finally:
        over.set()


class EventFile:
    """An unbuffered file of events, opened for appending. A full disk causes one warning, but no error."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._lost, self._torn = stream, False, False

    def write(self, line: bytes) -> None:
        line = b"\n" + line if self._torn else line  # a truncated line must not corrupt this one too
        try:
            self._torn = self._stream.write(line) != len(line)
        except OSError as error:
            if not self._lost:
                console.warn(f"Events are no longer written to {self._stream.name}: {error.strerror}")
            self._lost = True


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

    stop = stopper.proceed
    try:
        with processes.handling({signal.SIGINT: stop, signal.SIGTERM: stop, signal.SIGHUP: hangup}):
            try:
                yield
            finally:
                stopper.rest()
    finally:
        if process.is_running():
            process.kill()
        process.wait()

"""Limits on a worker's process, and the file of its events."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from zoo.core import console
from zoo.execution.launchers import Process

# On a busy machine, a thread can be delayed this long; a longer delay means that the process was suspended.
SUSPENDED_S = 5.0


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

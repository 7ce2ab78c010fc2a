"""What a worker is held to while it runs: it ends with its host, it shows signs of life, and it inherits the lock."""

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from zoo.core import console

VARIABLE = "ZOO_WATCH_HOST"
# A busy machine may let a thread wait so long; more means that the whole process stood still.
HELD_UP_S = 5.0


@dataclass(frozen=True)
class Guard:
    """How a worker is guarded.

    Attributes:
        lock: open file of the run folder's lock, which the worker inherits.
        hang_s: it is ended after so many seconds without an event; 0: never.
        outlives_terminal: a closed terminal stops nothing; what is said then goes to ``host.log``.
    """

    lock: int | None = None
    hang_s: float = 0.0
    outlives_terminal: bool = False

    @contextlib.contextmanager
    def tied(self) -> Iterator[tuple[list[int], dict[str, str]]]:
        """Open files that the worker inherits, and the variable that names the one that ends with this process.

        It is the reading end of a pipe that nobody writes to: once it can be read, the other end is gone, and the
        host with it, however it ended.
        """
        theirs, ours = os.pipe()
        try:
            inherited = [theirs] if self.lock is None else [theirs, self.lock]
            yield inherited, {VARIABLE: str(theirs)}
        finally:
            os.close(theirs)
            os.close(ours)


@contextlib.contextmanager
def watched(
    worker: "subprocess.Popen[bytes]", patience_s: float, hung: Callable[[float], None]
) -> Iterator[Callable[[], None]]:
    """End a worker that shows no sign of life for too long; yields the function to call for each sign.

    Time asleep does not count, nor does a clock that is set: only the monotonic one is asked.

    Args:
        worker: the process.
        patience_s: for so long; 0: for ever.
        hung: called with the seconds of silence before it is ended.
    """
    last, over, pause = [time.monotonic()], threading.Event(), min(1.0, patience_s / 10)

    def watch() -> None:
        looked = time.monotonic()
        while not over.wait(pause):
            now = time.monotonic()
            if now - looked > pause + HELD_UP_S:
                last[0] = now  # this process was stopped itself, and heard nothing: Ctrl-Z, or a frozen container
            looked, silent = now, now - last[0]
            if silent > patience_s:
                hung(silent)
                worker.kill()
                return

    def alive() -> None:
        last[0] = time.monotonic()

    if patience_s:
        threading.Thread(target=watch, daemon=True).start()
    try:
        yield alive
    finally:
        over.set()


class Keep:
    """Writes lines to a file; a full disk is said once and stops nothing."""

    def __init__(self, kept: IO[bytes]) -> None:
        self._kept, self._lost, self._torn = kept, False, False

    def __call__(self, line: bytes) -> None:
        line = b"\n" + line if self._torn else line  # what there was room for must not spoil this one too
        try:
            self._torn = self._kept.write(line) != len(line)
        except OSError as error:
            if not self._lost:
                console.warn(f"Events are no longer kept in {self._kept.name}: {error.strerror}")
            self._lost = True

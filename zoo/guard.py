"""What a worker is held to while it runs: it ends with its host, it shows signs of life, and it inherits the lock."""

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from zoo import progress

VARIABLE = "ZOO_WATCH_HOST"


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
    last, over = [time.monotonic()], threading.Event()

    def watch() -> None:
        while not over.wait(min(1.0, patience_s / 10)):
            silent = time.monotonic() - last[0]
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
        self._kept, self._lost = kept, False

    def __call__(self, line: bytes) -> None:
        try:
            self._kept.write(line)
        except OSError as error:
            if not self._lost:
                progress.warn(f"Events are no longer kept in {self._kept.name}: {error.strerror}")
            self._lost = True

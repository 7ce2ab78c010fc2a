"""Copy the standard error of a process to ours, and keep its last part.

If ours is a terminal, the process gets a pseudo-terminal, so that its output is the same; if not, a pipe.
"""

import contextlib
import fcntl
import os
import pty
import termios
import threading
from typing import Any

# Longest wait for children of the process that keep the stream open.
DRAIN_S = 0.5


class StderrCopy:
    """A stream for a process; its content is copied to our standard error."""

    def __init__(self) -> None:
        self._tail = b""
        self._source, self.stream = _terminal() if os.isatty(2) else os.pipe()
        self._thread = threading.Thread(target=self._copy, daemon=True)

    def start(self) -> None:
        """Start copying, after the process has inherited the stream."""
        os.close(self.stream)
        self._thread.start()

    def finish(self) -> str:
        self._thread.join(DRAIN_S)
        return self._tail.decode("utf-8", "replace").replace("\r\n", "\n")

    def resize(self, *_signal: Any) -> None:
        """Give the process's terminal the size of ours; can handle a signal."""
        if os.isatty(2):
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._source, termios.TIOCSWINSZ, fcntl.ioctl(2, termios.TIOCGWINSZ, b"\0" * 8))

    def _copy(self) -> None:
        with contextlib.suppress(OSError):  # no writer is left, or no reader of our standard error
            while part := os.read(self._source, 65_536):
                self._tail = (self._tail + part)[-65_536:]
                while part:
                    part = part[os.write(2, part) :]
        os.close(self._source)


def _terminal() -> tuple[int, int]:
    """Open a pseudo-terminal like ours that passes bytes unchanged; return our end and the process's."""
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(2)
    settings[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    return ours, theirs

"""Arrays that the host lays down while the worker runs: ``0.npy``, ``1.npy``, ..., and ``end`` after the last."""

import os
import time

POLL_S = 0.02


class Inbox:
    """The next array, waited for.

    Args:
        folder: where they are laid down.
        stop: looked at while waiting.
        tell: called while waiting; a host that is gone is noticed by telling it something.
    """

    def __init__(self, folder, stop, tell):
        self._folder, self._stop, self._tell = folder, stop, tell
        self.index = -1
        self.waited_s = 0.0

    def next(self):
        """Path of the next array, or None after the last, or where the worker is asked to stop."""
        self.index += 1
        began = time.monotonic()
        path, end = (os.path.join(self._folder, name) for name in ("%d.npy" % self.index, "end"))
        found = None
        while not self._stop.asked:
            over = os.path.exists(end)  # looked for first: the last array is there before the end is
            if os.path.exists(path):
                found = path
                break
            if over:
                break
            time.sleep(POLL_S)
            self._tell()
        self.waited_s += time.monotonic() - began
        return found

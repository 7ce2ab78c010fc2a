"""What the host hands over while the worker runs.

Arrays that it lays down, ``0.npy``, ``1.npy``, ..., and ``end`` after the last; or orders, a line of JSON each.
"""

import json
import os
import select
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


def orders(stop):
    """Yield what every line on standard input says, until the host ends its writing or someone asks to stop."""
    rest, ended = b"", False
    while not ended and not stop.asked:
        # A plain read would be taken up again after Ctrl-C and never look at `stop`.
        if not select.select([0], [], [], 0.1)[0]:
            continue
        more = os.read(0, 65536)
        ended = not more
        *lines, rest = (rest + more).split(b"\n")
        for line in lines:
            if not stop.asked:
                yield json.loads(line.decode("ascii"))

"""Read what the host hands over while the worker runs.

These are arrays that it writes, ``0.npy``, ``1.npy``, ..., and ``end`` after the last; or commands, a line of JSON
each.
"""

import json
import os
import select
import time

POLL_S = 0.02


class ArrayQueueReader:
    """The next array, waited for.

    Args:
        folder: where they are laid down.
        stop: looked at while waiting.
        report: called while waiting; a host that is gone is noticed by writing to it.
    """

    def __init__(self, folder, stop, report):
        self._folder, self._stop, self._report = folder, stop, report
        self.index = -1
        self.waited_s = 0.0

    def next(self):
        """Path of the next array, or None after the last, or where the worker is asked to stop."""
        self.index += 1
        began = time.monotonic()
        path, end = (os.path.join(self._folder, name) for name in ("%d.npy" % self.index, "end"))
        ready = False
        while not self._stop.asked:
            is_over = os.path.exists(end)  # looked for first: the last array is there before the end is
            ready = os.path.exists(path)
            if ready or is_over:
                break
            time.sleep(POLL_S)
            self._report()
        self.waited_s += time.monotonic() - began
        return path if ready else None


def iter_commands(stop):
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

"""Read the input that the host sends while the worker runs.

Arrays are files ``0.npy``, ``1.npy``, ..., followed by ``end``. Commands are lines of JSON on standard input.
"""

import json
import os
import select
import time

POLL_S = 0.02


class ArrayQueueReader:
    """Waits for the next array in a folder.

    ``report`` is called while waiting, because only writing to the host shows that it has ended.
    """

    def __init__(self, folder, stop, report):
        self._folder, self._stop, self._report = folder, stop, report
        self.index = -1
        self.waited_s = 0.0

    def next(self):
        """Return the path of the next array, or None after the last one or if the worker should stop."""
        self.index += 1
        began = time.monotonic()
        path, end = (os.path.join(self._folder, name) for name in ("%d.npy" % self.index, "end"))
        ready = False
        while not self._stop.asked:
            is_over = os.path.exists(end)  # checked first: the last array exists before the end does
            ready = os.path.exists(path)
            if ready or is_over:
                break
            time.sleep(POLL_S)
            self._report()
        self.waited_s += time.monotonic() - began
        return path if ready else None


class Commands:
    """The commands in the lines on standard input; ``ended`` is set when the host has closed it."""

    def __init__(self, stop):
        self._rest, self._stop, self.ended = b"", stop, False

    def taken(self, wait=True):
        """Return the new commands; with ``wait``, wait for at most a tenth of a second."""
        # A plain read would resume after Ctrl-C and never check `stop`.
        if self.ended or self._stop.asked or not select.select([0], [], [], 0.1 if wait else 0.0)[0]:
            return []
        more = os.read(0, 65536)
        self.ended = not more
        *lines, self._rest = (self._rest + more).split(b"\n")
        return [json.loads(line.decode("ascii")) for line in lines]


def iter_commands(stop):
    """Yield the commands on standard input, until the host closes it or requests a stop."""
    commands = Commands(stop)
    while not commands.ended and not stop.asked:
        for command in commands.taken():
            if not stop.asked:
                yield command

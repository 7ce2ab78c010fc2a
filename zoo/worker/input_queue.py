"""Read what the host hands over while the worker runs.

These are arrays that it writes, ``0.npy``, ``1.npy``, ..., and ``end`` after the last; or commands, a line of JSON
each.
"""

import json
import os
import select
import threading
import time
from concurrent.futures import ThreadPoolExecutor

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


def answer_commands(stop, answer, tell, at_once=1):
    """Answer commands until there are no more, or someone asks to stop; what is in hand is answered then.

    Args:
        stop: looked at while waiting.
        answer: from a command to its answer.
        tell: called with every command and its answer, one by one, in the order of the commands.
        at_once: how many are answered at a time. From 2 on that is done in threads, so that a device has its next
            work before it has done the last; else in the main thread, the only one in which TensorFlow 1 finds its
            graph.

    Returns:
        How many were taken.

    Raises:
        Exception: what ``answer`` or ``tell`` raised; nothing is taken or told after it.
    """
    if at_once == 1:
        count = 0
        for command in iter_commands(stop):
            tell(command, answer(command))
            count += 1
        return count
    return _InThreads(stop, answer, tell).run(at_once)


class _InThreads:
    def __init__(self, stop, answer, tell):
        self._stop, self._answer, self._tell = stop, answer, tell
        self._turn, self._told, self._failures = threading.Condition(), 0, []

    def run(self, at_once):
        count = 0
        with ThreadPoolExecutor(at_once) as pool:
            for command in iter_commands(self._stop):
                pool.submit(self._handle, count, command)
                count += 1
        if self._failures:
            raise self._failures[0]
        return count

    def _handle(self, number, command):
        try:
            answered = self._answer(command)
            with self._turn:
                self._turn.wait_for(lambda: self._told == number or self._failures)
                if not self._failures:
                    self._tell(command, answered)
                    self._told += 1
                    self._turn.notify_all()
        except BaseException as error:  # raised again by the main thread
            with self._turn:
                self._failures.append(error)
                self._turn.notify_all()
            self._stop.asked = True

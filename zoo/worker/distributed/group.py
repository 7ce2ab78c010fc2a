"""Connect the processes of a training run, and end them together: none waits for a lost process.

Processes exchange a heartbeat through the key-value store of their engine (PyTorch's TCPStore, the coordination
service of JAX and TensorFlow).
"""

import contextlib
import importlib
import itertools
import json
import os
import re
import signal
import sys
import threading
import time

from zoo.protocol.events import ERROR_KINDS, GROUP_BROKEN
from zoo.worker.distributed import Group, joined, meeting
from zoo.worker.errors import UserError, describe

BEAT_S = 2.0
# A process without a heartbeat for this time counts as lost. On a machine with six busy threads per core, working
# processes sent none for 16 s.
SILENT_S = 20.0
# A process hangs if it begins no step for LATE_S and for LATE_STEPS times the longest step, while another one waits.
LATE_S, LATE_STEPS = 15.0, 10.0
# Clocks that differ by more than this are reported.
CLOCK_S = 5.0
# Errors of the engines when another process is lost, which the host or the heartbeat then identifies.
_OF_ANOTHER = re.compile("gloo|nccl|connection|peer|collective|coordination|unavailable|socket|store", re.IGNORECASE)


def join(request, rank, stop, report):
    """Wait for the other processes of a request and return their group; see :class:`ConnectedGroup`."""
    settings, framework, keras = request.distributed, request.device.framework, request.stack.keras
    # Keras inside TensorFlow is Keras 2.
    if framework not in ("torch", "jax", "tensorflow") or keras == "tf.keras":
        raise UserError(
            "distributed.processes=%d needs a stack of PyTorch, JAX or TensorFlow with Keras 3; this stack"
            " uses %s and %s" % (settings.processes, framework, keras)
        )
    addresses = meeting.meet(settings, request.run_dir, rank)
    joined.append(ConnectedGroup(rank, settings, addresses, stop, report, framework))
    return joined[-1]


class ConnectedGroup(Group):
    """The group of several processes, as this process uses it.

    Args:
        settings: the ``distributed`` part of the request.
        addresses: ``host:port`` of each process.
        asked: the flag that signals set in this process.
        report: called with the message and the kind of an error.
        engine: ``torch``, ``jax`` or ``tensorflow``, the module whose ``Engine`` connects the processes.
    """

    def __init__(self, rank, settings, addresses, asked, report, engine):
        super().__init__()
        self.rank, self.size, self.settings, self.addresses = rank, settings.processes, settings, addresses
        self.asked, self._report, self._framework = asked, report, engine
        self.about = {"host": addresses[rank].rpartition(":")[0], "process": os.getpid()}
        self._failing, self._over = threading.Lock(), False

    def start(self, folder):
        """Connect the processes, after the framework is imported and before it computes."""
        try:
            self.engine = importlib.import_module("zoo.worker.distributed." + self._framework).Engine(self)
            self.agree(None)
        except Exception as error:
            words = "process %d at %s cannot reach the first process (at %s): %s"
            places = self.addresses[self.rank], self.addresses[0]
            raise UserError(words % (self.rank, *places, describe(error))) from error
        # Restore the handler that stops training, because coordination services replace it.
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        self.rows = self.gather_values(dict(self.about, time=time.time()))
        os.remove(meeting.path(self.settings, folder, self.rank))
        threading.Thread(target=self._watch, daemon=True).start()

    def total(self, array):
        return self.engine.total(array)

    def clocks(self):
        """Yield a warning for every process whose clock differs from the first one's."""
        words = "The clock of %s is %.0f s %s the clock of %s: times in logs and records are not comparable"
        for row in self.rows:
            ahead = row["time"] - self.rows[0]["time"]
            if abs(ahead) > CLOCK_S:
                yield words % (row["host"], abs(ahead), "ahead of" if ahead > 0 else "behind", self.rows[0]["host"])

    def prepare_keras(self):
        """Make Keras compute over whole batches, after Keras is imported and probed."""
        from zoo.models import compat  # imports Keras

        if compat.MAJOR < 3:
            words = "distributed.processes=%d needs Keras 3, this is %s: choose stack=torch, jax or tf-2.21"
            raise UserError(words % (self.size, compat.version()))
        self.engine.prepare_keras()
        compat.share_with(self)

    def _watch(self):
        """Exchange a heartbeat every other second; end this process if another one is silent or hangs."""
        key, before, since = self.settings.id + "/%d/%d", [None] * self.size, [0.0] * self.size
        for number in itertools.count():
            # PyTorch's store does not return while the first process, which hosts it, hangs.
            limit = threading.Timer(SILENT_S + BEAT_S, self._fail_lost, [0])
            limit.start()
            rows = []
            try:
                self.engine.put(key % (number, self.rank), json.dumps([self._steps, self._busy]))
                for rank in range(self.size):
                    rows.append(json.loads(self.engine.get(key % (number, rank), int(1000 * SILENT_S))))
                if number:  # all have put this value, so they have read all earlier ones
                    self.engine.delete(key % (number - 1, self.rank))
            except Exception:  # its type depends on the engine
                self._fail_lost(len(rows) % self.size)  # the first process hosts the store
            finally:
                limit.cancel()
            if self._over:
                return
            newest, now = max(steps for steps, _ in rows), time.monotonic()
            for rank, (steps, busy) in enumerate(rows):
                if busy or steps >= newest or rows[rank] != before[rank]:
                    since[rank] = now
                elif now - since[rank] > max(LATE_S, LATE_STEPS * self._longest):
                    words = "hangs: it has not begun step %d, which another process began %.0f s ago"
                    self._fail_lost(rank, words % (newest, now - since[rank]))
            before = rows
            time.sleep(BEAT_S)

    def _fail_lost(self, rank, words="does not answer: the process or its machine has stopped or is unreachable"):
        about = rank, self.size, self.rows[rank]["process"], self.rows[rank]["host"], words
        self.fail("process %d of %d (process id %s on %s) %s" % about)

    def fail(self, message, kind=GROUP_BROKEN):
        """Report an error and end this process, even if its main thread is blocked; only the first call reports."""
        with self._failing:
            if self._over:
                return
            with contextlib.suppress(OSError):  # the host may have ended too
                self._report(message, kind)
            self._over = True
            sys.stderr.write("Training stops: %s\n" % message)
            sys.stderr.flush()
            os._exit(1)

    def explain(self, error):
        """Report an error of the main thread; if a lost process may be the cause, first wait until it is reported."""
        if type(error).__name__ not in ERROR_KINDS and _OF_ANOTHER.search(describe(error)):
            time.sleep(SILENT_S + 2 * BEAT_S)
        prefix = "process %d on %s: " % (self.rank, self.about["host"]) if self.rank else ""
        self.fail(prefix + (str(error) or type(error).__name__), type(error).__name__)

    def close(self):
        """End all processes together: none watches a process that may already have left."""
        self.agree(None)
        with self._failing:
            self._over = True
        with contextlib.suppress(Exception):  # another process may already have ended
            self.agree(None)
            self.engine.leave()

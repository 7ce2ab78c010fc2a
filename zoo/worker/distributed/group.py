"""Coordinate the processes of a training run: they stop and save together, and none waits for a lost process.

The engine exchanges small values through its key-value store (PyTorch's TCPStore, the coordination service of JAX and
TensorFlow). Flags that all processes need after a step are exchanged by a sum.
"""

import base64
import contextlib
import hashlib
import importlib
import io
import itertools
import json
import os
import re
import signal
import sys
import threading
import time
import types

import numpy as np

from zoo.protocol.events import ERROR_KINDS, GROUP_BROKEN
from zoo.worker.distributed import Alone, make_current, meeting
from zoo.worker.errors import UserError, describe

BEAT_S = 2.0
# A process without a heartbeat for this time counts as lost. On a machine with six busy threads per core, working
# processes sent none for 16 s.
SILENT_S = 20.0
# A process hangs if it begins no step for LATE_S and for LATE_STEPS times the longest step, while another one waits.
LATE_S, LATE_STEPS = 15.0, 10.0
# How long processes wait for each other while none is lost.
PATIENCE_S = 86_400.0
# Clocks that differ by more than this are reported.
CLOCK_S = 5.0
# Most characters in one value of a store: gRPC and TCPStore limit messages.
PIECE = 1_000_000
# Errors of the engines when another process is lost, which the host or the heartbeat then identifies.
_OF_ANOTHER = re.compile("gloo|nccl|connection|peer|collective|coordination|unavailable|socket|store", re.IGNORECASE)


ENGINES = ("torch", "jax", "tensorflow")


def join(request, rank, stop):
    """Wait for the other processes of a request and return their group; ``stop`` is the flag that signals set."""
    settings, framework, keras = request.distributed, request.device.framework, request.stack.keras
    # Keras inside TensorFlow is Keras 2.
    if framework not in ENGINES or keras == "tf.keras":
        raise UserError(
            "distributed.processes=%d needs a stack of PyTorch, JAX or TensorFlow with Keras 3; this stack"
            " uses %s and %s" % (settings.processes, framework, keras)
        )
    group = Group(rank, settings, meeting.meet(settings, request.run_dir, rank), stop, framework)
    make_current(group)
    return group


class Group(Alone):
    """The group of processes of a training run, as this process uses it.

    Args:
        settings: the ``distributed`` part of the request.
        rows: see :func:`zoo.worker.distributed.meeting.meet`.
        asked: the flag that signals set in this process.
        engine: ``torch``, ``jax`` or ``tensorflow``, the module whose ``Engine`` connects the processes.

    Attributes:
        stop: set in all processes after the same step.
        multiple: the size of a batch must be a multiple of this.
        present: (begin, total): index of this process's first item in the current batch, and size of the batch.
    """

    def __init__(self, rank, settings, rows, asked, engine):
        self.rank, self.size, self.rows, self.settings = rank, settings.processes, rows, settings
        self.hosts = [row["host"] for row in rows]
        self.stop, self.present = types.SimpleNamespace(asked=False, reason="interrupted"), (0, 1)
        self.engine = importlib.import_module("zoo.worker.distributed." + engine).Engine(self)
        self.multiple = self.size if self.engine.needs_equal_shares else 1
        self._asked, self._values, self._kept = asked, itertools.count(), {}
        self._steps, self._busy, self._longest, self._began = 0, True, 0.0, None
        self._failing, self._over = threading.Lock(), False
        self.report = lambda message, _kind: sys.stderr.write(message + "\n")

    def start(self, folder):
        """Connect the processes, after the framework is imported and before it computes."""
        try:
            self.engine.start()
        except Exception as error:
            first = "%s:%d" % (self.hosts[0], self.rows[0]["port"])
            words = "process %d on %s cannot reach the first process (at %s): %s"
            raise UserError(words % (self.rank, self.hosts[self.rank], first, describe(error))) from error
        # Restore the handler that stops training, because coordination services replace it.
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        self.agree(None)
        if self.rank == 0:
            meeting.leave(self.settings, folder)
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def weights(self):
        """The share of each process of the items of the current batch."""
        total = self.present[1]
        shares = [self.bounds(total, rank) for rank in range(self.size)]
        return [(end - begin) / float(total) for begin, end in shares]

    @property
    def weight(self):
        return self.weights[self.rank]

    def clocks(self):
        """Return a warning for every process whose clock differs from the first one's."""
        words = "The clock of %s is %.0f s %s the clock of %s: times in logs and records are not comparable"
        return [
            words % (row["host"], abs(row["clock_s"]), "ahead of" if row["clock_s"] > 0 else "behind", self.hosts[0])
            for row in self.rows
            if abs(row["clock_s"]) > CLOCK_S
        ]

    def prepare_keras(self):
        """Make Keras compute over whole batches, after Keras is imported and probed."""
        from zoo.models import compat  # imports Keras

        if compat.MAJOR < 3:
            words = "distributed.processes=%d needs Keras 3, this is %s: choose stack=torch, jax or tf-2.21"
            raise UserError(words % (self.size, compat.version()))
        self.engine.prepare_keras()
        compat.share_with(self)

    # -- steps

    def enter(self, batch):
        self.present = (batch.begin, batch.total)
        self._steps += 1
        self._busy, self._began = False, time.monotonic()
        self.engine.enter()
        return batch.total

    def after_step(self, wants_save):
        self._longest = max(self._longest, time.monotonic() - self._began)
        asked, reason = self._asked.asked, self._asked.reason
        flags = [asked and reason == "interrupted", asked and reason != "interrupted", wants_save]
        interrupted, limited, save = self.engine.sum_figures([float(flag) for flag in flags])
        if interrupted or limited:
            self.stop.asked, self.stop.reason = True, "interrupted" if interrupted else "max_minutes"
        return bool(save)

    def ask_to_stop(self, _stop, reason):
        if not self._asked.asked:
            self._asked.asked, self._asked.reason = True, reason

    def settle_stop(self):
        for asked, reason in self.gather_values([self._asked.asked, self._asked.reason]):
            if asked:
                self.stop.asked, self.stop.reason = True, reason

    def mean(self, values):
        """Average metrics over the items of the whole batch, from each process's mean over its own items."""
        if self.engine.needs_equal_shares:  # they already cover the whole batch
            return list(values)
        weighted = np.array(values, np.float64) * self.weight
        return [float(value) for value in self.engine.sum_figures(weighted)]

    def busy(self):
        self._busy = True

    # -- exchange of values

    def gather(self, arrays):
        parts = [_unpack(value) for value in self.gather_values(_pack(arrays))]
        return {name: np.concatenate([part[name] for part in parts]) for name in arrays}

    def gather_values(self, value):
        self.busy()
        return self._exchange("value", next(self._values), value, PATIENCE_S)

    def unite(self, model):
        self.model = model
        present = [np.asarray(each) for each in model.get_weights()]
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in present)).hexdigest()
        if len(set(self.gather_values(digest))) == 1:
            return
        mine = {"%05d" % number: each for number, each in enumerate(present)} if self.rank == 0 else {}
        stored = _unpack(self.agree(_pack(mine)))
        model.set_weights([stored[name] for name in sorted(stored)])

    def _exchange(self, topic, number, value, patience_s):
        """Put a value into the engine's store, and return the values of all processes, in order of rank.

        Raises:
            SilentError: a process provided no value in time, or the store in the first process is lost.
        """
        text, key = json.dumps(value), "%s/%s/%d/%%d/%%d" % (self.settings.id, topic, number)
        pieces, values = [text[begin : begin + PIECE] for begin in range(0, len(text), PIECE)], []
        rank = 0  # the first process hosts the store
        try:
            for index, piece in enumerate([str(len(pieces)), *pieces]):
                self.engine.put(key % (self.rank, index), piece)
            for rank in range(self.size):
                count = int(self.engine.get(key % (rank, 0), patience_s))
                text = "".join(self.engine.get(key % (rank, index), patience_s) for index in range(1, count + 1))
                values.append(json.loads(text))
            rank = 0
            for before in self._kept.pop(topic, ()):  # all have put this value, so they have read all earlier ones
                self.engine.delete(before)
        except Exception as error:  # its type depends on the engine
            raise SilentError(rank, error) from error
        self._kept[topic] = [key % (self.rank, index) for index in range(len(pieces) + 1)]
        return values

    # -- faults

    def _watch(self):
        """Exchange a heartbeat every other second; end this process if another one is silent or hangs."""
        late, beats = {}, itertools.count()
        while not self._over:
            # PyTorch's store does not return while the first process, which hosts it, hangs.
            limit = threading.Timer(SILENT_S + BEAT_S, self._fail_silent, [0])
            limit.daemon = True
            limit.start()
            try:
                rows = self._exchange("beat", next(beats), [self._steps, self._busy], SILENT_S)
            except SilentError as error:
                self._fail_silent(error.rank)
                return
            finally:
                limit.cancel()
            newest, now = max(steps for steps, _ in rows), time.monotonic()
            for rank, (steps, busy) in enumerate(rows):
                if steps >= newest or busy:
                    late.pop(rank, None)
                elif late.setdefault(rank, (steps, now))[0] != steps:
                    late[rank] = (steps, now)
                elif now - late[rank][1] > max(LATE_S, LATE_STEPS * self._longest):
                    self.fail("%s hangs: it has not begun step %d, which another process began %.0f s ago"
                              % (self._name(rank), newest, now - late[rank][1]))  # fmt: skip
            time.sleep(BEAT_S)

    def _fail_silent(self, rank):
        self.fail("%s does not answer: the process or its machine has stopped or is unreachable" % self._name(rank))

    def _name(self, rank):
        row = self.rows[rank]
        return "process %d of %d (process id %s on %s)" % (rank, self.size, row["pid"], row["host"])

    def fail(self, message, kind=GROUP_BROKEN):
        """Report an error and end this process, even if its main thread is blocked; only the first call reports."""
        with self._failing:
            if self._over:
                return
            with contextlib.suppress(OSError):  # the host may have ended too
                self.report(message, kind)
            self._over = True
            sys.stderr.write("Training stops: %s\n" % message)
            sys.stderr.flush()
            os._exit(1)

    def explain(self, error):
        """Report an error of the main thread; if a lost process may be the cause, first wait until it is reported."""
        known = type(error).__name__ in ERROR_KINDS
        if not known and (isinstance(error, SilentError) or _OF_ANOTHER.search(describe(error))):
            time.sleep(SILENT_S + 2 * BEAT_S)
        message = str(error) or type(error).__name__
        prefix = "process %d on %s: " % (self.rank, self.hosts[self.rank]) if self.rank else ""
        self.fail(prefix + message, type(error).__name__)

    def close(self):
        """End all processes together; the first process, which hosts the store, ends last."""
        self.gather_values(None)
        with self._failing:
            self._over = True
        key = self.settings.id + "/left/%d"
        with contextlib.suppress(Exception):  # another process may already have ended
            if self.rank:
                self.engine.put(key % self.rank, "")
            else:
                for rank in range(1, self.size):
                    self.engine.get(key % rank, SILENT_S)
        self.engine.leave()


class SilentError(Exception):
    """Process ``rank`` provided no value; ``error`` is the engine's exception."""

    def __init__(self, rank, error):
        super().__init__("process %d provided no value: %s" % (rank, describe(error)))
        self.rank = rank


def _pack(arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return base64.b64encode(content.getvalue()).decode("ascii")


def _unpack(text):
    with np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}

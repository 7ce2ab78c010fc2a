"""The processes of one training: they stop and save together, and none waits for one that is gone."""

import contextlib
import hashlib
import importlib
import io
import json
import os
import queue
import sys
import threading
import time

import numpy as np

from zoo import protocol
from zoo.worker import distributed
from zoo.worker.errors import UserError

BEAT_S = 1.0
# A process whose threads send nothing for so long is stopped, or its machine or network is gone. On a machine with
# six times as much work as cores, ones that were well sent nothing for 16 s.
SILENT_S = 20.0
# A process that begins no step for so long, or for so many steps' time, while another waits for it, hangs.
LATE_S, LATE_STEPS = 15.0, 10.0
# Frameworks report a lost neighbour before the channel does; so long the channel may take to say who it was.
EXPLAIN_S = 4.0


class AgreedStop:
    """Asked for in all processes after the same step."""

    def __init__(self):
        self.asked, self.reason = False, "interrupted"


class Group:
    """This process among the others.

    Args:
        rank: its number.
        settings: the part ``distributed`` of the request.
        links: see :func:`zoo.worker.distributed.channel.meet`.
        hosts: names of all machines by number.
        asked: what signals set in this process.
        framework: name of the engine.

    Attributes:
        stop: set in all processes after the same step.
        multiple: the size of a batch must be a multiple of this.
        present: (begin, total): which items of the batch of the present step are here.
    """

    def __init__(self, rank, settings, links, hosts, asked, framework):
        self.rank, self.size, self.hosts, self.settings = rank, settings["processes"], hosts, settings
        self.stop, self.present, self.outputs = AgreedStop(), (0, 1), None
        self.engine = importlib.import_module("zoo.worker.distributed." + framework).Engine(self)
        self.multiple = self.size if self.engine.needs_equal_shares else 1
        self._links, self._asked, self._told = links, asked, False
        self._steps, self._plan, self._busy, self._longest, self._began = 0, {}, True, 0.0, None
        self._failing, self._over, self._late = threading.Lock(), threading.Event(), {}
        self.failure = None
        self.report = lambda message, _kind: sys.stderr.write(message + "\n")
        for link in links:
            threading.Thread(target=self._listen, args=(link,), daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()

    @property
    def bytes_per_step(self):
        """Bytes that each process gave to be added up in the last step."""
        return self.engine.bytes_per_step

    @property
    def weight(self):
        """Share of the items of the present batch that is here."""
        begin, end = self.bounds(self.present[1])
        return (end - begin) / float(self.present[1])

    def bounds(self, count):
        """Return where the share of this process begins and ends, among ``count`` items."""
        return distributed.bounds(self.rank, self.size, count)

    def clocks(self):
        """Return a sentence for every machine whose clock differs."""
        words = "The clock of %s is %.0f s %s that of %s: times in logs and records differ by as much"
        return [
            words % (link.host, abs(link.clock_s), "ahead of" if link.clock_s > 0 else "behind", self.hosts[0])
            for link in self._links
            if getattr(link, "clock_s", 0.0)
        ]

    def prepare_keras(self):
        """Let Keras compute over whole batches; after it was imported and proved.

        Raises:
            UserError: this Keras is too old for it.
        """
        from zoo.models import compat  # imports Keras

        if compat.MAJOR < 3:
            raise UserError(
                "distributed.processes=%d needs Keras 3, this is %s: choose stack=torch, jax or tf-2.21"
                % (self.size, compat.version())
            )
        self.engine.prepare_keras()
        self.outputs = getattr(self.engine, "outputs", None)
        compat.share_with(self)

    # -- steps

    def enter(self, batch):
        """Begin a step; return the items of the whole batch."""
        self.present = (batch.begin, batch.total)
        self._steps += 1
        self._busy, self._began = False, time.monotonic()
        self.engine.enter()
        return batch.total

    def after_step(self, wants_save):
        """End a step: stop or save where that was announced; return whether a checkpoint is written now.

        The first process announces it a step ahead: until the others have confirmed, it does not begin the next step,
        so that none of them can be beyond it.
        """
        self._longest = max(self._longest, time.monotonic() - self._began)
        planned = self._plan
        if planned.get("stop", {}).get("step") == self._steps:
            self.stop.asked, self.stop.reason = True, planned["stop"]["reason"]
        if self.rank == 0 and self._asked.asked and "stop" not in planned:
            self._announce("stop", self._asked.reason)
        if self.rank == 0 and wants_save and "save" not in planned:
            self._announce("save", "")
        if planned.get("save", {}).get("step") == self._steps:
            del planned["save"]
            return True
        return False

    def _announce(self, what, reason):
        for link in self._links:
            self._send(link, "announce", what=what, step=self._steps + 1, reason=reason)
        for link in self._links:
            while not link.acknowledged.acquire(timeout=0.2):
                self._wait_if_failed()
        self._plan[what] = {"step": self._steps + 1, "reason": reason}

    def ask_to_stop(self, _stop, reason):
        """Ask for the end of the training, which the first process then announces."""
        if self.rank == 0 and not self._asked.asked:
            self._asked.asked, self._asked.reason = True, reason

    def settle_stop(self):
        """Let all processes know whether they are asked to stop; outside of steps."""
        asked, reason = self.agree([self._asked.asked, self._asked.reason])
        if asked:
            self.stop.asked, self.stop.reason = True, reason

    def mean(self, values):
        """Mean of some figures over the items of the whole batch, from each process's mean over its own."""
        if self.engine.needs_equal_shares:  # they are of the whole batch already
            return list(values)
        weighted = np.array(values, np.float64) * self.weight
        return [float(value) for value in self.engine.sum_figures(weighted)]

    @contextlib.contextmanager
    def busy(self):
        """Do inside what may take long in one process while others wait for it."""
        self._busy = True
        yield

    # -- what all must have

    def gather(self, arrays):
        """Return the rows of all processes, in order: name -> array."""
        parts = [_unpack(payload) for payload in self._exchange(_pack(arrays))]
        return {name: np.concatenate([part[name] for part in parts]) for name in arrays}

    def gather_values(self, value):
        """Return a value of every process, as JSON knows it."""
        return [json.loads(payload.decode("utf-8")) for payload in self._exchange(json.dumps(value).encode("utf-8"))]

    def agree(self, value):
        """Return what the first process says."""
        return self.gather_values(value)[0]

    def unite(self, model):
        """Give all processes the same weights, those of the first."""
        self.engine.watch(model)
        present = [np.asarray(each) for each in model.get_weights()]
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(each).tobytes() for each in present)).hexdigest()
        if len(set(self.gather_values(digest))) == 1:
            return
        mine = {"%05d" % number: each for number, each in enumerate(present)} if self.rank == 0 else {}
        stored = _unpack(self._exchange(_pack(mine))[0])
        model.set_weights([stored[name] for name in sorted(stored)])

    def _exchange(self, payload):
        """Give bytes, and get those of all processes by number."""
        self._busy = True
        if self.rank:
            self._send(self._links[0], "value", payload)
            return _split(self._value(self._links[0]))
        parts = [payload] + [self._value(link) for link in self._links]
        joined = json.dumps([len(part) for part in parts]).encode("ascii") + b"\n" + b"".join(parts)
        for link in self._links:
            self._send(link, "value", joined)
        return parts

    def _value(self, link):
        while True:
            with contextlib.suppress(queue.Empty):
                return link.values.get(timeout=0.2)
            self._wait_if_failed()

    def _send(self, link, kind, payload=b"", **fields):
        try:
            link.send(kind, payload, **fields)
        except OSError:
            self._lost(link)
            self._wait_if_failed()

    # -- faults

    def _listen(self, link):
        try:
            while True:
                self._take(link, *link.receive())
        except (EOFError, OSError):
            self._lost(link)

    def _take(self, link, message, payload):
        kind = message["kind"]
        if kind == "beat":
            link.arrived, link.busy = message["arrived"], message["busy"]
        elif kind == "value":
            link.values.put(payload)
        elif kind == "announce":
            self._plan[message["what"]] = {"step": message["step"], "reason": message["reason"]}
            link.send("ack")
        elif kind == "ack":
            link.acknowledged.release()
        elif kind == "stop":
            self._asked.asked = True
        elif kind == "error":
            self.fail("process %d on %s: %s" % (link.rank, link.host, message["message"]), message["type"])
        elif kind == "failed":
            self.fail(message["message"], message["type"], heard=True)
        elif kind == "end":
            self._over.set()

    def _lost(self, link):
        if self._over.is_set():
            return
        self.fail("process %d of %d (process id %s on %s) ended without a word" % (
            link.rank, self.size, link.pid, link.host))  # fmt: skip

    def _beat(self):
        while not self._over.is_set():
            for link in self._links:
                with contextlib.suppress(OSError):  # `_listen` notices as well
                    link.send("beat", arrived=self._steps, busy=self._busy)
                silent = time.monotonic() - link.seen
                if silent > SILENT_S:
                    self.fail("process %d of %d, on %s, has sent nothing for %.0f s: it or its machine stands still"
                              % (link.rank, self.size, link.host, silent))  # fmt: skip
            if self.rank == 0:
                self._find_late()
            elif self._asked.asked and not self._told:
                self._told = True
                with contextlib.suppress(OSError):
                    self._links[0].send("stop")
            time.sleep(BEAT_S)

    def _find_late(self):
        """Fail where a process has not begun a step for long that another has begun."""
        places = {0: (self._steps, self._busy)}
        places.update((link.rank, (link.arrived, link.busy)) for link in self._links)
        newest, now = max(steps for steps, _ in places.values()), time.monotonic()
        for rank, (steps, busy) in places.items():
            since = self._late.get(rank)
            if steps >= newest or busy:
                self._late.pop(rank, None)
            elif since is None or since[0] != steps:
                self._late[rank] = (steps, now)
            elif now - since[1] > max(LATE_S, LATE_STEPS * self._longest):
                self.fail("process %d of %d, on %s, hangs: it has not begun step %d, which others began %.0f s ago"
                          % (rank, self.size, self.hosts[rank], newest, now - since[1]))  # fmt: skip

    def fail(self, message, kind=protocol.GROUP_BROKEN, heard=False):
        """Take note that the group is broken; all its processes end.

        Args:
            message: why.
            kind: type of the error.
            heard: from the first process, which then reports it.
        """
        with self._failing:
            if self.failure is not None or self._over.is_set():
                return
            self.failure = (message, kind, heard)
        if self.rank == 0:
            for link in self._links:
                with contextlib.suppress(OSError):
                    link.send("failed", message=message, type=kind)
        threading.Thread(target=self._end, daemon=True).start()

    def _end(self):
        """End this process, whatever its main thread waits for."""
        message, kind, heard = self.failure
        if not heard:
            with contextlib.suppress(OSError):  # the host may be gone as well
                self.report(message, kind)
        sys.stderr.write("The training ends: %s\n" % message)
        sys.stderr.flush()
        time.sleep(0.3)  # so that the others hear of it
        os._exit(1)

    def _wait_if_failed(self):
        """Where the group is broken another thread ends this process soon."""
        while self.failure is not None:
            time.sleep(0.1)

    def explain(self, error):
        """Report an error of the main thread, unless it only follows from another process's end."""
        deadline = time.monotonic() + EXPLAIN_S
        known = type(error).__name__ in protocol.ERROR_KINDS
        while not known and time.monotonic() < deadline:
            self._wait_if_failed()
            time.sleep(0.05)
        message, kind = str(error) or type(error).__name__, type(error).__name__
        if self.rank == 0:
            self.fail(message, kind)
        else:
            with contextlib.suppress(OSError):
                self._links[0].send("error", message=message, type=kind)
            time.sleep(EXPLAIN_S)
        self._wait_if_failed()

    def close(self):
        """End together: the others wait until the first has written everything."""
        if self.rank == 0:
            self._over.set()
            for link in self._links:
                with contextlib.suppress(OSError):
                    link.send("end")
        else:
            self._busy = True
            while not self._over.wait(0.2):
                self._wait_if_failed()


def _pack(arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def _unpack(payload):
    with np.load(io.BytesIO(payload), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _split(joined):
    head, _, rest = joined.partition(b"\n")
    parts, begin = [], 0
    for size in json.loads(head.decode("ascii")):
        parts.append(rest[begin : begin + size])
        begin += size
    return parts

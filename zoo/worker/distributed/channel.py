"""Bring the processes of a training together: each of the others connects to the first, which says where it listens.

Nothing of the training itself goes this way but small figures: gradients are the business of the frameworks. Messages
are a line of JSON and, after it, bytes; whoever connects has to know the key of the run.
"""

import json
import os
import queue
import socket
import threading
import time
from multiprocessing import AuthenticationError, connection

from zoo.worker.errors import UserError
from zoo.worker.files import remove, save_json

POLL_S = 0.05
# Clocks that differ by more than this make logs of several machines hard to read.
CLOCK_S = 5.0


class Link:
    """The connection to another process.

    Attributes:
        rank: its number.
        host: the machine it runs on.
        values: what it sent for the main thread.
        acknowledged: counts what it confirmed.
        seen: when it sent something last.
        arrived: steps that it has begun.
        busy: whether it does what may take long.
    """

    def __init__(self, conn, rank, host, pid):
        self._connection, self._sending = conn, threading.Lock()
        self.rank, self.host, self.pid = rank, host, pid
        self.values, self.acknowledged = queue.Queue(), threading.Semaphore(0)
        self.seen, self.arrived, self.busy = time.monotonic(), 0, True

    def send(self, kind, payload=b"", **fields):
        """Send a message.

        Raises:
            OSError: the other process is gone.
        """
        with self._sending:
            self._connection.send_bytes(json.dumps(dict(fields, kind=kind)).encode("utf-8") + b"\n" + payload)

    def receive(self):
        """Wait for a message: its fields and its bytes.

        Raises:
            EOFError: the other process is gone.
        """
        head, _, payload = self._connection.recv_bytes().partition(b"\n")
        self.seen = time.monotonic()
        return json.loads(head.decode("utf-8")), payload


def meet(settings, folder, rank):
    """Wait until all processes of a run are connected.

    Args:
        settings: the part ``distributed`` of the request: ``processes``, ``id``, ``key``, ``host``, ``port`` and
            ``join_s``.
        folder: the run folder.
        rank: number of this process.

    Returns:
        (links, hosts): to all others, for the first process; to the first, for the others. And the names of all
        machines by number.

    Raises:
        UserError: who did not come, or why this process could not.
    """
    if rank == 0:
        return _gather(settings, folder)
    link, hosts = _connect(settings, folder, rank)
    return [link], hosts


def _gather(settings, folder):
    server, port = _listen(settings)
    wanted, links, problems = settings["processes"] - 1, {}, []
    host = settings["host"] or socket.gethostname()
    save_json(_path(folder, settings), {"host": host, "port": port})
    deadline = time.monotonic() + settings["join_s"]
    server.settimeout(POLL_S)
    while len(links) < wanted and time.monotonic() < deadline:
        try:
            stream = server.accept()[0]
        except socket.timeout:
            continue
        threading.Thread(target=_greet, args=(stream, settings, links, problems), daemon=True).start()
    server.close()
    if problems:
        raise UserError(problems[0])
    if len(links) < wanted:
        missing = [str(number) for number in range(1, wanted + 1) if number not in links]
        raise UserError(
            "%d of %d processes came to %s:%d within %g s; missing: %s. The logs worker_NUMBER.log in the run folder"
            " tell of each" % (len(links) + 1, wanted + 1, host, port, settings["join_s"], ", ".join(missing))
        )
    remove(_path(folder, settings))
    hosts = [host] + [links[number].host for number in sorted(links)]
    for link in links.values():
        link.send("welcome", hosts=hosts, pid=os.getpid())
    return [links[number] for number in sorted(links)], hosts


def _listen(settings):
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        # Whoever does not know the key is turned away.
        server.bind(("127.0.0.1" if settings["host"] == "127.0.0.1" else "", settings["port"] or 0))
    except OSError as error:
        raise UserError(
            "the port %d is taken on %s (%s): another program, or another training with the same distributed.port,"
            " uses it. Leave distributed.port out, and a free one is taken"
            % (settings["port"], socket.gethostname(), error.strerror)
        ) from error
    server.listen(settings["processes"])
    return server, server.getsockname()[1]


def _greet(stream, settings, links, problems):
    """Let a process that knows the key in; a stranger is turned away."""
    conn = _wrap(stream)
    try:
        connection.deliver_challenge(conn, settings["key"].encode("ascii"))
        connection.answer_challenge(conn, settings["key"].encode("ascii"))
        hello = json.loads(conn.recv_bytes(65536).decode("utf-8"))
    except (AuthenticationError, EOFError, OSError, ValueError):
        return
    ahead = hello["time"] - time.time()
    if hello["rank"] in links or not 0 < hello["rank"] < settings["processes"]:
        problems.append("two processes say that they are number %s of this training" % hello["rank"])
        return
    link = Link(conn, hello["rank"], hello["host"], hello["pid"])
    link.clock_s = ahead if abs(ahead) > CLOCK_S else 0.0
    links[link.rank] = link


def _connect(settings, folder, rank):
    deadline = time.monotonic() + settings["join_s"]
    while True:
        host, port = _address(settings, folder, deadline)  # each time: it may be from an attempt that failed
        try:
            stream = socket.create_connection((host, port), timeout=5.0)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise UserError(
                    "process %d on %s cannot reach the first one at %s:%d: %s"
                    % (rank, socket.gethostname(), host, port, error.strerror or error)
                ) from error
            time.sleep(POLL_S)
    stream.settimeout(None)
    conn = _wrap(stream)
    try:
        connection.answer_challenge(conn, settings["key"].encode("ascii"))
        connection.deliver_challenge(conn, settings["key"].encode("ascii"))
        about = {"rank": rank, "host": settings["host"] or socket.gethostname(), "pid": os.getpid()}
        conn.send_bytes(json.dumps(dict(about, time=time.time())).encode("utf-8"))
        link = Link(conn, 0, host, 0)
        welcome = link.receive()[0]
        link.pid = welcome["pid"]
        return link, welcome["hosts"]
    except AuthenticationError as error:
        raise UserError(
            "at %s:%d another training listens, with another key: two trainings use one address. Give each its own"
            " distributed.port, or none" % (host, port)
        ) from error
    except (EOFError, OSError, ValueError) as error:
        raise UserError("the first process, at %s:%d, ended before the training began" % (host, port)) from error


def _address(settings, folder, deadline):
    """Return where the first process listens, which it writes into the run folder."""
    path = _path(folder, settings)
    while time.monotonic() < deadline:
        try:
            with open(path, encoding="utf-8") as source:
                address = json.load(source)
            return address["host"], address["port"]
        except (OSError, ValueError):
            time.sleep(POLL_S)
    raise UserError(
        "on %s there is no %s after %g s: either the first process did not start, or this folder is not the one that"
        " the others share" % (socket.gethostname(), path, settings["join_s"])
    )


def _path(folder, settings):
    return os.path.join(folder, ".meeting-%s.json" % settings["id"])


def _wrap(stream):
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection.Connection(stream.detach())


def free_port():
    """Return a port that was free a moment ago; frameworks open it themselves."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]

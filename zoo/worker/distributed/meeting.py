"""Exchange the addresses of the processes of a training run through files in the run folder.

TensorFlow needs the addresses of all processes, PyTorch and JAX only the address of the first.
"""

import json
import os
import socket
import time

from zoo.worker.errors import UserError
from zoo.worker.files import remove, save_json

POLL_S = 0.05


def meet(settings, folder, rank):
    """Wait until all processes of a run have written their address into the run folder.

    Returns:
        A row for each process: ``host``, ``pid``, ``port`` and ``clock_s``, the seconds by which its clock is ahead
        of the first one's.
    """
    host = settings.host or socket.gethostname()
    about = {"host": host, "pid": os.getpid(), "port": _free_port(settings.port if rank == 0 else None)}
    paths = _paths(settings, folder)
    save_json(paths[rank], dict(about, time=time.time()))
    deadline = time.monotonic() + settings.join_s
    while True:
        result = set(os.listdir(folder))  # a network file system may cache that a single file was missing
        missing = [str(number) for number, path in enumerate(paths) if os.path.basename(path) not in result]
        if not missing:
            break
        if time.monotonic() > deadline:
            raise UserError(
                "only %d of %d processes started within %g s, as seen by process %d on %s; missing: %s. See"
                " worker_NUMBER.log in the run folder; all machines must share %s"
                % (len(paths) - len(missing), len(paths), settings.join_s, rank, host, ", ".join(missing), folder)
            )
        time.sleep(POLL_S)
    rows = [_read(path) for path in paths]
    return [dict(row, clock_s=row["clock_s"] - rows[0]["clock_s"]) for row in rows]


def _read(path):
    """Return the row in a file; ``clock_s`` is relative to the clock of the file system."""
    with open(path, encoding="utf-8") as source:
        row = json.load(source)
    return dict(row, clock_s=row["time"] - os.stat(path).st_mtime)


def leave(settings, folder):
    """Remove the files; all processes must have read them."""
    for path in _paths(settings, folder):
        remove(path)


def _paths(settings, folder):
    numbers = range(settings.processes)
    return [os.path.join(folder, ".meeting-%s-%d.json" % (settings.id, number)) for number in numbers]


def _free_port(wanted):
    """Return the requested port or, without one, a free port; the engine opens it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", wanted or 0))
        except OSError as error:
            raise UserError(
                "port %d is in use on %s (%s). Choose another port, or remove distributed.port to use any"
                " free port" % (wanted, socket.gethostname(), error.strerror)
            ) from error
        return probe.getsockname()[1]

"""Exchange the addresses of the processes of a training run through files in the run folder.

TensorFlow needs the addresses of all processes, PyTorch and JAX only the address of the first.
"""

import os
import socket
import time
from pathlib import Path

from zoo.worker.errors import UserError
from zoo.worker.files import save_bytes

POLL_S = 0.05


def meet(settings, folder, rank):
    """Write this process's address, ``host:port``, into the run folder; wait for all processes and return all."""
    host = settings.host or socket.gethostname()
    address = "%s:%d" % (host, _free_port(settings.port if rank == 0 else None))
    save_bytes(path(settings, folder, rank), address.encode("utf-8"))
    paths = [path(settings, folder, number) for number in range(settings.processes)]
    deadline = time.monotonic() + settings.join_s
    while True:
        present = set(os.listdir(folder))  # a network file system may cache that a single file was missing
        missing = [str(number) for number, each in enumerate(paths) if os.path.basename(each) not in present]
        if not missing:
            break
        if time.monotonic() > deadline:
            raise UserError(
                "only %d of %d processes started within %g s, as seen by process %d on %s; missing: %s. See"
                " worker_NUMBER.log in the run folder; all machines must share %s"
                % (len(paths) - len(missing), len(paths), settings.join_s, rank, host, ", ".join(missing), folder)
            )
        time.sleep(POLL_S)
    return [Path(each).read_text(encoding="utf-8") for each in paths]


def path(settings, folder, rank):
    return os.path.join(folder, ".meeting-%s-%d" % (settings.id, rank))


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

"""The worker: runs one request inside a stack's own interpreter, Python 3.6 or newer.

``python -I -B zoo/worker/__main__.py request.json``. Started by path, never installed, and it never imports the
host. Events go to standard output, everything else to standard error. Exit 0 after ``done``, 1 after ``error``.
"""

import importlib
import json
import os
import pkgutil
import platform
import runpy
import signal
import sys
import threading
import time
import traceback

BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap.py")
HOST_GRACE_S = 10.0


class Stop:
    """Set by Ctrl-C, by a limit or when the host is gone; looked at between steps."""

    def __init__(self):
        self.asked, self.reason = False, "interrupted"

    def __call__(self, _number, _frame):
        self.asked = True


def _watch_host(pipe, stop):
    """The host holds the other end of a pipe: when that closes, no matter how, the host is gone.

    A training then has some seconds to write a checkpoint; after them nothing keeps this process alive.
    """
    os.read(pipe, 1)
    stop.asked = True
    time.sleep(HOST_GRACE_S)
    sys.stderr.write("The host is gone; stopping at once.\n")
    sys.stderr.flush()
    os._exit(1)


def main(argv):
    """Run the request whose path is ``argv[1]`` and return the exit code."""
    runpy.run_path(BOOTSTRAP)
    from zoo import protocol
    from zoo.worker.errors import RefusalError
    from zoo.worker.events import Emitter, take_stdout

    events = Emitter(take_stdout())
    stop = Stop()
    signal.signal(signal.SIGINT, stop)
    pipe = os.environ.pop("ZOO_WATCH_HOST", None)
    if pipe:
        watching = threading.Thread(target=_watch_host, args=(int(pipe), stop))
        watching.daemon = True
        watching.start()
    try:
        with open(argv[1], encoding="utf-8") as source:
            request = json.load(source)
        problems = protocol.check_request(request)
        if problems:
            raise RefusalError("this request cannot be done: " + "; ".join(problems))
        _run(request, events, stop)
        return 0
    except BrokenPipeError:
        sys.stderr.write("The host is gone; stopping.\n")
        return 1
    except Exception as error:
        if not isinstance(error, (RefusalError, FloatingPointError)):
            traceback.print_exc()
        return _tell(events, error)


def _tell(events, error):
    try:
        events.emit("error", message=str(error) or type(error).__name__, type=type(error).__name__)
    except BrokenPipeError:
        sys.stderr.write("The host is gone; stopping.\n")
    return 1


def _run(request, events, stop):
    phases = {}
    began = time.monotonic()
    os.environ["ZOO_KERAS"] = request["stack"]["keras"]
    device = importlib.import_module("zoo.worker.devices." + request["device"]["framework"])
    device.start(request["device"])
    from zoo.worker import memory
    from zoo.worker.errors import RefusalError

    has_keras = request["stack"]["keras"] != "none"
    if not has_keras and request["verb"] not in ("probe", "bench"):
        raise RefusalError("this stack has no Keras: it can be compared for speed, and not train or infer")
    if has_keras:
        from zoo.models import compat
        from zoo.worker.probes import run

    phases["import_s"] = time.monotonic() - began
    found = device.proof(request["device"])
    versions = dict(device.versions(), python=platform.python_version())
    began = time.monotonic()
    rows = []
    if has_keras:
        versions["keras"] = compat.version()
        rows = run.run(request, device.place, found["kind"])
    phases["probes_s"] = time.monotonic() - began
    events.emit("start", versions=versions, device=found, python=platform.python_version(), probes=rows)
    if request["device"]["promise"] == "gpu" and found["kind"] != "gpu":
        raise RefusalError(
            "the backend %r promises a GPU, but %s ran on %s"
            % (request["device"]["backend"], found["proof"], found["name"])
        )
    if has_keras:
        run.judge(rows, request["device"], events)
    result = {}
    if request["verb"] != "probe":
        job = _job(request["job"])
        if request.get("tensorboard"):
            from zoo.worker.tensorboard import Scribe

            events = Scribe(events, request["device"]["framework"], request["run_dir"])
        result = job.run(request, events, stop, phases)
        if request.get("tensorboard"):
            events.close()
    events.emit("done", phases=phases, peak_memory_bytes=memory.peak_bytes(), **result)


def _job(name):
    """Find the module of a job, which is in ``zoo/worker/jobs`` and nowhere else."""
    from zoo.worker import jobs
    from zoo.worker.errors import RefusalError

    known = sorted(module.name for module in pkgutil.iter_modules(jobs.__path__))
    if name not in known:
        raise RefusalError("there is no job %r; known are %s" % (name, ", ".join(known)))
    return importlib.import_module("zoo.worker.jobs." + name)


def leave(code):
    """End at once: frameworks take most of a second to tidy up what ends with the process anyway."""
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main(sys.argv))

"""Run one request in the interpreter of a stack, Python 3.6 or newer.

``python -I zoo/worker/__main__.py request.json``. The worker is never installed and does not import the host.
Events go to standard output, everything else to standard error. The exit code is 0 after ``done``, 1 after ``error``.

A job is a module of ``zoo/worker/jobs`` with ``run(request, events, stop, phases)``, which returns the fields of the
``done`` event. It reports to ``events``, adds the seconds of each phase to ``phases``, and checks ``stop`` between
steps. It raises FloatingPointError if the loss is not finite.
"""

import contextlib
import gc
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
    """A flag that is set by Ctrl-C, by a limit or when the host ends; jobs check it between steps."""

    def __init__(self):
        self.asked, self.reason = False, "interrupted"

    def __call__(self, _number, _frame):
        self.asked = True


def _watch_host(pipe, stop):
    """Stop when the other end of a pipe closes, which always happens when the host ends.

    Training then has HOST_GRACE_S seconds to write a checkpoint, before this process is killed.
    """
    os.read(pipe, 1)
    stop.asked = True
    time.sleep(HOST_GRACE_S)
    sys.stderr.write("The host has ended; stopping immediately.\n")
    sys.stderr.flush()
    os._exit(1)


def main(argv):
    """Run the request whose path is ``argv[1]`` and return the exit code."""
    runpy.run_path(BOOTSTRAP)
    from zoo.protocol import variables
    from zoo.worker.errors import UserError
    from zoo.worker.events import Emitter, take_stdout

    rank = int(os.environ.pop(variables.RANK, "0"))
    if rank:
        _log_apart(argv[1], rank)
    events, stop = Emitter(take_stdout(), errors_only=rank > 0), Stop()
    _heed_signals(stop)
    try:
        _run(_read(argv[1]), rank, events, stop)
        return 0
    except BrokenPipeError:
        sys.stderr.write("The host has ended; stopping.\n")
    except Exception as error:
        _report(events, error)  # before the traceback, because the disk of the log may be full
        if not isinstance(error, (UserError, FloatingPointError)):
            traceback.print_exc()
    return 1


def _log_apart(request, rank):
    """Send standard error to a separate log in all processes except the first, if possible."""
    path = os.path.join(os.path.dirname(request), "worker_%d.log" % rank)
    try:
        log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        sys.stderr.write("Process %d cannot write %s: %s\n" % (rank, path, error.strerror))
        return
    os.dup2(log, 2)
    os.close(log)


def _heed_signals(stop):
    from zoo.protocol.variables import WATCH_HOST

    signal.signal(signal.SIGINT, stop)
    pipe = os.environ.pop(WATCH_HOST, None)
    if pipe:
        watching = threading.Thread(target=_watch_host, args=(int(pipe), stop))
        watching.daemon = True
        watching.start()


def _read(path):
    from zoo.protocol.request import ProtocolError, Request
    from zoo.worker.errors import UserError

    try:
        with open(path, encoding="utf-8") as source:
            return Request.of(json.load(source))
    except ProtocolError as error:
        raise UserError("invalid request: %s" % error) from error


def _report(events, error):
    from zoo.worker import distributed

    group = distributed.current()
    if group.size > 1:
        group.explain(error)  # ends this process
    try:
        events.emit("error", message=str(error) or type(error).__name__, type=type(error).__name__)
    except BrokenPipeError:
        sys.stderr.write("The host has ended; stopping.\n")


def _run(request, rank, events, stop):
    phases = {}
    if request.generate or (request.serve and request.serve.kind == "writer"):
        # Computing a token takes less time than waking a thread. OpenBLAS reads this when NumPy is imported.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a value set by the user is kept
    group = _join(request, rank, events, stop)
    _open(request, events, phases, group)
    if group:
        stop = group.stop
    result = _do(request, events, stop, phases) if request.job else {"metrics": {}}
    from zoo.protocol import memory

    if group:
        peaks = group.gather_values(memory.peak_bytes())
        result["processes"] = {"peak_memory_bytes": peaks, "bytes_per_step": group.bytes_per_step}
    events.emit("done", phases=phases, peak_memory_bytes=memory.peak_bytes(), **result)
    if group:
        group.close()


def _join(request, rank, events, stop):
    """Join the process group of a training run; return None for a single process."""
    if not request.distributed:
        return None
    from zoo.worker.distributed.group import join

    group = join(request, rank, stop, lambda message, kind: events.emit("error", message=message, type=kind))
    # Schedulers send this signal some seconds before they reclaim the machine.
    signal.signal(signal.SIGTERM, stop)
    return group


def _open(request, events, phases, group=None):
    """Start the framework, prove and probe its device, and report the results in a ``start`` event."""
    from zoo.protocol.variables import KERAS
    from zoo.worker import devices
    from zoo.worker.phases import timed

    os.environ[KERAS] = request.stack.keras
    with timed(phases, "import_s"), _no_garbage_collection():
        device = devices.load(request.device.framework)
        device.start(request.device)
        if group:
            group.start(request.run_dir)
        has_keras = _import_keras(request)
    proof = device.proof(request.device)
    versions = dict(devices.versions(request.device.framework), python=platform.python_version())
    rows = []
    with timed(phases, "probes_s"):
        if has_keras:
            from zoo.models import compat
            from zoo.worker.probes import run

            versions["keras"], rows = compat.version(), run.run(request, device.place, proof.device_kind)
    names = devices.capabilities(request.device.framework)["variables"]
    variables = {name: os.environ[name] for name in names if name in os.environ}
    more = _prove_together(group, versions, proof) if group else {}
    events.emit(
        "start", versions=versions, device=proof, python=platform.python_version(), probes=rows, variables=variables,
        **more
    )  # fmt: skip
    wanted = request.device
    if wanted.device_kind == "gpu" and proof.device_kind != "gpu":
        from zoo.worker.errors import UserError

        raise UserError("the backend %r promises a GPU, but %s ran on %s" % (wanted.backend, proof.proof, proof.name))
    if has_keras:
        run.enforce(rows, request.device, events)
    if group:
        for words in group.clocks():
            events.emit("warning", message=words)
        group.prepare_keras()


@contextlib.contextmanager
def _no_garbage_collection():
    """Disable garbage collection, which takes a quarter of the time of importing TensorFlow or PyTorch."""
    gc.disable()
    try:
        yield
    finally:
        freeze = getattr(gc, "freeze", None)  # since Python 3.7
        if freeze is not None:
            freeze()
        gc.enable()


def _prove_together(group, versions, proof):
    """Return the devices of all processes; raise UserError if their versions differ."""
    from zoo.worker.errors import UserError

    about = {"device": proof.to_json(), "versions": versions, "threads": group.settings.threads}
    rows = group.gather_values(dict(about, **group.about))
    for rank, row in enumerate(rows):
        if row["versions"] != rows[0]["versions"]:
            why = "process %d on %s has versions %s, but the first one on %s has %s: build the same environment there"
            raise UserError(why % (rank, row["host"], row["versions"], rows[0]["host"], rows[0]["versions"]))
    return {"processes": {"engine": group.engine.describe, "all": rows}}


def _import_keras(request):
    """Import the stack's Keras; return whether it has one. A stack without Keras can only run benchmarks."""
    if request.stack.keras != "none":
        importlib.import_module("zoo.worker.probes.run")
        return True
    from zoo.worker.errors import UserError

    if request.job and request.verb != "bench":
        raise UserError("this stack has no Keras: it can run benchmarks, but not train or infer")
    return False


def _do(request, events, stop, phases):
    from zoo.worker import jobs
    from zoo.worker.errors import UserError

    known = sorted(module.name for module in pkgutil.iter_modules(jobs.__path__))
    if request.job not in known:
        raise UserError("unknown job %r; available jobs: %s" % (request.job, ", ".join(known)))
    job = importlib.import_module("zoo.worker.jobs." + request.job)
    if request.calibration:
        from zoo.worker.training import calibration

        return calibration.run(job, request, events, stop)
    return job.run(request, events, stop, phases)


def leave(code):
    """Exit immediately, because the usual cleanup of frameworks takes most of a second."""
    # TensorFlow writes sources to the temporary folder, and removes them only at a normal exit.
    for name, module in list(sys.modules.items()):
        if name.startswith("__autograph_generated_file"):
            with contextlib.suppress(OSError):  # it may be gone already
                os.remove(module.__file__)
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main(sys.argv))

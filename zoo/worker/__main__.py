"""The worker: runs one request inside a stack's own interpreter, Python 3.6 or newer.

``python -I zoo/worker/__main__.py request.json``. Started by path, never installed, it does not import the host.
Events go to standard output, everything else to standard error. Exit 0 after ``done``, 1 after ``error``.

A job is a module of ``zoo/worker/jobs`` with ``run(request, events, stop, phases)``, which returns the fields of the
``done`` event. It reports to ``events``, adds seconds to ``phases`` by name, and checks ``stop`` between steps. It
raises FloatingPointError if the loss is no longer a number.
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
    """Set by Ctrl-C, by a limit or when the host has ended; checked between steps."""

    def __init__(self):
        self.asked, self.reason = False, "interrupted"

    def __call__(self, _number, _frame):
        self.asked = True


def _watch_host(pipe, stop):
    """Stop when the host closes the other end of a pipe, which happens however the host ends.

    Training then has some seconds to write a checkpoint; after that, this process is killed.
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
        sys.stderr.write("The host is gone; stopping.\n")
        return 1
    except Exception as error:
        code = _report(events, error)  # before the log, whose disk may be full
        if not isinstance(error, (UserError, FloatingPointError)):
            traceback.print_exc()
        return code


def _log_apart(request, rank):
    """Write a separate log in all processes of a training run except the first, if possible."""
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
        raise UserError("this request cannot be done: %s" % error) from error


def _report(events, error):
    from zoo.worker import distributed

    group = distributed.current()
    if group.size > 1:
        group.explain(error)  # ends this process
    try:
        events.emit("error", message=str(error) or type(error).__name__, type=type(error).__name__)
    except BrokenPipeError:
        sys.stderr.write("The host is gone; stopping.\n")
    return 1


def _run(request, rank, events, stop):
    phases = {}
    _limit_threads(request)
    group = _join(request, rank, events, stop)
    _open(request, events, phases, group)
    if group:
        stop = group.stop
    result = _do(request, events, stop, phases) if request.job else {"metrics": {}}
    from zoo.worker import memory

    if group:
        peaks = group.gather_values(memory.peak_bytes())
        result["processes"] = {"peak_memory_bytes": peaks, "bytes_per_step": group.bytes_per_step}
    events.emit("done", phases=phases, peak_memory_bytes=memory.peak_bytes(), **result)
    if group:
        group.close()


def _limit_threads(request):
    """Generate text in one thread of NumPy, because one token's product takes less time than waking a thread.

    NumPy's OpenBLAS reads the variable when it is imported; a user's own value is kept.
    """
    if request.generate or (request.serve and request.serve.kind == "writer"):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _join(request, rank, events, stop):
    """Meet the other processes of a training run; return None if there are none."""
    from zoo.worker import distributed

    group = distributed.join(request, rank, stop)
    if group:
        group.report = lambda message, kind: events.emit("error", message=message, type=kind)
        # A scheduler that reclaims the machine sends this, and leaves some seconds for a checkpoint.
        signal.signal(signal.SIGTERM, stop)
    return group


def _open(request, events, phases, group=None):
    """Start the framework on its device, prove and probe it, and report that in a ``start`` event."""
    began = time.monotonic()
    from zoo.protocol.variables import KERAS

    os.environ[KERAS] = request.stack.keras
    with _no_garbage_collection():
        device = importlib.import_module("zoo.worker.devices." + request.device.framework)
        device.start(request.device)
        if group:
            group.start(request.device, request.run_dir)
        has_keras = _import_keras(request)
    phases["import_s"] = time.monotonic() - began
    proof = device.proof(request.device)
    versions = dict(device.versions(), python=platform.python_version())
    began, rows = time.monotonic(), []
    if has_keras:
        from zoo.models import compat
        from zoo.worker.probes import run

        versions["keras"], rows = compat.version(), run.run(request, device.place, proof.device_kind)
    phases["probes_s"] = time.monotonic() - began
    from zoo.worker import devices

    names = devices.capabilities(request.device.framework)["variables"]
    variables = {name: os.environ[name] for name in names if name in os.environ}
    more = _prove_together(group, versions, proof) if group else {}
    events.emit(
        "start", versions=versions, device=proof, python=platform.python_version(), probes=rows, variables=variables,
        **more
    )  # fmt: skip
    _refuse_another_device(request.device, proof)
    if has_keras:
        run.enforce(rows, request.device, events)
    if group:
        for words in group.clocks():
            events.emit("warning", message=words)
        group.prepare_keras()


@contextlib.contextmanager
def _no_garbage_collection():
    """Import frameworks without garbage collection, which would repeatedly scan objects that are never freed.

    Imports of TensorFlow 2.21 and PyTorch with Keras took 1.4 and 1.6 s with garbage collection, 1.1 and 1.2 without.
    """
    gc.disable()
    try:
        yield
    finally:
        freeze = getattr(gc, "freeze", None)  # since Python 3.7
        if freeze is not None:
            freeze()
        gc.enable()


def _prove_together(group, versions, proof):
    """Return the device of every process; all must have the same versions."""
    from zoo.worker.errors import UserError

    about = {"host": group.hosts[group.rank], "process": os.getpid(), "device": proof.to_json(), "versions": versions}
    rows = group.gather_values(dict(about, threads=group.settings.threads))
    for rank, row in enumerate(rows):
        if row["versions"] != rows[0]["versions"]:
            raise UserError(
                "process %d on %s has other versions, %s, than the first on %s, %s: build the same environment there"
                % (rank, row["host"], row["versions"], rows[0]["host"], rows[0]["versions"])
            )
    return {"processes": {"engine": group.engine.describe, "all": rows}}


def _import_keras(request):
    """Import the stack's Keras, if any; a stack without Keras can only be compared for speed."""
    if request.stack.keras != "none":
        importlib.import_module("zoo.worker.probes.run")
        return True
    from zoo.worker.errors import UserError

    if request.job and request.verb != "bench":
        raise UserError("this stack has no Keras: it can be compared for speed, and not train or infer")
    return False


def _refuse_another_device(device, proof):
    from zoo.worker.errors import UserError

    if device.device_kind == "gpu" and proof.device_kind != "gpu":
        raise UserError("the backend %r promises a GPU, but %s ran on %s" % (device.backend, proof.proof, proof.name))


def _do(request, events, stop, phases):
    from zoo.worker import jobs
    from zoo.worker.errors import UserError

    known = sorted(module.name for module in pkgutil.iter_modules(jobs.__path__))
    if request.job not in known:
        raise UserError("there is no job %r; known are %s" % (request.job, ", ".join(known)))
    job = importlib.import_module("zoo.worker.jobs." + request.job)
    if request.calibration:
        from zoo.worker.training import calibration

        return calibration.run(job, request, events, stop)
    return job.run(request, events, stop, phases)


def leave(code):
    """Exit immediately, because the usual cleanup of frameworks takes most of a second."""
    # TensorFlow removes the sources that it writes to the temporary folder only at a normal exit.
    for name, module in list(sys.modules.items()):
        if name.startswith("__autograph_generated_file"):
            with contextlib.suppress(OSError):  # it may be gone already
                os.remove(module.__file__)
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    leave(main(sys.argv))

"""Keep a network ready in several precisions and modes, and time each when the host says that it is its turn.

The host writes a line ``{"case": 0, "seconds": 0.5}`` to standard input for every turn and is answered by a ``batch``
event with the seconds of each call; it ends its writing when there are no more turns. Other stacks take theirs in
between, so that what slows the machine down for a while slows all of them.
"""

import time

from zoo.worker import memory
from zoo.worker.benchmarks import network_case
from zoo.worker.errors import describe
from zoo.worker.input_queue import iter_commands
from zoo.worker.jobs import bench_networks

LEAST = 1
# For so long the threads of a library may go on spinning when it has nothing to do any more.
WARM_S = 0.2


def run(request, events, stop, phases):
    """Prepare every case, report them in a ``ready`` event, and take turns."""
    settings, framework = request.bench, request.device.framework
    began = time.monotonic()
    peak = bench_networks.peak_gflop_per_s(framework)
    phases["peak_s"] = time.monotonic() - began
    prepared = [
        _prepared(request.bench.network, mode, precision, settings.batch_size, framework)
        for precision in settings.precisions
        for mode in settings.modes
    ]
    events.emit("ready", rows=[row for row, _ in prepared], peak_gflop_per_s=peak)
    began = time.monotonic()
    for asked in iter_commands(stop):
        _, call = prepared[asked["case"]]
        taken, error = _turn(call, asked["seconds"])
        events.emit("batch", case=asked["case"], taken_s=taken, error=error, peak_memory_bytes=memory.peak_bytes())
    phases["run_s"] = time.monotonic() - began
    return {"metrics": {"cases": len(prepared), "peak_gflop_per_s": peak}}


def _prepared(network, mode, precision, batch, framework):
    """What is known of a case before it is timed, and the call; None instead, and an error, where it cannot be."""
    row = {"mode": mode, "precision": precision}
    began = time.monotonic()
    try:
        case = network_case.NetworkCase(network, framework, precision)
        call = case.call(mode, batch)
        row["gflop_per_item"], row["build_s"] = case.gflop_per_item, time.monotonic() - began
        began = time.monotonic()
        call()
        row["compile_s"] = time.monotonic() - began
        if mode == "inference":
            row.update(case.check(batch))
        call()
    except Exception as error:  # what one case cannot do stands in its row, and the others go on
        return dict(row, error=describe(error)), None
    return row, call


def _turn(call, seconds):
    """Call until the time is over; the first moments, beside threads that spin on elsewhere, do not count."""
    taken = []
    try:
        call()
        began = time.perf_counter()
        while time.perf_counter() - began < min(WARM_S, seconds):
            call()
        began = time.perf_counter()
        while len(taken) < LEAST or time.perf_counter() - began < seconds:
            at = time.perf_counter()
            call()
            taken.append(time.perf_counter() - at)
    except Exception as error:
        return taken, describe(error)
    return taken, None

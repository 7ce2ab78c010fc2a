"""Keep a network ready in several precisions and modes, and time each when the host requests it.

The host writes a line ``{"case": 0, "seconds": 0.5}`` to standard input for every turn and gets a ``batch`` event
with the seconds of each call. It closes standard input when there are no more turns. Other stacks take turns in
between, so that a temporary slowdown of the machine affects all of them.
"""

import time

from zoo.protocol import memory
from zoo.worker.benchmarks import network_case
from zoo.worker.errors import describe
from zoo.worker.input_queue import iter_commands
from zoo.worker.jobs import bench_networks
from zoo.worker.phases import timed

# Time for which idle threads of a library may continue to spin.
WARM_S = 0.2


def run(request, events, stop, phases):
    """Prepare every case, report them in a ``ready`` event, and take turns."""
    settings, framework = request.bench, request.device.framework
    with timed(phases, "peak_s"):
        peak = bench_networks.peak_gflop_per_s(framework)
    prepared = [
        _prepared(request.bench.network, mode, precision, settings.batch_size, framework)
        for precision in settings.precisions
        for mode in settings.modes
    ]
    events.emit("ready", rows=[row for row, _ in prepared], peak_gflop_per_s=peak)
    with timed(phases, "run_s"):
        for asked in iter_commands(stop):
            case = asked["case"]
            taken, error = _turn(prepared[case][1], asked["seconds"])
            events.emit("batch", case=case, taken_s=taken, error=error, peak_memory_bytes=memory.peak_bytes())
    return {"metrics": {"cases": len(prepared), "peak_gflop_per_s": peak}}


def _prepared(network, mode, precision, batch, framework):
    """Return the row of a case, and the call to time; for a failed case, the row has the error."""
    row = {"mode": mode, "precision": precision}
    try:
        with timed(row, "build_s"):
            case = network_case.NetworkCase(network, framework, precision)
            call = case.call(mode, batch)
        row["gflop_per_item"] = case.gflop_per_item
        with timed(row, "compile_s"):
            call()
        if mode == "inference":
            row.update(case.check(batch))
        call()
    except Exception as error:  # reported in the row of the case; the rest continue
        return dict(row, error=describe(error)), None
    return row, call


def _turn(call, seconds):
    """Time the call repeatedly, after a warm-up, because threads of other stacks may still spin."""
    taken = []
    try:
        call()
        began = time.perf_counter()
        while time.perf_counter() - began < min(WARM_S, seconds):
            call()
        began = time.perf_counter()
        while not taken or time.perf_counter() - began < seconds:
            at = time.perf_counter()
            call()
            taken.append(time.perf_counter() - at)
    except Exception as error:
        return taken, describe(error)
    return taken, None

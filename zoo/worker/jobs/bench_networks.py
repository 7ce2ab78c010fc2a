"""Time networks like plaidbench: compilation, warm-up and running separately, with known outputs checked.

The weights of each network are drawn from a seed. Inference and training are timed batch by batch; every call
returns numbers on the host, so the device is done when the clock is read. The work is compared with the fastest
matrix product of the same run.
"""

import importlib
import itertools

import numpy as np

from zoo.protocol import memory
from zoo.worker.benchmarks import network_case, timing
from zoo.worker.benchmarks.results import save_rows
from zoo.worker.errors import describe
from zoo.worker.jobs import bench_operations
from zoo.worker.phases import timed

# Passes over a network; training adds two backward passes, for inputs and for weights.
PASSES = {"inference": 1, "training": 3}
PEAK_SIZES = (512, 1024, 2048)
PEAK_ROUNDS = 5


def run(request, events, stop, phases):
    """Write ``rows.json``: one row per network, mode and batch size; a failed one is a row too."""
    settings = request.bench
    with timed(phases, "peak_s"):
        peak = peak_gflop_per_s(request.device.framework)
    rows, todo = [], list(itertools.product(settings.networks, settings.modes, settings.batch_sizes))
    with timed(phases, "run_s"):
        for done, (network, mode, batch) in enumerate(todo):
            events.step(step=done, steps=len(todo))
            rows.append(_row(network, mode, batch, settings, request.device.framework, stop))
            if stop.asked:
                break
    if peak and not stop.asked:  # the machine may have been slow at first
        peak = max(peak, peak_gflop_per_s(request.device.framework))
    for row in rows:
        row["share_of_peak"] = row["gflop_per_s"] / peak if peak and "gflop_per_s" in row else None
    return {"metrics": dict(save_rows(request, rows, events), peak_gflop_per_s=peak)}


def peak_gflop_per_s(framework):
    """Return the highest speed of products of square matrices, or None if the framework has none."""
    try:
        module = importlib.import_module("zoo.worker.devices.kernels." + framework)
    except ImportError:  # OpenVINO has no single operations: shares of the peak are left out
        return None
    place, best = module.places()[-1][0], 0.0
    for size in PEAK_SIZES:
        call, _ = module.prepare("product", bench_operations.operands("square", size), place)
        best = max(best, bench_operations.flops("square", size) / min(timing.rounds(call, PEAK_ROUNDS)) / 1e9)
    return best


def _row(network, mode, batch, settings, framework, stop):
    """Return the metrics of one row; the network is built again, so that compilation is timed each time."""
    row = {"network": network.name, "mode": mode, "batch_size": batch}
    try:
        with timed(row, "build_s"):
            case = network_case.NetworkCase(network, framework)
            call = case.call(mode, batch)
        row["gflop_per_item"] = case.gflop_per_item
        with timed(row, "compile_s"):
            call()
        with timed(row, "warm_s"):
            timing.rounds(call, settings.warm)
        taken = timing.rounds(call, settings.count, most_s=settings.max_s, stop=stop)
        row.update(timing.spread(taken), p95_ms=float(np.percentile(taken, 95) * 1e3))
        row["items_per_s"] = batch / row["median_ms"] * 1e3
        row["gflop_per_s"] = row["items_per_s"] * row["gflop_per_item"] * PASSES[mode]
        row["peak_memory_bytes"] = memory.peak_bytes()
        if mode == "inference":
            row.update(case.check(batch))
    except Exception as error:  # reported in the row of the network; the rest continue
        row["error"] = describe(error)
    return row

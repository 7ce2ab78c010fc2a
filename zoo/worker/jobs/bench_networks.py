"""Networks timed as plaidbench does: compiling, warming up and running apart, with a known answer to every question.

Each network is filled with weights drawn from a seed. Inference and training are timed batch by batch; every call
comes back with numbers on the host, so the device is done when the clock is read. The work is held against the
fastest matrix product of the same run.
"""

import importlib
import json
import os
import time

import numpy as np

from zoo.worker import memory
from zoo.worker.benchmarks import network_case, timing
from zoo.worker.jobs import bench_operations

# Training goes through a network forwards and backwards, the latter for inputs and for weights.
PASSES = {"inference": 1, "training": 3}
PEAK_SIZES = (512, 1024, 2048)
PEAK_ROUNDS = 5


def run(request, events, stop, phases):
    """Write ``rows.json``: one row a network, mode and batch size; what could not be done is a row too."""
    settings = request["bench"]
    began = time.monotonic()
    peak = peak_gflop_per_s(request["device"]["framework"])
    phases["peak_s"] = time.monotonic() - began
    began, rows = time.monotonic(), []
    for done, network in enumerate(settings["networks"]):
        events.step(step=done, steps=len(settings["networks"]))
        rows += _rows(network, settings, peak, stop, request["device"]["framework"])
        if stop.asked:
            break
    phases["run_s"] = time.monotonic() - began
    path = os.path.join(request["run_dir"], "rows.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(rows, out)
    events.emit("artifact", kind="rows", path=path)
    failed = sum(bool(row.get("error")) for row in rows)
    return {"metrics": {"rows": len(rows), "failed": failed, "peak_gflop_per_s": peak}}


def peak_gflop_per_s(framework):
    """The most that a product of square matrices reaches where the framework computes; None where it has none."""
    try:
        module = importlib.import_module("zoo.worker.devices.kernels." + framework)
    except ImportError:  # OpenVINO has no single operations: shares of the peak are then left out
        return None
    place, best = module.places()[-1][0], 0.0
    for size in PEAK_SIZES:
        call, _ = module.prepare("product", bench_operations.operands("square", size), place)
        best = max(best, bench_operations.flops("square", size) / min(timing.rounds(call, PEAK_ROUNDS)) / 1e9)
    return best


def _rows(network, settings, peak, stop, framework):
    """The rows of one network."""
    rows = []
    for mode in settings["modes"]:
        for batch in settings["batch_sizes"]:
            row = {"network": network["name"], "mode": mode, "batch_size": batch}
            try:
                row.update(_timed(network, mode, batch, settings, peak, stop, framework))
            except Exception as error:  # what one network cannot do is told in its row, and the others go on
                row["error"] = ("%s: %s" % (type(error).__name__, error))[:300]
            rows.append(row)
            if stop.asked:
                return rows
    return rows


def _timed(network, mode, batch, settings, peak, stop, framework):
    """The figures of one row; the network is built anew, so that compiling is timed each time."""
    began = time.monotonic()
    subject = network_case.Subject(network, framework)
    call = subject.call(mode, batch)
    row = {"build_s": time.monotonic() - began, "gflop_per_item": subject.gflop_per_item}
    began = time.monotonic()
    call()
    row["compile_s"] = time.monotonic() - began
    began = time.monotonic()
    timing.rounds(call, settings["warm"])
    row["warm_s"] = time.monotonic() - began
    taken = timing.rounds(call, settings["count"], most_s=settings["max_s"], stop=stop)
    row.update(timing.spread(taken), p95_ms=float(np.percentile(taken, 95) * 1e3))
    row["items_per_s"] = batch / row["median_ms"] * 1e3
    row["gflop_per_s"] = row["items_per_s"] * row["gflop_per_item"] * PASSES[mode]
    row["share_of_peak"] = row["gflop_per_s"] / peak if peak else None
    row["peak_memory_bytes"] = memory.peak_bytes()
    if mode == "inference":
        row.update(subject.judge(batch))
    return row

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

from zoo.models import compat
from zoo.worker import flops, golden, matmul, memory, timing
from zoo.worker.model import build
from zoo.worker.refusal import RefusalError

SEED = 1
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
        rows += _rows(network, settings, peak, stop)
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
        module = importlib.import_module("zoo.worker.kernels." + framework)
    except ImportError:  # OpenVINO has no single operations: shares of the peak are then left out
        return None
    place, best = module.places()[-1][0], 0.0
    for size in PEAK_SIZES:
        call, _ = module.prepare("product", matmul.operands("square", size), place)
        best = max(best, matmul.flops("square", size) / min(timing.rounds(call, PEAK_ROUNDS)) / 1e9)
    return best


def _rows(network, settings, peak, stop):
    """The rows of one network."""
    rows = []
    for mode in settings["modes"]:
        for batch in settings["batch_sizes"]:
            row = {"network": network["name"], "mode": mode, "batch_size": batch}
            try:
                row.update(_timed(network, mode, batch, settings, peak, stop))
            except Exception as error:  # what one network cannot do is told in its row, and the others go on
                row["error"] = ("%s: %s" % (type(error).__name__, error))[:300]
            rows.append(row)
            if stop.asked:
                return rows
    return rows


def _timed(network, mode, batch, settings, peak, stop):
    """The figures of one row; the network is built anew, so that compiling is timed each time."""
    began = time.monotonic()
    model, preprocess = build({"model": network})
    answers = network.get("golden") or {}
    gain = answers.get("gain", 1)
    model.set_weights(golden.draw_weights(compat.named_weights(model), SEED, gain))
    row = {"build_s": time.monotonic() - began, "gflop_per_item": flops.per_item(model) / 1e9}
    shape = compat.static_shape(model.inputs[0])[1:]
    x = preprocess(_pictures(shape, max(batch, answers.get("count", 1))))
    call = _call(model, mode, x[:batch])
    began = time.monotonic()
    call()
    row["compile_s"] = time.monotonic() - began
    began = time.monotonic()
    timing.rounds(call, settings["warm"])
    row["warm_s"] = time.monotonic() - began
    taken = timing.rounds(call, settings["count"], most_s=settings["most_s"], stop=stop)
    row.update(timing.spread(taken), p95_ms=float(np.percentile(taken, 95) * 1e3))
    row["items_per_s"] = batch / row["median_ms"] * 1e3
    # Training goes through the network forwards and backwards, the latter for inputs and for weights.
    row["gflop_per_s"] = row["items_per_s"] * row["gflop_per_item"] * (3 if mode == "training" else 1)
    row["share_of_peak"] = row["gflop_per_s"] / peak if peak else None
    row["peak_memory_bytes"] = memory.peak_bytes()
    if mode == "inference" and answers:
        row["largest_error"] = golden.largest_error(answers, _said(model, x, batch))
        row["correct"] = row["largest_error"] <= golden.TOLERANCE
    return row


def _said(model, x, batch):
    """Probabilities of all pictures, in batches of the size that was timed; (pictures, classes)."""
    parts = [x[at : at + batch] for at in range(0, len(x), batch)]
    whole = [np.concatenate([part, x[: batch - len(part)]]) for part in parts]
    return np.concatenate([compat.predict(model, part) for part in whole])[: len(x)]


def _pictures(shape, count):
    """Pictures as the network takes them: (count, height, width, channels) uint8."""
    return np.ascontiguousarray(golden.draw_pictures(SEED, count, shape[0])[..., : shape[2]])


def _call(model, mode, x):
    """One batch through the network.

    Raises:
        RefusalError: this Keras cannot train.
    """
    if mode == "inference":
        return lambda: compat.predict(model, x)
    if compat.backend_name() == "openvino":
        raise RefusalError("OpenVINO cannot train")
    compat.compile_classifier(model, "sgd", 1e-6, False)
    classes = compat.static_shape(model.outputs[0])[-1]
    y = np.eye(classes, dtype=np.float32)[np.arange(len(x)) % classes]
    means = compat.RunningMeans(model)
    return lambda: means.train(x, y)

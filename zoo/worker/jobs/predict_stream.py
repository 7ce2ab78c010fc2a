"""Run a classifier on images that the host decodes at the same time, in constant memory.

Pixels and probabilities are in two files that both sides map, each of a few slots for a batch. The host writes a line
``{"slot": 0, "count": 32}`` to standard input for every filled slot, and closes it after the last. The worker answers
each with a ``batch`` event; then the host may fill the slot again.
"""

import time

import numpy as np

from zoo.worker import devices, precision
from zoo.worker.inference import features, lower_precision, predictors
from zoo.worker.inference.outputs import finite
from zoo.worker.input_queue import iter_commands
from zoo.worker.model import build_trained
from zoo.worker.phases import timed


def run(request, events, stop, phases):
    """Answer every slot; the ``done`` event contains the network's own speed. A stop finishes the current slot.

    The request's ``stream`` part has the settings. With a ``features`` part, the output of a layer is written to a
    file instead of probabilities.
    """
    asked, shape = request.stream, tuple(request.stream.shape)
    pixels = np.memmap(asked.pixels, np.uint8, "r", shape=shape)
    began = time.monotonic()
    predict = _predictor(request, shape[1:], phases)
    answer = predict.warm_up(np.zeros(shape[1:], np.uint8))
    if request.features:
        out = features.FeatureFile(request.features.path, answer.shape[1:])
    else:
        answers = np.memmap(asked.probabilities, np.float32, "r+", shape=(*asked.shape[:2], asked.classes))
    phases["compile_s"] = time.monotonic() - began - phases["build_s"]
    for note in request.model.notes or ():
        events.emit("warning", message=note)
    events.emit("ready")
    seconds, done = [], 0
    for filled in iter_commands(stop):
        slot, count = filled["slot"], filled["count"]
        began = time.monotonic()
        rows = predict(pixels[slot], count)
        if request.features:
            out.add(rows)
        else:
            answers[slot, : len(rows)] = finite(rows)
        seconds.append(time.monotonic() - began)
        done += count
        events.emit("batch", slot=slot, count=count)
        if asked.items:
            events.step(step=done, steps=asked.items, unit="images")
    phases["infer_s"] = sum(seconds)
    metrics = dict(_speed(seconds, done), **predict.described(), batch_size=shape[1])
    result = {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}
    return dict(result, features=features.described(request, out)) if request.features else result


def _predictor(request, shape, phases):
    """Return the function that answers a batch, called with its pixels and the number of valid images."""
    wanted = request.stream.precision
    with timed(phases, "build_s"):
        if wanted != "auto":
            return lower_precision.Comparison(_network(request, shape, wanted), None, wanted)
        lower = precision.lower(request.device.device_kind)
        exact = _network(request, shape, "float32")
        return lower_precision.Comparison(exact, lambda: _network(request, shape, lower), lower)


def _network(request, shape, in_precision):
    """Return the framework's best function from a batch of pixels to probabilities."""
    device = devices.load(request.device.framework)
    predictors.prepare(device, in_precision)
    return predictors.of(device, *build_trained(request), shape)


def _speed(seconds, items):
    """Return the metrics of the network alone, including preprocessing but not decoding."""
    if not seconds:
        return {"items": 0}
    ordered = np.sort(seconds)
    return {
        "items": items,
        "items_per_s": items / max(1e-9, float(ordered.sum())),
        "batch_ms_p50": 1000 * float(ordered[len(ordered) // 2]),
        "batch_ms_p90": 1000 * float(ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]),
    }

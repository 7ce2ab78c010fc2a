"""Run a classifier over pictures that the host decodes meanwhile; memory does not grow with their number.

Pixels and probabilities lie in two files that both sides map, each of a few slots that hold a batch. The host writes
a line ``{"slot": 0, "count": 32}`` to standard input for every slot it has filled, and ends its writing when there
are no more; the worker answers each with a ``batch`` event, after which the host may fill the slot again.
"""

import importlib
import time

import numpy as np

from zoo.worker import weights
from zoo.worker.inference import predictors
from zoo.worker.inference.outputs import finite
from zoo.worker.input_queue import iter_commands
from zoo.worker.model import build


def run(request, events, stop, phases):
    """Answer every slot; the ``done`` event carries how fast the network alone was.

    Args:
        request: its ``stream`` part names the files ``pixels`` (uint8) and ``probabilities`` (float32), their
            ``shape`` (slots, batch, height, width, channels) and ``classes``, how many ``items`` there are (None:
            unknown), and the ``precision`` to compute in.
        events: where to report.
        stop: when asked to, the slot in hand is the last.
        phases: seconds by phase, filled in.

    Raises:
        UserError: the weights do not fit, or this stack cannot compute in that precision.
    """
    asked = request["stream"]
    slots, batch = asked["shape"][:2]
    shape = tuple(asked["shape"])
    pixels = np.memmap(asked["pixels"], np.uint8, "r", shape=shape)
    answers = np.memmap(asked["probabilities"], np.float32, "r+", shape=(slots, batch, asked["classes"]))
    began = time.monotonic()
    predict = _predictor(request, shape[1:], phases)
    predict(np.zeros(shape[1:], np.uint8))
    phases["compile_s"] = time.monotonic() - began - phases["build_s"]
    for note in request["model"].get("notes", ()):
        events.emit("warning", message=note)
    events.emit("ready")
    took, done = [], 0
    for filled in iter_commands(stop):
        slot, count = filled["slot"], filled["count"]
        began = time.monotonic()
        answers[slot, :count] = finite(predict(pixels[slot])[:count])
        took.append((time.monotonic() - began, count))
        done += count
        events.emit("batch", slot=slot, count=count)
        if asked["items"]:
            events.step(step=done, steps=asked["items"], of="pictures")
    phases["infer_s"] = sum(seconds for seconds, _ in took)
    metrics = dict(_speed([seconds for seconds, count in took], done), precision=asked["precision"], batch_size=batch)
    return {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}


def _predictor(request, shape, phases):
    """From a batch of pixels to probabilities, in the best way that the framework has."""
    began = time.monotonic()
    device = importlib.import_module("zoo.worker.devices." + request["device"]["framework"])
    predictors.prepare(device, request["stream"]["precision"])
    model, preprocess = build(request)
    if request["weights"]:
        weights.load(model, request["weights"])
    phases["build_s"] = time.monotonic() - began
    return predictors.of(device, model, preprocess, shape)


def _speed(seconds, items):
    """Figures of the network alone: the making of its input included, decoding not."""
    if not seconds:
        return {"items": 0}
    ordered = np.sort(seconds)
    return {
        "items": items,
        "items_per_s": items / max(1e-9, float(ordered.sum())),
        "batch_ms_p50": 1000 * float(ordered[len(ordered) // 2]),
        "batch_ms_p90": 1000 * float(ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]),
    }

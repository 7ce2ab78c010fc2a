"""Run a trained model over pictures."""

import os
import time

import numpy as np

from zoo.worker import weights
from zoo.worker.files import save_array
from zoo.worker.metrics import score
from zoo.worker.model import build
from zoo.worker.prediction import probabilities
from zoo.worker.training.image_batches import Rows


def run(request, events, stop, phases):
    """Write ``probabilities.npy``, (n, classes) float32, for the pictures of the request.

    Where the request holds labels, the ``done`` event carries loss and accuracy.
    """
    began = time.monotonic()
    model, preprocess = build(request)
    weights.load(model, request["weights"])
    phases["build_s"] = time.monotonic() - began
    stored = request["data"]["x"]
    pixels = Rows(stored, np.arange(len(np.load(stored, mmap_mode="r", allow_pickle=False))))
    size = request["infer"]["batch_size"]
    began = time.monotonic()
    probabilities(model, preprocess, pixels[:size], size)
    phases["compile_s"] = time.monotonic() - began
    began = time.monotonic()
    predicted = probabilities(
        model, preprocess, pixels, size, stop, lambda done: events.step(step=done, steps=len(pixels))
    )
    phases["infer_s"] = time.monotonic() - began
    path = os.path.join(request["run_dir"], "probabilities.npy")
    save_array(path, predicted)
    events.emit("artifact", kind="probabilities", path=path)
    metrics = {"items": len(predicted), "items_per_s": len(predicted) / max(1e-9, phases["infer_s"])}
    if request["data"].get("y"):
        labels = np.load(request["data"]["y"], allow_pickle=False)[: len(predicted)]
        metrics["test_loss"], metrics["test_accuracy"] = score(predicted, labels)
    return {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}

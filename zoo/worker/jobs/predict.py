"""Run a trained model on images."""

import os
import time

import numpy as np

from zoo.worker.files import save_array
from zoo.worker.inference import features
from zoo.worker.metrics import score
from zoo.worker.model import build_trained
from zoo.worker.prediction import predict_batches, probabilities, slices
from zoo.worker.training.image_batches import Rows


def run(request, events, stop, phases):
    """Write ``probabilities.npy``, (n, classes) float32, for the images of the request.

    If the request has labels, the ``done`` event has loss and accuracy. If it has ``features``, the output of a layer
    is written to a file instead.
    """
    began = time.monotonic()
    model, preprocess = build_trained(request)
    phases["build_s"] = time.monotonic() - began
    stored = request.data.x
    pixels = Rows(stored, np.arange(len(np.load(stored, mmap_mode="r", allow_pickle=False))))
    size = request.infer.batch_size
    began = time.monotonic()
    probabilities(model, preprocess, pixels[:size], size)
    phases["compile_s"] = time.monotonic() - began
    for note in request.model.notes or ():
        events.emit("warning", message=note)
    began = time.monotonic()
    if request.features:
        return _write_features(request, model, preprocess, pixels, events, stop, phases)
    predicted = probabilities(
        model, preprocess, pixels, size, stop, lambda done: events.step(step=done, steps=len(pixels))
    )
    phases["infer_s"] = time.monotonic() - began
    path = os.path.join(request.run_dir, "probabilities.npy")
    save_array(path, predicted)
    events.emit("artifact", kind="probabilities", path=path)
    metrics = {"items": len(predicted), "items_per_s": len(predicted) / max(1e-9, phases["infer_s"])}
    if request.data.labels and request.model.target is None:
        labels = np.load(request.data.labels, allow_pickle=False)[: len(predicted)]
        metrics["test_loss"], metrics["test_accuracy"] = score(predicted, labels)
    return {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}


def _write_features(request, model, preprocess, pixels, events, stop, phases):
    began, size, out = time.monotonic(), min(request.infer.batch_size, len(pixels)), None
    for rows in predict_batches(model, slices(pixels, size, preprocess), size, stop):
        out = out or features.FeatureFile(request.features.path, rows.shape[1:])
        out.add(rows)
        events.step(step=out.rows, steps=len(pixels))
    phases["infer_s"] = time.monotonic() - began
    metrics = {"items": out.rows, "items_per_s": out.rows / max(1e-9, phases["infer_s"])}
    described = features.described(request, out)
    return {"metrics": metrics, "stopped": "interrupted" if stop.asked else None, "features": described}

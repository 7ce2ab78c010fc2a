"""Run a trained model on images."""

import numpy as np

from zoo.worker.inference import features
from zoo.worker.inference.outputs import finite
from zoo.worker.model import build_trained
from zoo.worker.phases import timed
from zoo.worker.prediction import predict_batches, probabilities, save, slices
from zoo.worker.training.image_batches import Rows


def run(request, events, stop, phases):
    """Write ``probabilities.npy``, (n, classes) float32, for the images of the request.

    If the request has labels, the ``done`` event has loss and accuracy. If it has ``features``, the output of a layer
    is written to a file instead.
    """
    with timed(phases, "build_s"):
        model, preprocess = build_trained(request)
    stored = request.data.x
    pixels = Rows(stored, np.arange(len(np.load(stored, mmap_mode="r", allow_pickle=False))))
    size, done, rows = min(request.infer.batch_size, len(pixels)), 0, []
    with timed(phases, "compile_s"):
        first = probabilities(model, preprocess, pixels[:size], size)
    out = features.FeatureFile(request.features.path, first.shape[1:]) if request.features else None
    for note in request.model.notes or ():
        events.emit("warning", message=note)
    with timed(phases, "infer_s"):
        for batch in predict_batches(model, slices(pixels, size, preprocess), size, stop):
            if out:
                out.add(batch)
            else:
                rows.append(finite(batch))
            done += len(batch)
            events.step(step=done, steps=len(pixels))
    metrics = {"items": done, "items_per_s": done / max(1e-9, phases["infer_s"])}
    result = {"metrics": metrics, "stopped": "interrupted" if stop.asked else None}
    if out:
        return dict(result, features=features.described(request, out))
    metrics.update(save(request, events, np.concatenate(rows)))
    return result

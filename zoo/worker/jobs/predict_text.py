"""Run a trained classifier on texts."""

import numpy as np

from zoo.worker.inference.outputs import finite
from zoo.worker.phases import timed
from zoo.worker.prediction import save
from zoo.worker.training.labelled_texts import predict_texts
from zoo.worker.training.setup import build_trained_for_texts
from zoo.worker.training.text_batches import open_texts


def run(request, events, stop, phases):
    """Write ``probabilities.npy``, (n, classes) float32, for the texts of the request.

    If the request has labels, the ``done`` event has loss and accuracy, for classes.
    """
    with timed(phases, "build_s"):
        model = build_trained_for_texts(request)
    data, arguments = request.data, request.model.args
    texts = open_texts(data, arguments["length"], arguments["fixed"])
    count = len(texts)
    chosen, size = np.arange(count), min(request.infer.batch_size, count)
    too_long = int((np.diff(np.load(data.offsets, allow_pickle=False)) > arguments["length"]).sum())
    if too_long:
        events.emit(
            "warning",
            message="%d of %d texts are longer than the %d tokens that the model reads: only their beginning and end "
            "were read" % (too_long, count, arguments["length"]),
        )
    with timed(phases, "infer_s"):
        predicted = predict_texts(model, texts, chosen, size, stop, lambda done: events.step(step=done, steps=count))
    finite(predicted)
    metrics = {"items": count, "items_per_s": count / max(1e-9, phases["infer_s"])}
    if stop.asked:
        return {"metrics": metrics, "stopped": "interrupted"}
    return {"metrics": dict(metrics, **save(request, events, predicted)), "stopped": None}

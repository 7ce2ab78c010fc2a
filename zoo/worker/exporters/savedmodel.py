"""TensorFlow's SavedModel, a folder, for TensorFlow Serving and other tools."""

import os

from zoo.worker.exporting import tracing
from zoo.worker.files import save_json

KIND = "export"
NAME = "model"
NEEDS = ("tensorflow",)
QUANTIZATIONS = ("none",)
INSIDE = ("none",)
RUNTIME, PACKAGE = "TensorFlow", "tensorflow"


def export(subject, path, quantize, calibration, facts):
    """Write the folder ``model``, with the facts in ``assets.extra``; arguments as for the ONNX exporter."""
    import tensorflow as tf

    holder = tf.Module()
    holder.model, holder.serve = getattr(subject.model, "trackable", subject.model), tracing.function(subject)
    tf.saved_model.save(holder, path, signatures=holder.serve)
    os.makedirs(os.path.join(path, "assets.extra"))
    save_json(os.path.join(path, "assets.extra", "model.json"), facts)


def opened(folder, about):
    """Return the function that maps inputs, arrays by name, to the list of outputs."""
    import tensorflow as tf

    loaded = tf.saved_model.load(os.path.join(folder, "model"))
    serve = loaded.signatures["serving_default"]

    def run(inputs, _kept=loaded):
        answers = serve(**{name: tf.constant(array) for name, array in inputs.items()})
        return [answers[name].numpy() for name in about["outputs"]]

    return run

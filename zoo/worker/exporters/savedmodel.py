"""TensorFlow's SavedModel, a folder, for TensorFlow Serving and other tools."""

from zoo.worker.exporting import tracing

KIND = "export"
NAME = "model"
NEEDS = ("tensorflow",)
QUANTIZATIONS = ("none",)
RUNTIME = "TensorFlow"
IMPORTS = ("import tensorflow as tf",)
USE = (
    'model = tf.saved_model.load("model").signatures["serving_default"]',
    "answers = model(**{{name: tf.constant(array) for name, array in inputs.items()}})",
    "outputs = [answers[name].numpy() for name in {outputs}]",
)


def export(subject, path, quantize, calibration, facts):
    """Write the folder ``model``, without the facts; the arguments are those of the exporter for ONNX."""
    import tensorflow as tf

    holder = tf.Module()
    holder.model, holder.serve = getattr(subject.model, "trackable", subject.model), tracing.function(subject)
    tf.saved_model.save(holder, path, signatures=holder.serve)


def runtime(subject, path):
    """Return the function from a question to its answers with TensorFlow."""
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    serve, names = loaded.signatures["serving_default"], [name for name, _, _ in subject.inputs]

    def run(question, _kept=loaded):
        answers = serve(**{name: tf.constant(array) for name, array in zip(names, question)})
        return [answers[name].numpy() for name in subject.outputs]

    return run

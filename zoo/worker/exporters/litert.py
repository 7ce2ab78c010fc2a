"""LiteRT (TensorFlow Lite), by TensorFlow's converter: float32, float16, or 8 bits."""

import json
import os
import tempfile
import zipfile

from zoo.worker.exporting import tracing

KIND = "export"
NAME = "model.tflite"
NEEDS = ("tensorflow", "ai_edge_litert")
QUANTIZATIONS = ("none", "float16", "dynamic", "int8")
INSIDE = ("none", "float16", "dynamic")
RUNTIME, PACKAGE = "LiteRT", "ai-edge-litert"


def export(subject, path, quantize, calibration, facts):
    """Write ``model.tflite``; the arguments are those of the exporter for ONNX.

    All models except style networks have a signature. Facts and class names are appended as a ZIP archive, like
    TFLite Metadata; extract them with ``unzip model.tflite``.
    """
    import tensorflow as tf

    frozen = tracing.frozen(tracing.function(subject, named=False))

    def serve(*inputs):
        answers = frozen(*inputs)
        return dict(zip(subject.outputs, answers if isinstance(answers, (list, tuple)) else [answers]))

    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as scratch:
        if subject.kind == "pictures":  # a signature loses the channels of enlarged images of any size
            converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
        else:
            holder = tf.Module()
            holder.serve = tf.function(serve, input_signature=tracing.signature(subject))
            tf.saved_model.save(holder, scratch, signatures=holder.serve)
            converter = tf.lite.TFLiteConverter.from_saved_model(scratch)
        if quantize != "none":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
        if quantize == "int8":
            converter.representative_dataset = lambda: (subject.named(question) for question in calibration)
        content = converter.convert()
    with open(path, "wb") as out:
        out.write(content)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("model.json", json.dumps(facts))
        archive.writestr("labels.txt", "\n".join(subject.request.classes or ()))


def opened(folder, about):
    """Return the function that maps inputs, arrays by name, to the list of outputs."""
    from ai_edge_litert.interpreter import Interpreter

    model = Interpreter(model_path=os.path.join(folder, "model.tflite"))
    run = model.get_signature_runner("serving_default") if model.get_signature_list() else None

    def outputs(inputs):
        if run:
            answers = run(**inputs)
            return [answers[name] for name in about["outputs"]]
        (pixels,) = inputs.values()
        place = model.get_input_details()[0]["index"]
        model.resize_tensor_input(place, pixels.shape)
        model.allocate_tensors()
        model.set_tensor(place, pixels)
        model.invoke()
        return [model.get_tensor(model.get_output_details()[0]["index"])]

    return outputs

"""OpenVINO's intermediate representation, converted from ONNX, including its 8 bits."""

import os
import tempfile

from zoo.worker.exporters import onnx

KIND = "export"
NAME = "model.xml"
NEEDS = ("openvino", *onnx.NEEDS)
QUANTIZATIONS = ("none", "float16", "int8")
INSIDE = ("none", "float16")
RUNTIME, PACKAGE = "OpenVINO", "openvino"


def export(subject, path, quantize, calibration, facts):
    """Write ``model.xml`` and ``model.bin``; the arguments are those of the exporter for ONNX."""
    import openvino

    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as scratch:
        between = os.path.join(scratch, onnx.NAME)
        onnx.export(subject, between, "int8" if quantize == "int8" else "none", calibration, {"description": ""})
        model = openvino.convert_model(between)
        for name, value in dict(facts, **_for_model_api(subject)).items():
            model.set_rt_info(value, ["model_info", name])
        openvino.save_model(model, path, compress_to_fp16=quantize == "float16")


def _for_model_api(subject):
    """Return the ``model_info`` that OpenVINO's Model API reads for an image classifier."""
    row, request = subject.preprocessing, subject.request
    if subject.kind != "images" or subject.before:
        return {}
    about = {"model_type": "Classification", "layout": "NHWC", "output_raw_scores": "True"}
    about["labels"] = " ".join(name.replace(" ", "_") for name in request.classes or ())
    about["mean_values"] = " ".join("%g" % number for number in row["subtract"])
    about["scale_values"] = " ".join("%g" % number for number in row["divide"])
    about["reverse_input_channels"] = str(row["channels"] == "BGR")
    about["resize_type"] = "crop" if request.reading["resize"] == "crop" else "standard"
    return about


def opened(folder, about):
    """Return the function that maps inputs, arrays by name, to the list of outputs, on the CPU in float32."""
    import openvino

    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    model = openvino.Core().compile_model(os.path.join(folder, "model.xml"), "CPU", exact)

    def run(inputs):
        answers = model(inputs)
        return [answers[name] for name in about["outputs"]]

    return run

"""OpenVINO's intermediate representation, converted from ONNX, including its 8 bits."""

import os
import tempfile

from zoo.worker.exporters import onnx

KIND = "export"
NAME = "model.xml"
NEEDS = ("openvino", *onnx.NEEDS)
QUANTIZATIONS = ("none", "float16", "int8")
RUNTIME = "OpenVINO"
IMPORTS = ("import openvino",)
USE = (
    'model = openvino.Core().compile_model("model.xml", "CPU")',
    "answers = model(inputs)",
    "outputs = [answers[name] for name in {outputs}]",
)


def export(subject, path, quantize, calibration, facts):
    """Write ``model.xml`` and ``model.bin``; the arguments are those of the exporter for ONNX."""
    import openvino

    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as scratch:
        between = os.path.join(scratch, onnx.NAME)
        onnx.export(subject, between, "int8" if quantize == "int8" else "none", calibration, {})
        model = openvino.convert_model(between)
        for name, value in facts.items():
            model.set_rt_info(value, ["model_info", name])
        openvino.save_model(model, path, compress_to_fp16=quantize == "float16")


def runtime(subject, path):
    """Return the function from a question to its answers with OpenVINO, on the CPU in float32."""
    import openvino

    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    names = [name for name, _, _ in subject.inputs]

    def run(question):
        answers = compiled(dict(zip(names, question)))
        return [answers[name] for name in subject.outputs]

    return run

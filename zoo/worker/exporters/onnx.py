"""ONNX, by tf2onnx: float32, float16, or 8 bits by ONNX Runtime's own quantization.

Opset 15 is the newest of tf2onnx 1.17 that ONNX Runtime 1.10 and newer, OpenVINO and TensorRT all read.
"""

import os

from zoo.worker.exporting import tracing

KIND = "export"
NAME = "model.onnx"
NEEDS = ("tf2onnx", "onnx", "onnxruntime")
QUANTIZATIONS = ("none", "float16", "dynamic", "int8")
RUNTIME = "ONNX Runtime"
IMPORTS = ("import onnxruntime",)
USE = (
    'session = onnxruntime.InferenceSession("model.onnx")',
    "outputs = session.run({outputs}, inputs)",
)
OPSET = 15


def export(subject, path, quantize, calibration, facts):
    """Write ``model.onnx``.

    Args:
        quantize: one of :data:`QUANTIZATIONS`.
        calibration: questions on training items; empty except for int8.
        facts: text by name, kept in the file's metadata.
    """
    import onnx

    converted = convert(subject)
    onnx.save(converted, path)
    if quantize == "float16":
        from onnxruntime.transformers.float16 import convert_float_to_float16

        onnx.save(convert_float_to_float16(converted, keep_io_types=True), path)
    elif quantize != "none":
        _to_8_bits(subject, path, calibration)
    finished = onnx.load(path)
    onnx.helper.set_model_props(finished, facts)
    onnx.save(finished, path)


def convert(subject):
    """Return the subject as an ``onnx.ModelProto`` in float32."""
    import tf2onnx

    with tracing.gelu_by_erf():
        traced = tracing.function(subject)
        return tf2onnx.convert.from_function(traced, input_signature=tracing.signature(subject), opset=OPSET)[0]


def _to_8_bits(subject, path, calibration):
    """Quantize a file in place; only its weights without calibration items."""
    from onnxruntime import quantization

    aside = path + ".float32"
    # Folds normalizations into the convolutions before them, which would otherwise get a separate scale each.
    quantization.quant_pre_process(path, aside, skip_symbolic_shape=True)
    try:
        if not calibration:
            quantization.quantize_dynamic(aside, path)
            return
        names = [name for name, _, _ in subject.inputs]
        rows = iter([dict(zip(names, question)) for question in calibration])

        class Reader(quantization.CalibrationDataReader):
            def get_next(self):
                return next(rows, None)

        quantization.quantize_static(
            aside, path, Reader(), quant_format=quantization.QuantFormat.QDQ, per_channel=True
        )
    finally:
        os.remove(aside)


def runtime(subject, path):
    """Return the function from a question to its answers with ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [name for name, _, _ in subject.inputs]
    return lambda question: session.run(subject.outputs, dict(zip(names, question)))

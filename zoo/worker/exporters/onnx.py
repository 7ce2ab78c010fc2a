"""ONNX, by tf2onnx: float32, float16, or 8 bits by ONNX Runtime's own quantization.

Opset 15 is the newest that tf2onnx 1.17 writes and that ONNX Runtime 1.10, OpenVINO and TensorRT all read.
"""

import os

from zoo.worker.exporting import tracing

KIND = "export"
NAME = "model.onnx"
NEEDS = ("tf2onnx", "onnx", "onnxruntime")
QUANTIZATIONS = ("none", "float16", "dynamic", "int8")
INSIDE = ("none", "dynamic")  # float16 has too few digits for the positions of pixels
RUNTIME, PACKAGE = "ONNX Runtime", "onnxruntime"
OPSET = 15


def export(subject, path, quantize, calibration, facts):
    """Write ``model.onnx``.

    Args:
        quantize: one of :data:`QUANTIZATIONS`.
        calibration: batches of inputs from training items; empty except for int8.
        facts: metadata of the file, name -> text.
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
    # Name the variable dimensions of inputs and outputs, and remove the converter's names of intermediate ones.
    del finished.graph.value_info[:]
    names = ("batch", "length") if subject.inputs[0][0] == "tokens" else ("batch", "height", "width")
    for value in (*finished.graph.input, *finished.graph.output):
        for place, size in enumerate(value.type.tensor_type.shape.dim):
            if not size.HasField("dim_value"):
                size.dim_param = names[place]
    finished.doc_string = facts["description"]
    onnx.helper.set_model_props(finished, facts)
    onnx.save(finished, path)


def convert(subject):
    """Return the subject as an ``onnx.ModelProto`` in float32."""
    import tf2onnx

    with tracing.gelu_by_erf():
        traced = tracing.function(subject)
        return tf2onnx.convert.from_function(traced, input_signature=tracing.signature(subject), opset=OPSET)[0]


def _to_8_bits(subject, path, calibration):
    """Quantize a file in place; without calibration items, quantize only its weights.

    A softmax stays in float32: in 8 bits, its probabilities do not sum to one.
    """
    import onnx
    from onnxruntime import quantization

    aside = path + ".float32"
    # Folds normalizations into the convolutions before them, so that both share one scale.
    quantization.quant_pre_process(path, aside, skip_symbolic_shape=True)
    try:
        if not calibration:
            quantization.quantize_dynamic(aside, path)
            return
        rows = map(subject.named, calibration)

        class Reader(quantization.CalibrationDataReader):
            def get_next(self):
                return next(rows, None)

        quantization.quantize_static(
            aside, path, Reader(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
            nodes_to_exclude=[node.name for node in onnx.load(aside).graph.node if node.op_type == "Softmax"],
        )  # fmt: skip
    finally:
        os.remove(aside)


def opened(folder, about):
    """Return the function that maps inputs, arrays by name, to the list of outputs."""
    import onnxruntime

    session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(about["outputs"], inputs)

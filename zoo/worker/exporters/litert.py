"""LiteRT (TensorFlow Lite), by TensorFlow's converter: float32, float16, or 8 bits."""

from zoo.worker.exporting import tracing

KIND = "export"
NAME = "model.tflite"
NEEDS = ("tensorflow", "ai_edge_litert")
QUANTIZATIONS = ("none", "float16", "dynamic", "int8")
RUNTIME = "LiteRT"
IMPORTS = ("from ai_edge_litert.interpreter import Interpreter",)
USE = (
    'model = Interpreter("model.tflite")',
    "at = {{row['name']: row['index'] for row in model.get_input_details()}}",
    "[model.resize_tensor_input(at[name], array.shape) for name, array in inputs.items()]",
    "model.allocate_tensors()",
    "[model.set_tensor(at[name], array) for name, array in inputs.items()]",
    "model.invoke()",
    "rows = sorted(model.get_output_details(), key=lambda row: int(row['name'].partition('_')[2] or 0))",
    "outputs = [model.get_tensor(row['index']) for row in rows]",
)


def export(subject, path, quantize, calibration, facts):
    """Write ``model.tflite``, which cannot contain the facts; the arguments are those of the exporter for ONNX."""
    import tensorflow as tf

    traced = tracing.frozen(tracing.function(subject, named=False))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([traced])
    if quantize != "none":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantize == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if quantize == "int8":
        converter.representative_dataset = lambda: iter(calibration)
    content = converter.convert()
    with open(path, "wb") as out:
        out.write(content)


def runtime(subject, path):
    """Return the function from a question to its answers with LiteRT."""
    from ai_edge_litert.interpreter import Interpreter

    model = Interpreter(model_path=path)
    places = {row["name"]: row["index"] for row in model.get_input_details()}
    shapes = []

    def run(question):
        present = [array.shape for array in question]
        if shapes != present:
            for (name, _, _), array in zip(subject.inputs, question):
                model.resize_tensor_input(places[name], array.shape)
            model.allocate_tensors()
            shapes[:] = present
        for (name, _, _), array in zip(subject.inputs, question):
            model.set_tensor(places[name], array)
        model.invoke()
        return [model.get_tensor(row["index"]) for row in sorted(model.get_output_details(), key=_place)]

    return run


def _place(row):
    """Return the position of an output: the converter names them Identity, Identity_1, ..."""
    return int(row["name"].partition("_")[2] or 0)

"""Keras 3 on OpenVINO: predictions on the processor. It cannot train."""

# On processors that multiply bfloat16 or float16 by themselves OpenVINO would round every weight to that.
EXACT = {"INFERENCE_PRECISION_HINT": "f32"}

_used = []


def start(device):
    """Let OpenVINO compute in float32, as every other stack does; must run before Keras is imported.

    Keras 3.15 compiles for the device "CPU" and has no setting for either, so its door to OpenVINO is wrapped.
    """
    import openvino

    plain = openvino.compile_model

    def compile_model(model, device_name="CPU", config=None):
        compiled = plain(model, device_name, dict(EXACT, **(config or {})))
        _used[:] = compiled.get_property("EXECUTION_DEVICES")
        return compiled

    openvino.compile_model = compile_model


def proof(device):
    """Multiply two matrices in a compiled model and ask it which devices execute it."""
    import numpy as np
    from keras import layers, models

    ones = np.ones((64, 64), dtype="float32")
    pair = [layers.Input(batch_shape=(1, 64, 64)), layers.Input(batch_shape=(1, 64, 64))]
    product = models.Model(pair, layers.Dot(axes=(2, 1))(pair)).predict_on_batch([ones[None], ones[None]])
    if not _used or float(product[0, 0, 0]) != 64.0:
        raise RuntimeError("OpenVINO did not say where it multiplied the matrices")
    name = ", ".join(_used)
    kind = "cpu" if all(used.upper().startswith("CPU") for used in _used) else "gpu"
    return {"name": name, "kind": kind, "proof": "matmul", "description": ""}


def place(variable):
    """None: what holds a variable is not to be had."""


def versions():
    import openvino

    return {"openvino": openvino.__version__.split("-")[0]}

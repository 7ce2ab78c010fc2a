"""Run one forward pass through a network, on any framework, in each of its execution modes.

``of_keras`` and ``of_torch`` return a function without arguments that runs one pass. GPUs compute asynchronously, so
``wait`` blocks until the result of a pass is computed.
"""

import os

import numpy as np

from zoo.worker.errors import UserError


def wait(output):
    """Block until the output of a pass is computed; NumPy arrays always are."""
    if hasattr(output, "block_until_ready"):
        output.block_until_ready()
    elif type(output).__module__ == "mlx.core":
        import mlx.core as mx

        mx.eval(output)
    elif hasattr(output, "is_mps") and (output.is_mps or output.is_cuda):
        import torch

        (torch.mps if output.is_mps else torch.cuda).synchronize()
    elif hasattr(output, "numpy") and not hasattr(output, "is_mps"):
        output[0, 0, 0].numpy()  # TensorFlow: one number is available only when all are


def of_torch(module, x, training, way):
    """Return one pass through a PyTorch module on the device and in the precision of x; ``way`` is eager or compiled.

    With ``training``, dropout is applied and gradients are recorded.
    """
    import torch

    call = torch.compile(module) if way == "compiled" else module

    def once():
        # `inference_mode` is faster, but a module may have been compiled outside of it.
        with torch.enable_grad() if training else torch.no_grad() if way == "compiled" else torch.inference_mode():
            return call(x)

    return once


def of_keras(model, x, training, way, precision):
    """Return one pass through a Keras model.

    Args:
        training: run as in training, with dropout; if False, as in prediction.
        way: one of the framework's ``modes``, see :mod:`zoo.worker.devices`.
    """
    from zoo.models import compat

    name = compat.backend_name()
    if name == "torch":
        from keras import ops

        return of_torch(lambda x: model(x, training=training), ops.convert_to_tensor(x, precision), training, way)
    if name in ("jax", "mlx"):
        variables = model.trainable_variables, model.non_trainable_variables
        values = [[each.value for each in kind] for kind in variables]

        def once(kept, other, x):
            return model.stateless_call(kept, other, x, training=training)[0]

        return (_jax if name == "jax" else _mlx)(once, values, np.asarray(x), way, precision)
    if name == "openvino":
        return _openvino(model, x, training, precision)
    if precision != "float32" and compat.MAJOR < 3:
        raise UserError("%s is not available in Keras %s" % (precision, compat.version()))
    if name == "tensorflow" and hasattr(compat.keras.backend, "get_session") is False:
        return _tensorflow(model, x, training, way, precision)
    return _session(model, x, training, way)


def _jax(once, values, x, way, precision):
    import jax

    tensor, call = jax.device_put(x).astype(precision), jax.jit(once)
    return lambda: call(*values, tensor)


def _mlx(once, values, x, way, precision):
    import mlx.core as mx

    if way == "compiled" and "MLX_DISABLE_COMPILE" in os.environ:
        raise UserError("MLX does not compile for the CPU here (MLX_DISABLE_COMPILE is set)")
    tensor, call = mx.array(x).astype(getattr(mx, precision)), mx.compile(once) if way == "compiled" else once
    mx.eval(tensor, values)
    return lambda: call(*values, tensor)


def _openvino(model, x, training, precision):
    """Return one pass on OpenVINO, which keeps weights in float32 and computes in the precision of its settings."""
    from zoo.models import compat
    from zoo.worker.devices import openvino

    if training:
        raise UserError("OpenVINO cannot train")
    openvino.compute_in(precision)
    try:
        compat.outputs(model, x)  # compiles
    finally:
        openvino.compute_in("float32")
    request = model.ov_compiled_model.create_infer_request()
    return lambda: next(iter(request.infer([x], share_inputs=True, share_outputs=True).values()))


def _tensorflow(model, x, training, way, precision):
    import tensorflow as tf

    tensor = tf.cast(tf.constant(x), precision)
    options = {"jit_compile": True} if way == "xla" else {}
    call = tf.function(lambda x: model(x, training=training), **options)
    return lambda: call(tensor)


def _session(model, x, training, way):
    """Return one pass on TensorFlow 1 or PlaidML: a compiled function from arrays to arrays."""
    from zoo.models import compat

    if way != "graph":
        raise UserError("the mode %s is not available on this stack" % way)
    K = compat.keras.backend
    call = K.function([model.input, K.learning_phase()], [model.output])
    return lambda: call([x, 1 if training else 0])[0]

"""The Keras and the backend of this process, and the configuration of Keras.

``$ZOO_KERAS`` is read once, when this module is imported: ``keras`` (the default) or ``tf.keras``.
"""

import contextlib
import importlib
import os
import sys
import types


def _import_without_dynamo(name="torch._dynamo"):
    """Import Keras without TorchDynamo, whose import takes 0.6 of 1.6 processor seconds, and return it.

    Keras 3 imports it only to exclude functions from compilation. Here they are excluded once TorchDynamo is used.
    """
    import torch

    def excluded(function):
        slow = torch._disable_dynamo(function)
        return lambda *given, **named: (slow if name in sys.modules else function)(*given, **named)

    def whole(attribute):
        sys.modules.pop(name)
        return getattr(importlib.import_module(name), attribute)

    late = types.ModuleType(name)
    late.disable = lambda function=None, **_: excluded(function) if function else excluded
    late.__getattr__ = whole
    sys.modules.setdefault(name, late)
    loaded = importlib.import_module("keras")
    if sys.modules[name] is late:
        del sys.modules[name]
    return loaded


if os.environ.get("ZOO_KERAS") == "tf.keras":
    import tensorflow

    keras = tensorflow.keras
elif os.environ.get("KERAS_BACKEND") == "torch":
    keras = _import_without_dynamo()
else:
    import keras


def version():
    """Return the version of Keras, such as ``"2.1.6-tf"`` or ``"3.15.1"``."""
    name = getattr(keras, "__version__", None)
    if name is None:  # TensorFlow 1.8 does not export it.
        from tensorflow.python import keras as inner

        name = inner.__version__
    return str(name)


MAJOR = int(version().split(".")[0])


def at_least(major, minor):
    numbers = version().split("-")[0].split(".")
    return (int(numbers[0]), int(numbers[1])) >= (major, minor)


def network_operations():
    """Return Keras 3's private module of convolutions and similar operations for this backend; 3.16 moved it."""
    folder = "keras.src.backend.%s" % backend_name()
    return importlib.import_module(folder + (".ops.nn" if at_least(3, 16) else ".nn"))


def backend_name():
    """Return the backend of Keras, such as ``"torch"`` or ``"plaidml"``."""
    name = keras.backend.backend()
    return "plaidml" if name.startswith("plaidml") else name


def stack():
    """Return version and backend as checkpoints store them: training continues exactly only on an equal stack."""
    return ["Keras " + version(), backend_name()]


def is_tensorflow_1():
    return MAJOR == 2 and hasattr(keras.backend, "get_session") and "-tf" in version()


def jit_arguments(requested):
    """Return the keyword arguments of ``compile`` that enable XLA; Keras 2 has none.

    ``requested`` matters on TensorFlow only. JAX without XLA is many times slower. PyTorch has no XLA. On MLX this
    enables ``mlx.core.compile``, unless ``MLX_DISABLE_COMPILE`` is set.
    """
    return {"jit_compile": uses_jit(requested)} if MAJOR >= 3 else {}


def uses_jit(requested):
    """Return whether this backend compiles with XLA; ``requested`` matters only on TensorFlow."""
    name = backend_name()
    return name in ("jax", "mlx") or (name == "tensorflow" and bool(requested))


def set_precision(name):
    """Choose the dtype of layers before a model is built; raise ValueError if this Keras does not support it.

    ``name`` is ``float32``, ``mixed_bfloat16``, ``mixed_float16`` or ``float64``. Only ``float64`` changes the dtype
    of weights from float32.
    """
    if name == "float64":
        _use_float64()
        return
    chooser = getattr(keras, "mixed_precision", None)
    if not hasattr(chooser, "set_global_policy"):
        if name == "float32":
            return
        raise ValueError("Keras %s computes in float32 only, not in %s" % (version(), name))
    chooser.set_global_policy(name)


def _use_float64():
    """Let all of Keras compute in float64, including losses and metrics."""
    if MAJOR < 3:
        raise ValueError("float64 needs Keras 3, not %s" % version())
    if backend_name() == "mlx":
        raise ValueError("Keras's MLX backend converts float64 to float32: set stack=torch for float64")
    if backend_name() == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    from keras.src.backend.common import dtypes

    # Except on TensorFlow, Keras limits the results of operations to float32.
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")


def full_precision():
    """Return the keyword arguments with which a layer computes in at least float32, even in mixed precision."""
    return {"dtype": keras.backend.floatx()} if at_least(2, 4) else {}


@contextlib.contextmanager
def dtype_policy(precision):
    """Let layers created inside compute in ``float32`` or, on Keras 3, in ``bfloat16``, or raise ValueError."""
    if MAJOR < 3:
        if precision != "float32":
            raise ValueError("Keras %s computes in float32 here, not in %s" % (version(), precision))
        yield
        return
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def native_suffix():
    return ".keras" if MAJOR >= 3 else ".h5"


def save(model, path):
    """Write a model in this Keras's own format, with its optimizer if the model was compiled."""
    if MAJOR >= 3:
        model.save(path)
    else:  # tf.keras 1.8 fails on a model that was never compiled.
        model.save(path, include_optimizer=getattr(model, "optimizer", None) is not None)

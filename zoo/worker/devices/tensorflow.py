"""TensorFlow 1.8 to 2.21, with or without a plug-in."""

import os

from zoo.protocol.events import DeviceProof

CAPABILITIES = {
    "modes": ("graph", "xla"),
    "bfloat16_gains": ("classifiers",),
    "variables": ("CUDA_VISIBLE_DEVICES", "TF_FORCE_GPU_ALLOW_GROWTH"),
}


def start(device):
    """Hide GPUs if the CPU is requested, or let GPU memory grow as needed; must run before Keras is imported."""
    if device.device_kind == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    else:
        os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    import tensorflow as tf

    if not _eager(tf):
        return
    gpus = tf.config.list_physical_devices("GPU")
    if device.device_kind == "cpu":
        tf.config.set_visible_devices([], "GPU")
    else:
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)


def proof(device):
    """Multiply two matrices and ask TensorFlow for the device."""
    import tensorflow as tf

    name = tf.matmul(tf.ones((64, 64)), tf.ones((64, 64))).device if _eager(tf) else _graph_device(tf)
    kind = "cpu" if "CPU" in name.upper() else "gpu"
    return DeviceProof(name=name, device_kind=kind, proof="matmul", description=_description(tf, kind))


def place(variable):
    """Return name and kind of the device of a Keras variable; None if TensorFlow 1 has not placed it yet."""
    value = getattr(variable, "value", None)
    # `value` is the TensorFlow variable in Keras 3, and a method of the variable in tf.keras.
    name = str((variable if callable(value) else value).device)
    return (name, "cpu" if "CPU" in name.upper() else "gpu") if name else None


def _eager(tf):
    return int(tf.__version__.split(".")[0]) >= 2


def _graph_device(tf):
    """Return the device of an operation, which TensorFlow 1 reports only in the trace of a session."""
    with tf.Graph().as_default(), tf.Session() as session:
        left = tf.placeholder(tf.float32, (64, 64))
        product = tf.matmul(left, left, name="proof")
        trace = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(product, {left: [[1.0] * 64] * 64}, options=options, run_metadata=trace)
    for stats in trace.step_stats.dev_stats:
        if any(node.node_name.split(":")[0] == "proof" for node in stats.node_stats):
            return str(stats.device)
    raise RuntimeError("TensorFlow did not report the device of the matrix product")


def _description(tf, kind):
    """Return the GPU's own name, which TensorFlow reports since 2.3."""
    if kind == "cpu" or not hasattr(tf.config.experimental, "get_device_details"):
        return ""
    gpus = tf.config.list_physical_devices("GPU")
    return str(tf.config.experimental.get_device_details(gpus[0]).get("device_name", "")) if gpus else ""

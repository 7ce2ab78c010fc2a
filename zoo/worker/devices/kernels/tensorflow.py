"""TensorFlow 1.8 to 2.21: the CPU and any GPU that its plug-ins support."""

import numpy as np
import tensorflow as tf

OPERATIONS = ("product", "convolution")

_EAGER = int(tf.__version__.split(".")[0]) >= 2


def places():
    """Return the CPU, and the first visible GPU."""
    if _EAGER:
        gpus = [row.name for row in tf.config.list_logical_devices("GPU")]
    else:
        from tensorflow.python.client import device_lib

        gpus = [row.name for row in device_lib.list_local_devices() if row.device_type == "GPU"]
    return [("/device:CPU:0", "cpu")] + [(name, "gpu") for name in gpus[:1]]


def _compute(what, x, y):
    return tf.matmul(x, y) if what == "product" else tf.nn.conv2d(x, y, strides=[1, 1, 1, 1], padding="SAME")


def _eager(what, arrays, place):
    with tf.device(place):
        tensors = [tf.constant(array) for array in arrays]

    def call():
        with tf.device(place):
            result = _compute(what, *tensors)
            if "GPU" in place:
                # The GPU computes asynchronously; one number can be read back only when all are computed.
                tf.reshape(result, [-1])[0].numpy()
        return result

    return call, np.asarray


def _graph(what, arrays, place):
    """Use a separate session in TensorFlow 1, with variables because graphs limit the size of constants."""
    graph = tf.Graph()
    with graph.as_default(), tf.device(place):
        fed = [tf.placeholder(tf.float32, array.shape) for array in arrays]
        variables = [tf.Variable(each) for each in fed]
        product = _compute(what, *variables)
        first = tf.reshape(product, [-1])[:1]
    session = tf.Session(graph=graph)
    for variable, each, array in zip(variables, fed, arrays):
        session.run(variable.initializer, {each: array})
    return (lambda: session.run(first)), (lambda _: session.run(product))


prepare = _eager if _EAGER else _graph

if _EAGER:

    def product(x, precision):
        """Return a function that multiplies a matrix by itself."""
        matrix = tf.cast(tf.constant(x), precision)
        return lambda: tf.matmul(matrix, matrix)[None]

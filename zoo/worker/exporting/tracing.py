"""Turn a subject into a TensorFlow function with named inputs and outputs, the input of all converters."""

from unittest.mock import patch

import numpy as np


def signature(subject, batch=None):
    """List the TensorSpecs of a subject's inputs; ``batch`` fixes the number of items."""
    import tensorflow as tf

    return [tf.TensorSpec((batch or shape[0], *shape[1:]), kind, name=name) for name, shape, kind in subject.inputs]


def function(subject, batch=None, before=None, named=True):
    """Return a tf.function that maps the inputs to a dictionary of outputs, which TensorFlow sorts by name.

    ``batch`` is the number of items, None for any; ``before``, by default the subject's, is applied to the first
    input. If ``named`` is False, the outputs are a list in the model's order.
    """
    import tensorflow as tf

    before = before or subject.before

    def serve(*inputs):
        inputs = list(inputs)
        inputs[0] = before(inputs[0]) if before else inputs[0]
        answers = subject.model(inputs if len(inputs) > 1 else inputs[0], training=False)
        answers = answers if isinstance(answers, (list, tuple)) else [answers]
        answers = [tf.identity(each, name=name) for name, each in zip(subject.outputs, answers)]
        return dict(zip(subject.outputs, answers)) if named else answers

    return tf.function(serve, input_signature=signature(subject, batch))


def frozen(traced):
    """Return a concrete function whose weights are constants, because converters lose Keras 3's variables."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    return convert_variables_to_constants_v2(traced.get_concrete_function())


def gelu_by_erf():
    """Compute GELU with the error function: most converters do not support its complement, which Keras uses."""
    import tensorflow as tf

    original = tf.nn.gelu

    def gelu(features, approximate=False, name=None):
        if approximate:
            return original(features, approximate=True, name=name)
        return features * (1.0 + tf.math.erf(features / np.float32(np.sqrt(2.0)))) * 0.5

    return patch.object(tf.nn, "gelu", gelu)

"""Layers that some Keras versions lack or compute differently, and properties of a model's layers."""

import collections
import importlib
import sys

from zoo.models.compat import random_state
from zoo.models.compat.version import MAJOR, at_least, backend_name, keras

if MAJOR < 3 and backend_name() == "plaidml":
    K, _normalize_batch = keras.backend, keras.backend.normalize_batch_in_training

    def _normalize_batch_in_training(x, gamma, beta, reduction_axes, epsilon=1e-3):
        """Correct the gradients of batch normalization on PlaidML 0.7, by not reshaping gamma and beta.

        PlaidML reshapes them to (1, 1, 1, channels) first. Their gradients are then too large by the number of
        averaged values, and networks diverge within a step or two
        (https://github.com/plaidml/plaidml/issues/1753, https://github.com/plaidml/plaidml/issues/1066).
        """
        if list(reduction_axes) != list(range(K.ndim(x) - 1)):
            return _normalize_batch(x, gamma, beta, reduction_axes, epsilon)
        mean, variance = K.mean(x, axis=reduction_axes), K.var(x, axis=reduction_axes)
        return K.batch_normalization(x, mean, variance, beta, gamma, epsilon=epsilon), mean, variance

    K.normalize_batch_in_training = _normalize_batch_in_training
if MAJOR >= 3 and backend_name() in ("torch", "jax"):
    importlib.import_module("zoo.models.compat.%s_maps" % backend_name()).install()


def dropout(rate, name):
    """Create a dropout layer whose random draws continue from the same state when training is resumed.

    Models must use this layer; 0 <= rate < 1. Keras 3 and PlaidML keep the state of their draws in variables.
    TensorFlow's Keras 2 keeps it inside the operation, where it cannot be saved. There, each draw is computed from
    the seed, the layer's name and the number of the step.
    """
    if MAJOR >= 3 or backend_name() == "plaidml":
        return keras.layers.Dropout(rate, name=name)

    class Dropout(keras.layers.Dropout):  # models save it as plain Dropout
        call = random_state.call_dropout

    return Dropout(rate, name=name)


def prepare_for_foreign_code():
    """Reset the numbers in automatic layer names, so that names are the same in every process.

    Also make ``import keras`` return this Keras, even if only TensorFlow contains it, or if TensorFlow 2.5 comes with
    a separate package ``keras``. Layers and models of that package do not work here.
    """
    sys.modules.setdefault("keras", keras)
    if MAJOR >= 3:
        importlib.import_module("keras.src.utils.naming").reset_uids()  # no public function does only this
    elif hasattr(keras.backend, "reset_uids"):
        keras.backend.reset_uids()
    random_state.continue_plain_dropout()


def relu6(name):
    """Create a layer that clips to 0..6, which tf.keras 1.8 lacks."""
    if hasattr(keras.layers, "ReLU"):
        return keras.layers.ReLU(6.0, name=name)

    def relu6(x):
        return keras.backend.relu(x, max_value=6.0)

    return keras.layers.Activation(relu6, name=name)


def spatial_mean(x, channels):
    """Average over height and width, which keep size 1, with the layers that Keras's own MobileNet uses."""
    if at_least(2, 6):
        return keras.layers.GlobalAveragePooling2D(keepdims=True)(x)
    channels_first = keras.backend.image_data_format() == "channels_first"
    shape = (channels, 1, 1) if channels_first else (1, 1, channels)
    return keras.layers.Reshape(shape, name="reshape_1")(keras.layers.GlobalAveragePooling2D()(x))


def lambda_layer(function, x, shape, name=None, precision="float32"):
    """Apply a function of tensors as a layer.

    Args:
        function: maps a tensor, or a list of tensors, to a tensor with operations of ``zoo.models.compat.tensors``.
        shape: shape of the result, without the batch.
        precision: dtype of the computation; inputs of other dtypes are converted first.
    """
    extra = {"dtype": precision} if MAJOR >= 3 else {}
    return keras.layers.Lambda(function, output_shape=tuple(shape), name=name, **extra)(x)


class TrainableConstant(keras.layers.Layer):
    """Layer that returns its weights for any input: an image being optimized, or a fixed target.

    ``shape`` is (1, ...). The weights are zeros until ``set_weights`` is called.
    """

    def __init__(self, shape, trainable, name):
        super(TrainableConstant, self).__init__(name=name)
        self._value_shape, self.trainable = tuple(shape), trainable

    def build(self, input_shape):
        self.value = self.add_weight(
            name="value", shape=self._value_shape, initializer="zeros", trainable=self.trainable
        )
        self.built = True

    def call(self, inputs):
        return keras.ops.convert_to_tensor(self.value) if MAJOR >= 3 else self.value + 0.0

    def compute_output_shape(self, input_shape):
        return self._value_shape


def registered(name):
    """Return a decorator that registers a layer class, so that Keras can read its own model files.

    Model files contain ``name``, and ``.keras`` files also derive the paths of weights from ``__name__``. Neither may
    change when the class is renamed.
    """

    def register(cls):
        cls.__name__ = name
        for place in ("saving", "utils"):
            decorate = getattr(getattr(keras, place, None), "register_keras_serializable", None)
            if decorate:
                return decorate(package="zoo", name=name)(cls)
        keras.utils.get_custom_objects()[name] = cls
        return cls

    return register


def initializer(value):
    """Return the initializer for ``zeros``, ``ones``, a standard deviation, or None for Glorot uniform."""
    if value is None:
        return "glorot_uniform"
    return value if value in ("zeros", "ones") else keras.initializers.RandomNormal(stddev=value)


def static_shape(x):
    """Return the shape of a Keras tensor, including the batch, with None for unknown sizes."""
    shape = x.shape if MAJOR >= 3 else keras.backend.int_shape(x)
    return tuple(None if size is None else int(size) for size in shape)


def dtype_of(x):
    return str(x.dtype) if MAJOR >= 3 else "float32"


def is_keras_tensor(x):
    check = getattr(keras.backend, "is_keras_tensor", None)  # Missing from tf.keras 1.8.
    return check(x) if check else hasattr(x, "_keras_history")


def source_inputs(x):
    if hasattr(keras.utils, "get_source_inputs"):
        return keras.utils.get_source_inputs(x)
    from tensorflow.python.keras._impl.keras.engine.network import get_source_inputs  # TensorFlow 1.8

    return get_source_inputs(x)


def named_weights(model):
    """List (path, shape) of every weight, in the order of ``model.get_weights()``.

    Paths are ``layer/weight``, the same on every Keras because all layers of the zoo have names. Paths in a nested
    network begin with its name. Duplicate names in a layer are numbered, except the first.
    """
    rows, counts = [], collections.Counter()
    for path, layer in named_layers(model):
        for weight in layer.weights:
            short = str(weight.name).split(":")[0].split("/")[-1]
            if short == "kernel" and type(layer).__name__ == "DepthwiseConv2D":
                short = "depthwise_kernel"  # The name in Keras 2 and in all published files.
            name = path + "/" + short
            shape = weight.shape if MAJOR >= 3 else keras.backend.int_shape(weight)  # PlaidML's have no shape
            rows.append((name + "_%d" % counts[name] if counts[name] else name, tuple(int(size) for size in shape)))
            counts[name] += 1
    return rows


def named_layers(model, prefix=""):
    """List (path, layer) of the layers of a model and of its nested networks."""
    rows = []
    for layer in model.layers:
        path = prefix + layer.name
        rows += named_layers(layer, path + "/") if isinstance(layer, keras.models.Model) else [(path, layer)]
    return rows


def connected_layers(model, prefix="", before=()):
    """List the layers of :func:`named_layers`: ``name``, ``class``, ``inputs`` (names), and ``shape`` of the output.

    The first layers of a nested network follow ``before``.
    """
    first = [tensor._keras_history[0] for tensor in model.inputs]
    later = getattr(model, "operations", model.layers)  # Keras 3 has operations that are not layers
    layers = [*first, *(layer for layer in later if layer not in first)]
    paths, rows = {layer.name: prefix + layer.name for layer in layers}, []
    for layer in layers:
        nodes = getattr(layer, "_inbound_nodes", ())
        names = [tensor._keras_history[0].name for node in nodes for tensor in as_list(node.input_tensors)]
        inputs = list(before) if layer in first else [paths[name] for name in dict.fromkeys(names) if name in paths]
        if isinstance(layer, keras.models.Model) and getattr(layer, "inputs", None):  # not a subclass
            rows += connected_layers(layer, prefix + layer.name + "/", inputs)
            paths[layer.name] = rows[-1]["name"]
        else:
            shape = static_shape(as_list(nodes[0].output_tensors)[0]) if nodes else ()
            about = {"class": type(layer).__name__, "inputs": inputs, "shape": shape}
            rows.append(dict(about, name=paths[layer.name]))
    return rows


def as_list(tensors):
    return list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]


def initial_deviations(model):
    """Return the standard deviation of each randomly initialized weight by path (None for Glorot uniform).

    Layers of the zoo list theirs in ``initial_deviations``. Of Keras's layers, only Glorot uniform kernels count.
    """
    deviations = {}
    for layer in model.layers:
        for weight, attribute in (("kernel", "kernel_initializer"), ("depthwise_kernel", "depthwise_initializer")):
            if _is_glorot_uniform(getattr(layer, attribute, None)):
                deviations[layer.name + "/" + weight] = None
        for weight, deviation in getattr(layer, "initial_deviations", {}).items():
            deviations[layer.name + "/" + weight] = deviation
    return deviations


def _is_glorot_uniform(instance):
    if type(instance).__name__ == "GlorotUniform":
        return True
    config = instance.get_config() if hasattr(instance, "get_config") else {}
    return (config.get("scale"), config.get("mode"), config.get("distribution")) == (1.0, "fan_avg", "uniform")

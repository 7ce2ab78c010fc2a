"""Seeds, compilation, single training steps and prediction."""

import random
import weakref

import numpy as np

from zoo.models.compat import random_state
from zoo.models.compat.optimizers import optimizer
from zoo.models.compat.version import MAJOR, at_least, backend_name, jit_arguments, keras, uses_jit

# Model -> its training steps, see `_train_on_batch`.
_traced_steps = weakref.WeakKeyDictionary()
# The group that distributes the batches of this training run among processes, if any.
_sharing = {"group": None}


def share_with(group):
    """Share batches among the processes of a group, and average metrics over whole batches.

    Args:
        group: has ``present``, (begin, total) of this process's share. ``mean`` averages metrics over the batch, and
            ``engine.mean_gradients`` averages gradients. ``engine.outputs`` predicts with models that need several
            processes, or is None.
    """
    _sharing["group"] = group


def seed(number):
    """Seed Python, NumPy and the framework, as far as this framework can be seeded."""
    random.seed(number)
    np.random.seed(number)
    random_state.start(number)
    if MAJOR >= 3:
        keras.utils.set_random_seed(number)
        return
    try:
        import tensorflow
    except ImportError:  # PlaidML draws from NumPy.
        return
    set_seed = getattr(tensorflow, "set_random_seed", None) or tensorflow.random.set_seed
    set_seed(number)


def compile_classifier(model, optimizer_name, learning_rate, jit, loss="categorical_crossentropy", **settings):
    """Compile a model that ends in probabilities, with cross-entropy and accuracy for one-hot labels.

    Args:
        loss: another loss, for several labels and numbers; the accuracy then has no meaning.
        optimizer_name: see :func:`zoo.models.compat.optimizers.optimizer`, which may raise ValueError.
        jit: compile with XLA on TensorFlow with Keras 3; not possible on Metal.
        settings: other arguments of the optimizer. Weights with one axis (biases and scales) do not decay.
    """
    instance = optimizer(optimizer_name, learning_rate, **settings)
    if settings.get("weight_decay") and MAJOR >= 3:
        instance.exclude_from_weight_decay([each for each in model.trainable_weights if len(each.shape) < 2])
    model.compile(loss=loss, optimizer=instance, metrics=["accuracy"], **jit_arguments(jit))
    _traced_steps.pop(model, None)  # A model may be compiled again with more frozen layers.


def weighted_cross_entropy(weights):
    """Return binary cross-entropy, averaged over labels, in which the items with a label have its weight."""
    ops = keras.ops if MAJOR >= 3 else keras.backend
    constant = ops.convert_to_tensor if MAJOR >= 3 else ops.constant

    def binary_crossentropy(true, predicted):
        shares = ops.clip(predicted, 1e-7, 1.0 - 1e-7)
        present = constant(np.array([weights], np.float32)) * true * ops.log(shares)
        return -ops.mean(present + (1.0 - true) * ops.log(1.0 - shares), axis=-1)

    return binary_crossentropy


def freeze(model, names):
    """Freeze the named layers, including the statistics of their batch normalization; unfreeze all other layers.

    Return the model to compile and train, which shares the layers and weights of the given one.
    """
    for layer in model.layers:
        layer.trainable = layer.name not in names
        vars(layer).pop("call", None)  # Set by an earlier call, see below.
    if not names or MAJOR >= 3 or at_least(2, 4):
        return model
    # Before TensorFlow 2, frozen batch normalization still used mean and variance of the training batch.
    for layer in model.layers:
        if layer.name in names.intersection(batch_norm_names(model)):
            layer.call = _in_inference_mode(layer.call)
    start = keras.layers.Input(shape=keras.backend.int_shape(model.inputs[0])[1:])
    return keras.models.Model(inputs=start, outputs=model(start))


def batch_norm_names(model):
    return [layer.name for layer in model.layers if type(layer).__name__.startswith("BatchNormalization")]


def _in_inference_mode(call):
    return lambda inputs, *_, **__: call(inputs, training=False)


def train_classifier(model, *batch):
    """Take one optimizer step of a model from :func:`compile_classifier` on x, y and optional weights of items.

    Return mean loss and mean accuracy of the batch, and the number of items in these means.
    """
    random_state.advance()
    (loss, accuracy), count = _means(_train_on_batch(model, *batch), len(batch[1]))
    return loss, accuracy, count


def _means(values, count):
    """Return a step's metrics as numbers, and the number of items that they are averaged over."""
    values, group = [float(value) for value in values], _sharing["group"]
    return (values, count) if group is None else (group.mean(values), group.present[1])


def compile_terms(model, names, optimizer_name, learning_rate):
    """Compile a model whose output (batch, 1 + n) is its loss, followed by the n terms ``names`` of that loss."""

    def column(index, name):
        def value(_, predicted):
            return predicted[:, index]

        value.__name__ = name
        return value

    model.compile(
        loss=column(0, "loss"), optimizer=optimizer(optimizer_name, learning_rate),
        metrics=[column(index, name) for index, name in enumerate(names, 1)], **jit_arguments(False),
    )  # fmt: skip


def train_terms(model, names, x):
    """Take one optimizer step of a model from :func:`compile_terms`; return its loss and terms as numbers."""
    y = np.zeros((len(x), 1 + len(names)), np.float32)
    return _means(_train_on_batch(model, x, y, names=names), len(x))[0]


def compile_mse(model, optimizer_name, learning_rate):
    # The metric makes every Keras return a list.
    instance = optimizer(optimizer_name, learning_rate)
    model.compile(loss="mse", optimizer=instance, metrics=["mae"], **jit_arguments(False))


def train_mse(model, x, y):
    """Take one optimizer step of a model from :func:`compile_mse` and return its loss."""
    return float(_train_on_batch(model, x, y, names=())[0])


def _train_on_batch(model, *batch, names=("accuracy",)):
    """Take one optimizer step and return the loss and the metrics.

    On PyTorch, JAX and MLX, ``torch_step`` and ``stateless_step`` avoid Keras's overhead. On TensorFlow,
    ``train_on_batch`` of Keras 3.6 traces every step again.
    """
    if MAJOR < 3:
        return model.train_on_batch(*batch)[: 1 + len(names)]
    backend, group = backend_name(), _sharing["group"]
    if backend in ("jax", "mlx"):
        from zoo.models.compat import stateless_step

        return _kept_step(model, lambda: stateless_step.Step(model, names, batch)).take(*batch)
    if backend == "torch":
        from zoo.models.compat import torch_step

        own = _kept_step(model, lambda: torch_step.Step(model) if torch_step.can_take(model, names) else None)
        if own is not None:
            return own.take(model, group and group.engine.mean_gradients, *batch)
    if backend != "tensorflow":
        model.reset_metrics()  # see below
        return model.train_on_batch(*batch)[: 1 + len(names)]
    steps = _kept_step(model, dict)
    share = group.present if group else None  # the traced step contains its position in the batch
    if share not in steps:
        import tensorflow

        # As in `fit`: the variables of optimizer and metrics must exist before the step is traced.
        model._symbolic_build(data_batch=(*batch, *[None] * (3 - len(batch))))
        # Some versions of Keras 3 return means since the last reset, some return the values of the batch.
        steps[share] = tensorflow.function(
            lambda *batch: (model.reset_metrics(), model.train_step(batch))[1], jit_compile=model.jit_compile
        )
    logs = steps[share](*batch)
    return [logs[name] for name in ("loss", *names)]


def _kept_step(model, make):
    """Return the object that takes the steps of a model, created before the first step."""
    if model not in _traced_steps:
        _traced_steps[model] = make()
    return _traced_steps[model]


def forget_compiled(model):
    """Make OpenVINO compile a model again, because it compiles weights as constants."""
    if backend_name() == "openvino":
        model.ov_compiled_model = None


def predict(model, x):
    """Return the first output for one batch as a float32 array."""
    return np.asarray(outputs(model, x)[0], dtype=np.float32)


def outputs(model, x):
    """Run the compiled predict function on one batch, an input or a list of inputs; return NumPy arrays."""
    group = _sharing["group"]
    predict = group.engine.outputs if group else None
    if MAJOR >= 3 and not predict and not model.compiled and model.predict_function is None:
        # By default Keras 3 uses XLA on TensorFlow with any GPU, Radeons on Metal included.
        model.jit_compile = uses_jit(False)
    arrays = predict(model, x) if predict else model.predict_on_batch(x)
    return [np.asarray(each) for each in (arrays if isinstance(arrays, (list, tuple)) else [arrays])]

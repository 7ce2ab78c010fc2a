"""The one place that knows how the Kerases differ, from 2.1 inside TensorFlow 1.8 to today's Keras 3.

``$ZOO_KERAS`` says which package is meant: ``keras`` (the default) or ``tf.keras``.
"""

import contextlib
import os
import weakref

import numpy as np

from zoo.models.compat import random_state


def _import_keras():
    if os.environ.get("ZOO_KERAS") == "tf.keras":
        import tensorflow

        return tensorflow.keras
    import keras

    return keras


keras = _import_keras()


def version():
    """Version of the Keras in use, such as ``"2.1.6-tf"`` or ``"3.15.1"``."""
    found = getattr(keras, "__version__", None)
    if found is None:  # TensorFlow 1.8 keeps it one door further in.
        from tensorflow.python import keras as inner

        found = inner.__version__
    return str(found)


MAJOR = int(version().split(".")[0])


def set_precision(name):
    """Choose the numbers that layers compute with: ``float32``, ``mixed_bfloat16`` or ``mixed_float16``.

    Weights are float32 in any case. Must be called before a model is built.

    Raises:
        ValueError: this Keras has no mixed precision.
    """
    chooser = getattr(keras, "mixed_precision", None)
    if not hasattr(chooser, "set_global_policy"):
        if name == "float32":
            return
        raise ValueError("Keras %s computes in float32 only, and %s was asked for" % (version(), name))
    chooser.set_global_policy(name)


def full_precision():
    """Keyword arguments of a layer, such as the last, that computes in float32 whatever the others do."""
    return {"dtype": "float32"} if _at_least(2, 4) else {}


def first_layer(input_shape):
    """Keyword arguments that give a Sequential model's first layer its input shape, without the batch.

    Keras 3 warns about ``input_shape`` and still takes it; ``batch_input_shape`` it does not.
    """
    return {"input_shape": tuple(input_shape)}


def seed(number):
    """Seed Python, numpy and the framework, as far as this framework lets itself be seeded."""
    import random

    random.seed(number)
    np.random.seed(number)
    random_state.begin(number)
    if MAJOR >= 3:
        keras.utils.set_random_seed(number)
        return
    try:
        import tensorflow
    except ImportError:  # PlaidML draws from numpy.
        return
    set_seed = getattr(tensorflow, "set_random_seed", None) or tensorflow.random.set_seed
    set_seed(number)


def dropout(rate, name):
    """Dropout layer whose draws go on where they were when training is resumed; models must use this one.

    Keras 3 and PlaidML keep the state of their draws in variables, TensorFlow's Keras 2 out of reach, inside the
    operation: there each draw is computed from the seed, the layer's name and the number of the step.

    Args:
        rate: share of values dropped in training, 0 <= rate < 1.
        name: name of the layer.
    """
    kind = (
        keras.layers.Dropout
        if MAJOR >= 3 or backend_name() == "plaidml"
        else random_state.dropout_of_tensorflow(keras)
    )
    return kind(rate, name=name)


def dropped(x, rate, place):
    """Drop a share of a tensor's numbers, for layers of our own under Keras 2; see :func:`dropout`.

    Args:
        x: the tensor.
        rate: share of values dropped.
        place: a name that no other dropout of the model has.
    """
    if backend_name() == "plaidml":
        return keras.backend.dropout(x, rate)
    return random_state.dropped(keras, x, rate, place)


def optimizer(name, learning_rate, clip=None, beta_2=0.999, weight_decay=0.0):
    """Make an optimizer: ``adam``, ``sgd``, ``momentum`` (SGD with Nesterov momentum 0.9) or ``rmsprop``.

    Args:
        name: one of these.
        learning_rate: the first one.
        clip: largest norm of all gradients together; None leaves them as they are.
        beta_2: how long Adam remembers squared gradients.
        weight_decay: share, times the learning rate, that weights shrink by in a step (Loshchilov and Hutter 2019,
            https://arxiv.org/abs/1711.05101).

    Raises:
        ValueError: the name is none of these, or this Keras cannot do what is asked for.
    """
    if weight_decay and MAJOR < 3:
        raise ValueError("weight decay needs Keras 3, this is %s: set trainer.weight_decay=0" % version())
    if clip and backend_name() == "plaidml":  # the shapes it tells of gradients are not those they have
        raise ValueError("PlaidML cannot clip gradients: set trainer.clip=null")
    rate = {_rate_keyword(): float(learning_rate)}
    if clip and _at_least(2, 4):
        rate["global_clipnorm"] = float(clip)
    if weight_decay:
        rate["weight_decay"] = float(weight_decay)
    optimizers = keras.optimizers
    # TensorFlow 2.11 and 2.12 made new optimizers the default, which are slow on Metal or fail there
    # (https://github.com/tensorflow/tensorflow/issues/58988); the former ones are still at hand.
    if MAJOR == 2 and hasattr(optimizers, "legacy"):
        optimizers = optimizers.legacy
    makers = {
        "adam": lambda: (
            _adam_of_tensorflow_1(learning_rate, clip, beta_2)
            if _tensorflow_1()
            else optimizers.Adam(beta_2=beta_2, **rate)
        ),
        "sgd": lambda: optimizers.SGD(**rate),
        "momentum": lambda: optimizers.SGD(momentum=0.9, nesterov=True, **rate),
        "rmsprop": lambda: optimizers.RMSprop(**rate),
    }
    if name not in makers:
        raise ValueError("optimizer must be one of %s, got %r" % (", ".join(sorted(makers)), name))
    made = makers[name]()
    if _tensorflow_1() and name == "adam":
        return made
    made = _waiting(made) if _tensorflow_1() else made
    return _clipping(made, clip) if clip and not _at_least(2, 4) else made


def _tensorflow_1():
    return MAJOR == 2 and hasattr(keras.backend, "get_session") and "-tf" in version()


def _adam_of_tensorflow_1(learning_rate, clip, beta_2):
    """TensorFlow's own Adam: the one of tf.keras 1.8 reads its step count while another thread raises it.

    There the first step is 0.74 or 1 times as long as it should be, by chance, and no run repeats another.
    """
    import tensorflow

    rate = keras.backend.variable(learning_rate, name="learning_rate")
    made = tensorflow.train.AdamOptimizer(rate, beta2=beta_2, epsilon=keras.backend.epsilon())
    made.learning_rate = rate
    return _clipping_of_tensorflow_1(made, clip) if clip else made


def _clipping(made, clip):
    """Let an optimizer of early Keras keep the norm of all gradients together below a bound."""
    K, whole = keras.backend, made.get_gradients

    def get_gradients(loss, parameters):
        found = whole(loss, parameters)
        norm = K.sqrt(sum(K.sum(K.square(gradient)) for gradient in found))
        share = clip / K.maximum(norm, K.constant(clip))
        return [gradient * share for gradient in found]

    made.get_gradients = get_gradients
    return made


def _clipping_of_tensorflow_1(made, clip):
    """The same for TensorFlow's own optimizer."""
    import tensorflow

    whole = made.compute_gradients

    def compute_gradients(*arguments, **named):
        gradients, variables = zip(*whole(*arguments, **named))
        return list(zip(tensorflow.clip_by_global_norm(gradients, clip)[0], variables))

    made.compute_gradients = compute_gradients
    return made


def _waiting(made):
    """Let no weight change before every gradient is computed; TensorFlow's own optimizers see to that themselves.

    The ones of tf.keras 1.8 do not: a layer's kernel may be new already when the gradient of the layer before it
    is computed from it. Seen in 2 of 400 steps of a network with two layers, and oftener in the first step.
    """
    import tensorflow

    hasty = made.get_gradients

    def get_gradients(loss, parameters):
        found = hasty(loss, parameters)
        with tensorflow.control_dependencies([loss, *found]):
            return [tensorflow.identity(gradient) for gradient in found]

    made.get_gradients = get_gradients
    return made


def _rate_keyword():
    """``lr`` until Keras 2.3, ``learning_rate`` since."""
    return "learning_rate" if _at_least(2, 3) else "lr"


def _at_least(major, minor):
    numbers = version().split("-")[0].split(".")
    return (int(numbers[0]), int(numbers[1])) >= (major, minor)


def set_learning_rate(model, value):
    """Give the model's optimizer another learning rate, from the next step on."""
    if MAJOR >= 3:
        model.optimizer.learning_rate = float(value)
        return
    optimizer = getattr(model.optimizer, "optimizer", model.optimizer)  # tf.keras 1 wraps TensorFlow's own
    variable = getattr(optimizer, "learning_rate", None)
    keras.backend.set_value(optimizer.lr if variable is None else variable, float(value))


def compile_classifier(model, optimizer_name, learning_rate, jit, **settings):
    """Compile for one-hot labels: categorical cross-entropy, accuracy.

    Args:
        model: a model that ends in probabilities.
        optimizer_name: see :func:`optimizer`.
        learning_rate: its first learning rate.
        jit: compile with XLA, a choice that Keras 3 leaves on TensorFlow; never possible on Metal.
        settings: the rest of :func:`optimizer`. Weights of one axis, biases and scales, do not decay.

    Raises:
        ValueError: as :func:`optimizer`.
    """
    extra = {"jit_compile": _jit(jit)} if MAJOR >= 3 else {}
    made = optimizer(optimizer_name, learning_rate, **settings)
    if settings.get("weight_decay"):
        made.exclude_from_weight_decay([weight for weight in model.trainable_weights if len(weight.shape) < 2])
    model.compile(
        loss="categorical_crossentropy",
        optimizer=made,
        metrics=["accuracy"],
        **extra,
    )
    _steps.pop(model, None)  # a model may be compiled again for fewer of its layers


def freeze(model, names):
    """Keep some layers as they are: neither their weights nor the statistics of their normalisation change.

    Layers that an earlier call named and this one does not learn again.

    Returns:
        The model to compile and train instead. It has the same layers, so what it learns the first one knows.
    """
    for layer in model.layers:
        layer.trainable = layer.name not in names
        vars(layer).pop("call", None)  # of an earlier call, see below
    if not names or MAJOR >= 3 or _at_least(2, 4):
        return model
    # Before TensorFlow 2 a frozen normalisation still took mean and variance from the batch it was trained with.
    for layer in model.layers:
        if layer.name in names.intersection(normalisations(model)):
            layer.call = _at_rest(layer.call)
    start = keras.layers.Input(shape=static_shape(model.inputs[0])[1:])
    return keras.models.Model(inputs=start, outputs=model(start))


def normalisations(model):
    """Names of the layers that normalise by statistics of what they have seen."""
    return [layer.name for layer in model.layers if type(layer).__name__.startswith("BatchNormalization")]


def _at_rest(call):
    return lambda inputs, *_, **__: call(inputs, training=False)


def backend_name():
    """What computes below Keras, such as ``"torch"`` or ``"plaidml"``; Keras 2 inside TensorFlow has no choice."""
    name = keras.backend.backend()
    return "plaidml" if name.startswith("plaidml") else name


def _mend_batch_normalisation():
    """Let PlaidML 0.7 learn through batch normalisation, by computing it without its detour.

    It lays gamma and beta out as (1, 1, 1, channels) first, and their gradients come out too large by the number of
    values that are averaged, which throws networks off within a step or two
    (https://github.com/plaidml/plaidml/issues/1753, https://github.com/plaidml/plaidml/issues/1066).
    """
    K, whole = keras.backend, keras.backend.normalize_batch_in_training

    def normalize_batch_in_training(x, gamma, beta, reduction_axes, epsilon=1e-3):
        if list(reduction_axes) != list(range(K.ndim(x) - 1)):
            return whole(x, gamma, beta, reduction_axes, epsilon)
        mean, variance = K.mean(x, axis=reduction_axes), K.var(x, axis=reduction_axes)
        return K.batch_normalization(x, mean, variance, beta, gamma, epsilon=epsilon), mean, variance

    keras.backend.normalize_batch_in_training = normalize_batch_in_training


if MAJOR < 3 and backend_name() == "plaidml":
    _mend_batch_normalisation()
    random_state.watch_plaidml()


def _jit(asked):
    """JAX compiles with XLA or computes one operation at a time, many times slower; PyTorch has no XLA."""
    name = backend_name()
    return name == "jax" or (name == "tensorflow" and bool(asked))


class RunningMeans:
    """Loss and accuracy over the batches of an epoch so far.

    Attributes:
        model: that is trained; another one that shares its layers may take its place.
    """

    def __init__(self, model):
        self.model = model
        self._sums, self._count = np.zeros(2), 0
        self.loss = self.accuracy = float("nan")

    def train(self, *batch):
        """Take one optimizer step on a batch and bring ``loss`` and ``accuracy`` up to date.

        Args:
            batch: x, y and, where its items do not count the same, their weights.
        """
        if MAJOR >= 3:
            # Some versions of Keras 3 return means since the last reset, others the batch's own values.
            self.model.reset_metrics()
        random_state.advance(keras)
        values = [float(value) for value in _train_on_batch(self.model, *batch)]
        self._sums += np.array(values) * len(batch[1])
        self._count += len(batch[1])
        self._average()

    def _average(self):
        if self._count:
            self.loss, self.accuracy = (float(value) for value in self._sums / self._count)

    def state(self):
        """What :meth:`go_on` needs, as JSON knows it."""
        return {"sums": [float(value) for value in self._sums], "count": self._count}

    def go_on(self, state):
        """Take up the means where another process left them."""
        self._sums, self._count = np.array(state["sums"]), state["count"]
        self._average()


def compile_terms(model, names, optimizer_name, learning_rate):
    """Compile a model whose output, (batch, 1 + n), is the loss first and then the terms it is made of.

    Args:
        model: the model.
        names: of the n terms.
        optimizer_name: see :func:`optimizer`.
        learning_rate: its first learning rate.
    """

    def column(index, name):
        def value(_, found):
            return found[:, index]

        value.__name__ = name
        return value

    extra = {"jit_compile": _jit(False)} if MAJOR >= 3 else {}
    model.compile(
        loss=column(0, "loss"),
        optimizer=optimizer(optimizer_name, learning_rate),
        metrics=[column(index, name) for index, name in enumerate(names, 1)],
        **extra,
    )


def train_terms(model, names, x):
    """Take one optimizer step of a model from :func:`compile_terms`; its loss and terms, as a list of numbers."""
    if MAJOR >= 3:
        model.reset_metrics()
    y = np.zeros((len(x), 1 + len(names)), np.float32)
    return [float(value) for value in _train_on_batch(model, x, y, names=names)]


def compile_squares(model, optimizer_name, learning_rate):
    """Compile for the mean of squared errors."""
    extra = {"jit_compile": _jit(False)} if MAJOR >= 3 else {}
    # A metric, so that every Keras answers with a list.
    model.compile(loss="mse", optimizer=optimizer(optimizer_name, learning_rate), metrics=["mae"], **extra)


def train_squares(model, x, y):
    """Take one optimizer step of a model from :func:`compile_squares`; its loss."""
    if MAJOR >= 3:
        model.reset_metrics()
    return float(_train_on_batch(model, x, y, names=())[0])


_steps = weakref.WeakKeyDictionary()


def _train_on_batch(model, *batch, names=("accuracy",)):
    """Loss and metrics of one optimizer step.

    ``train_on_batch`` of Keras 3.6 hands TensorFlow a new generator each time, which is traced anew: a step of the
    small MNIST network took ten times as long as in ``fit``.
    """
    if MAJOR < 3 or backend_name() != "tensorflow":
        return model.train_on_batch(*batch)[: 1 + len(names)]
    if model not in _steps:
        import tensorflow

        # As `fit` does: the variables of optimizer and metrics must be there before the step is traced.
        model._symbolic_build(data_batch=(*batch, *[None] * (3 - len(batch))))
        _steps[model] = tensorflow.function(lambda *batch: model.train_step(batch), jit_compile=model.jit_compile)
    logs = _steps[model](*batch)
    return [logs[name] for name in ("loss", *names)]


def predict(model, x):
    """Probabilities of one batch, as a float32 array."""
    return np.asarray(outputs(model, x)[0], dtype=np.float32)


def outputs(model, x):
    """Run the compiled predict function on one batch.

    Args:
        model: the Keras model.
        x: its input, or a list of them.

    Returns:
        The list of its outputs, numpy arrays.
    """
    if MAJOR >= 3 and not model.compiled and model.predict_function is None:
        # Left alone, Keras 3 chooses XLA on TensorFlow wherever it sees a GPU, Radeons on Metal included.
        model.jit_compile = _jit(False)
    found = model.predict_on_batch(x)
    return [np.asarray(each) for each in (found if isinstance(found, (list, tuple)) else [found])]


def relu6(name):
    """Layer that clips to 0..6; tf.keras 1.8 has none."""
    if hasattr(keras.layers, "ReLU"):
        return keras.layers.ReLU(6.0, name=name)

    def relu6(x):
        return keras.backend.relu(x, max_value=6.0)

    return keras.layers.Activation(relu6, name=name)


def spatial_mean(x, channels):
    """Mean over height and width, which stay as edges of 1; Keras learnt to keep them in 2.6.

    Each Keras gets the layers that its own MobileNet has.
    """
    if _at_least(2, 6):
        return keras.layers.GlobalAveragePooling2D(keepdims=True)(x)
    first = keras.backend.image_data_format() == "channels_first"
    kept = (channels, 1, 1) if first else (1, 1, channels)
    return keras.layers.Reshape(kept, name="reshape_1")(keras.layers.GlobalAveragePooling2D()(x))


def static_shape(x):
    """Shape of a Keras tensor, batch included, with None where it is open."""
    shape = x.shape if MAJOR >= 3 else keras.backend.int_shape(x)
    return tuple(None if size is None else int(size) for size in shape)


def is_keras_tensor(x):
    """Whether a tensor came out of a Keras layer."""
    ask = getattr(keras.backend, "is_keras_tensor", None)  # not to be had in tf.keras 1.8
    return ask(x) if ask else hasattr(x, "_keras_history")


def source_inputs(x):
    """Input tensors that a Keras tensor was made from."""
    if hasattr(keras.utils, "get_source_inputs"):
        return keras.utils.get_source_inputs(x)
    from tensorflow.python.keras._impl.keras.engine.network import get_source_inputs  # TensorFlow 1.8

    return get_source_inputs(x)


def named_weights(model):
    """List (path, shape) of every weight, in the order of ``model.get_weights()``.

    Paths are ``layer/weight`` and equal on every Keras, since each layer of the zoo is named.
    """
    found = []
    for layer in model.layers:
        for weight in layer.weights:
            short = str(weight.name).split(":")[0].split("/")[-1]
            if short == "kernel" and type(layer).__name__ == "DepthwiseConv2D":
                short = "depthwise_kernel"  # as Keras 2 and all published files call it
            found.append((layer.name + "/" + short, _shape(weight)))
    return found


def _shape(weight):
    """Shape as plain integers; PlaidML's variables have it only in the backend's books."""
    shape = weight.shape if MAJOR >= 3 else keras.backend.int_shape(weight)
    return tuple(int(size) for size in shape)


def drawn_weights(model):
    """Weights that their layer draws at random: path -> standard deviation of a normal draw, None for Glorot uniform.

    Layers of the zoo's own say so in ``drawn``; of Keras's own, kernels with Keras's default are taken.
    """
    found = {}
    for layer in model.layers:
        for weight, initializer in (
            ("kernel", "kernel_initializer"),
            ("depthwise_kernel", "depthwise_initializer"),
        ):
            if _is_glorot_uniform(getattr(layer, initializer, None)):
                found[layer.name + "/" + weight] = None
        for weight, deviation in getattr(layer, "drawn", {}).items():
            found[layer.name + "/" + weight] = deviation
    return found


def _is_glorot_uniform(initializer):
    if initializer is None:
        return False
    if type(initializer).__name__ == "GlorotUniform":
        return True
    config = initializer.get_config() if hasattr(initializer, "get_config") else {}
    return (config.get("scale"), config.get("mode"), config.get("distribution")) == (
        1.0,
        "fan_avg",
        "uniform",
    )


def save(model, path):
    """Write a model in this Keras's own format, with its optimizer where it was trained itself."""
    if MAJOR >= 3:
        model.save(path)
    else:  # tf.keras 1.8 stumbles over a model that was never compiled
        model.save(path, include_optimizer=getattr(model, "optimizer", None) is not None)


def native_suffix():
    """Suffix of this Keras's own model file."""
    return ".keras" if MAJOR >= 3 else ".h5"


class _Ops:
    """The few operations that losses are written in, over whichever Keras is at hand."""

    def __init__(self):
        K = keras.ops if MAJOR >= 3 else keras.backend
        self.reshape, self.square, self.sqrt, self.tanh, self._mean = K.reshape, K.square, K.sqrt, K.tanh, K.mean
        self.power = K.power if MAJOR >= 3 else K.pow

    def mean_of_places(self, x):
        """(batch, height, width, channels) -> (batch, 1, 1, channels)."""
        return self._mean(x, axis=(1, 2), keepdims=True)

    @staticmethod
    def sum_rows(x):
        """(batch, n) -> (batch, 1)."""
        if MAJOR >= 3:
            return keras.ops.sum(x, axis=1, keepdims=True)
        return keras.backend.sum(x, axis=1, keepdims=True)

    @staticmethod
    def pairs(a, b):
        """(batch, places, m) and (batch, places, n) -> (batch, m, n): products of channels, summed over places."""
        if MAJOR >= 3:
            return keras.ops.matmul(keras.ops.transpose(a, (0, 2, 1)), b)
        return keras.backend.batch_dot(keras.backend.permute_dimensions(a, (0, 2, 1)), b, axes=[2, 1])


ops = _Ops()


def precision_of(x):
    """What a Keras tensor is stored in, such as ``"bfloat16"``."""
    return str(x.dtype) if MAJOR >= 3 else "float32"


def computed(function, x, shape, name=None, precision="float32"):
    """Layer of a function over tensors, written in :data:`ops`.

    Args:
        function: from a tensor, or a list of them, to a tensor.
        x: the tensor or the list.
        shape: of the result, without the batch.
        name: of the layer.
        precision: what it computes in; tensors of others are converted first.
    """
    extra = {"dtype": precision} if MAJOR >= 3 else {}
    return keras.layers.Lambda(function, output_shape=tuple(shape), name=name, **extra)(x)


class Held(keras.layers.Layer):
    """Gives the same array whatever its input: a picture to be optimised, or a target to reach.

    Args:
        shape: of the array, (1, ...); it starts as zeros, ``set_weights`` fills it.
        trainable: whether training changes it.
        name: of the layer.
    """

    def __init__(self, shape, trainable, name):
        super(Held, self).__init__(name=name)
        self._held_shape, self.trainable = tuple(shape), trainable

    def build(self, input_shape):
        self.value = self.add_weight(
            name="value", shape=self._held_shape, initializer="zeros", trainable=self.trainable
        )
        self.built = True

    def call(self, inputs):
        return keras.ops.convert_to_tensor(self.value) if MAJOR >= 3 else self.value + 0.0

    def compute_output_shape(self, input_shape):
        return self._held_shape


@contextlib.contextmanager
def computing_in(precision):
    """Layers made inside compute in ``float32`` or, on Keras 3, in ``bfloat16``."""
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


def losses_and_gradient(model, held):
    """The function that a model computes of the array held by one of its layers, compiled where the stack compiles.

    Args:
        model: takes a (1, 1) array that it makes no use of, gives (1, 1) losses.
        held: its one trainable :class:`Held` layer, of shape (1, ...).

    Returns:
        A function from an array (...) to the list of losses and the gradient of their sum, (...) float32.
    """
    name = backend_name()
    if MAJOR < 3 and (_tensorflow_1() or name == "plaidml"):
        compute = _of_graph(model, held)
    elif name == "jax":
        compute = _of_jax(model, held)
    elif name == "torch":
        compute = _of_torch(model, held)
    else:
        compute = _of_tensorflow(model, held)

    def function(x):
        found, slope = compute(np.asarray(x, np.float32)[None])
        return [float(np.asarray(each).reshape(())) for each in found], np.asarray(slope, np.float32)[0]

    return function


_NOTHING = np.zeros((1, 1), np.float32)


def _listed(outputs):
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def _of_graph(model, held):
    K = keras.backend
    total = model.outputs[0]
    for each in model.outputs[1:]:
        total = total + each
    slopes = K.gradients(K.sum(total), [held.value])
    run = K.function([model.inputs[0]], list(model.outputs) + list(slopes))

    def compute(x):
        held.set_weights([x])
        found = run([_NOTHING])
        return found[:-1], found[-1]

    return compute


def _of_tensorflow(model, held):
    import tensorflow

    variable = held.value.value if MAJOR >= 3 else held.value

    @tensorflow.function
    def run():
        with tensorflow.GradientTape() as tape:
            found = _listed(model(tensorflow.constant(_NOTHING), training=False))
            total = tensorflow.add_n([tensorflow.reduce_sum(each) for each in found])
        return found, tape.gradient(total, variable)

    def compute(x):
        variable.assign(x)
        return run()

    return compute


def _of_torch(model, held):
    import torch

    variable = held.value.value

    def compute(x):
        with torch.no_grad():
            variable.copy_(torch.from_numpy(x))
        variable.grad = None
        found = _listed(model(_NOTHING, training=False))
        sum(each.sum() for each in found).backward()
        return [each.detach().cpu().numpy() for each in found], variable.grad.cpu().numpy()

    return compute


def _of_jax(model, held):
    import jax

    fixed = [variable.value for variable in model.non_trainable_variables]

    def total(x, fixed):
        found = _listed(model.stateless_call([x], fixed, _NOTHING, training=False)[0])
        return sum(each.sum() for each in found), found

    run = jax.jit(jax.value_and_grad(total, has_aux=True))

    def compute(x):
        (_, found), slope = run(x, fixed)
        return found, slope

    return compute

"""Optimizers with the same update rule on every Keras, including gradient clipping."""

import os
import types

from zoo.models.compat.version import MAJOR, at_least, backend_name, is_tensorflow_1, keras, version


def optimizer(name, learning_rate, clip=None, beta_2=0.999, weight_decay=0.0):
    """Create an optimizer; raise ValueError if its name is unknown or this Keras does not support a setting.

    Args:
        name: ``adam``, ``sgd``, ``momentum`` (SGD with Nesterov momentum 0.9) or ``rmsprop``.
        clip: largest global norm of the gradients; None disables clipping.
        beta_2: decay rate of Adam's second moment.
        weight_decay: decoupled weight decay (Loshchilov and Hutter 2019, https://arxiv.org/abs/1711.05101).
    """
    if weight_decay and not at_least(2, 4) and not (is_tensorflow_1() and name == "adam"):
        words = "weight decay needs TensorFlow 2.4 or newer, or Adam on TensorFlow 1; this is Keras %s with %s"
        raise ValueError((words + ": set trainer.weight_decay=0") % (version(), name))
    if clip and backend_name() == "plaidml":  # PlaidML reports wrong shapes of gradients.
        raise ValueError("PlaidML cannot clip gradients: set trainer.clip=null")
    kinds = {
        "adam": ("Adam", {"beta_2": beta_2}), "sgd": ("SGD", {}),
        "momentum": ("SGD", {"momentum": 0.9, "nesterov": True}), "rmsprop": ("RMSprop", {}),
    }  # fmt: skip
    if name not in kinds:
        raise ValueError("optimizer must be one of %s, got %r" % (", ".join(sorted(kinds)), name))
    if is_tensorflow_1() and name == "adam":
        instance = _adam_of_tensorflow_1(learning_rate, clip, beta_2)
        return _shrink_weights(instance, weight_decay) if weight_decay else instance
    arguments = {"learning_rate" if at_least(2, 3) else "lr": float(learning_rate)}
    if clip and at_least(2, 4):
        arguments["global_clipnorm"] = float(clip)
    if weight_decay and MAJOR >= 3:
        arguments["weight_decay"] = float(weight_decay)
    kind, own = kinds[name]
    # The default optimizers of TensorFlow 2.11 and 2.12 are slow on Metal or fail there
    # (https://github.com/tensorflow/tensorflow/issues/58988). The previous ones are available as ``legacy``.
    module = getattr(keras.optimizers, "legacy", keras.optimizers) if MAJOR == 2 else keras.optimizers
    instance = getattr(module, kind)(**own, **arguments)
    if weight_decay and MAJOR < 3:
        _shrink_weights(instance, weight_decay)
    if is_tensorflow_1():
        _synchronize_gradients(instance)
    if MAJOR >= 3 and backend_name() == "tensorflow":
        _add_up_rows(instance)
    if backend_name() == "torch" and _lacks_lists():
        _update_one_by_one(instance)
    return _clip_gradients(instance, clip) if clip and not at_least(2, 4) else instance


def _lacks_lists():
    """Return whether PyTorch lacks operations on lists of tensors for Apple's GPU: 2.1 and 2.2 (pytorch#77764)."""
    import torch

    if not os.environ.get("KERAS_TORCH_DEVICE", "").startswith("mps"):
        return False
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return not any(has("aten::_foreach_add_.List", key) for key in ("MPS", "CompositeExplicitAutograd"))


def _update_one_by_one(instance):
    """Make Keras update one weight at a time, as on its other backends, instead of lists of weights."""
    base = next(each for each in type(instance).__mro__ if each.__name__ == "BaseOptimizer")
    names = ("_backend_update_step", "_apply_weight_decay")
    names += ("_backend_reset_gradient_accumulators", "_backend_increment_gradient_accumulators")
    for name in names:
        setattr(instance, name, types.MethodType(getattr(base, name), instance))


def _adam_of_tensorflow_1(learning_rate, clip, beta_2):
    """Create TensorFlow's Adam: Adam of tf.keras 1.8 reads its step count while another thread increments it.

    As a result, its first step is randomly 0.74 or 1 times the right size, and runs are not reproducible.
    """
    import tensorflow

    rate = keras.backend.variable(learning_rate, name="learning_rate")
    instance = tensorflow.train.AdamOptimizer(rate, beta2=beta_2, epsilon=keras.backend.epsilon())
    instance.learning_rate = rate
    original = instance.compute_gradients

    def compute_gradients(*arguments, **named):
        gradients, variables = zip(*original(*arguments, **named))
        return list(zip(tensorflow.clip_by_global_norm(gradients, clip)[0], variables))

    if clip:
        instance.compute_gradients = compute_gradients
    return instance


def _clip_gradients(instance, clip):
    K, original = keras.backend, instance.get_gradients

    def get_gradients(loss, parameters):
        gradients = original(loss, parameters)
        norm = K.sqrt(sum(K.sum(K.square(gradient)) for gradient in gradients))
        factor = clip / K.maximum(norm, K.constant(clip))
        return [gradient * factor for gradient in gradients]

    instance.get_gradients = get_gradients
    return instance


def _shrink_weights(instance, decay):
    """Shrink weights of two or more axes before each update, as Keras 3 does, since Keras 2 has no weight decay."""
    import tensorflow

    original = instance.apply_gradients

    def apply_gradients(grads_and_vars, *arguments, **named):
        pairs = list(grads_and_vars)
        with tensorflow.control_dependencies([gradient for gradient, _ in pairs if gradient is not None]):
            wide = [variable for _, variable in pairs if len(variable.shape) > 1]
            shrunk = [variable.assign_sub(decay * instance.learning_rate * variable) for variable in wide]
        with tensorflow.control_dependencies([each for each in shrunk if each is not None]):
            return original(pairs, *arguments, **named)

    instance.apply_gradients = apply_gradients
    return instance


def _synchronize_gradients(instance):
    """Update weights only after all gradients are computed, which tf.keras 1.8 does not ensure.

    It may update a layer's kernel before it computes the gradient of the previous layer from it. This occurred in 2
    of 400 steps of a network with two layers. TensorFlow's own optimizers are not affected.
    """
    import tensorflow

    original = instance.get_gradients

    def get_gradients(loss, parameters):
        gradients = original(loss, parameters)
        with tensorflow.control_dependencies([loss, *gradients]):
            return [tensorflow.identity(gradient) for gradient in gradients]

    instance.get_gradients = get_gradients


def _add_up_rows(instance):
    """Sum the gradients of an embedding row that is used several times in a batch, before they reach the optimizer.

    Keras 3 on TensorFlow does not: Adam sums the squares of the parts instead of squaring their sum. The update of a
    word that occurs ten times in a batch was twice as large as on PyTorch and JAX.
    """
    import tensorflow

    original = instance.apply

    def apply(grads, trainable_variables=None):
        whole = [each if each is None else tensorflow.convert_to_tensor(each) for each in grads]
        return original(whole, trainable_variables)

    instance.apply = apply


def set_learning_rate(model, value):
    if MAJOR >= 3:
        model.optimizer.learning_rate = float(value)
        return
    instance = getattr(model.optimizer, "optimizer", model.optimizer)  # tf.keras 1 wraps TensorFlow's optimizers.
    variable = getattr(instance, "learning_rate", None)
    keras.backend.set_value(instance.lr if variable is None else variable, float(value))

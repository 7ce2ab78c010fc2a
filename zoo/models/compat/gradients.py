"""Value and gradient of a model as a function of one array, compiled if the stack supports it."""

import numpy as np

from zoo.models.compat.layers import as_list
from zoo.models.compat.version import MAJOR, backend_name, is_tensorflow_1, keras

# The input of a model that ignores it.
_UNUSED = np.zeros((1, 1), np.float32)


def value_and_grad(model, constant):
    """Return a function that computes a model's losses and their gradient with respect to one array.

    Args:
        model: takes a (1, 1) array that it ignores, returns (1, 1) losses.
        constant: its only trainable :class:`zoo.models.compat.layers.TrainableConstant`, of shape (1, ...).

    Returns:
        A function from an array (...) to the list of losses and the gradient of their sum, (...) float32.
    """
    name = backend_name()
    if MAJOR < 3 and (is_tensorflow_1() or name == "plaidml"):
        compute = _of_graph(model, constant)
    elif name in ("jax", "mlx"):
        compute = _of_jax_or_mlx(model)
    elif name == "torch":
        compute = _of_torch(model, constant)
    else:
        compute = _of_tensorflow(model, constant)

    def function(x):
        losses, gradient = compute(np.asarray(x, np.float32)[None])
        return [float(np.asarray(each).reshape(())) for each in losses], np.asarray(gradient, np.float32)[0]

    return function


def _of_graph(model, constant):
    K = keras.backend
    total = sum(model.outputs[1:], model.outputs[0])
    gradients = K.gradients(K.sum(total), [constant.value])
    run = K.function([model.inputs[0]], list(model.outputs) + list(gradients))

    def compute(x):
        constant.set_weights([x])
        arrays = run([_UNUSED])
        return arrays[:-1], arrays[-1]

    return compute


def _of_tensorflow(model, constant):
    import tensorflow

    variable = constant.value.value if MAJOR >= 3 else constant.value

    @tensorflow.function
    def run():
        with tensorflow.GradientTape() as tape:
            losses = as_list(model(tensorflow.constant(_UNUSED), training=False))
            total = tensorflow.add_n([tensorflow.reduce_sum(each) for each in losses])
        return losses, tape.gradient(total, variable)

    def compute(x):
        variable.assign(x)
        return run()

    return compute


def _of_torch(model, constant):
    import torch

    variable = constant.value.value

    def compute(x):
        with torch.no_grad():
            variable.copy_(torch.from_numpy(x))
        variable.grad = None
        losses = as_list(model(_UNUSED, training=False))
        sum(each.sum() for each in losses).backward()
        return [each.detach().cpu().numpy() for each in losses], variable.grad.cpu().numpy()

    return compute


def _of_jax_or_mlx(model):
    fixed = [variable.value for variable in model.non_trainable_variables]

    def total(x, fixed):
        losses = as_list(model.stateless_call([x], fixed, _UNUSED, training=False)[0])
        return sum(each.sum() for each in losses), losses

    if backend_name() == "jax":
        import jax

        run, evaluate = jax.jit(jax.value_and_grad(total, has_aux=True)), jax.block_until_ready
    else:
        import mlx.core as mx

        run, evaluate = mx.compile(mx.value_and_grad(total)), mx.eval

    def compute(x):
        (_, losses), gradient = results = run(keras.ops.convert_to_tensor(x), fixed)
        evaluate(results)
        return losses, gradient

    return compute

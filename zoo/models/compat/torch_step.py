"""Optimizer steps of a classifier in plain PyTorch, equivalent to Keras's steps but faster.

Keras computes the loss from probabilities, and metrics and Adam in a dozen operations each. Here the loss is computed
from the logits, as on TensorFlow, and one fused operation clips gradients, applies weight decay and updates weights.
Weights and moments remain variables of Keras, so that checkpoints, freezing and averages work as usual. Networks of
only simple layers also skip Keras's overhead for each layer. On two CPU threads, each computes half of the batch,
unless the network has batch normalization.
"""

import functools
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.optim.adamw import adamw

from zoo.models.compat.version import keras

# Methods that a user's own model may override.
OVERRIDABLE = ("train_step", "compute_loss", "compute_metrics")
# Options of optimizers that the fused operation does not support.
UNFUSED = (
    "amsgrad", "clipnorm", "clipvalue", "gradient_accumulation_steps", "loss_scale_factor", "use_ema",
)  # fmt: skip
# Layers of Keras that contain no other layers, masks or losses.
PLAIN = (
    "Activation", "Add", "BatchNormalization", "Conv2D", "Dense", "DepthwiseConv2D", "Dropout", "Flatten",
    "GlobalAveragePooling2D", "MaxPooling2D", "ReLU", "Reshape", "ZeroPadding2D",
)  # fmt: skip


class Step:
    """Takes optimizer steps of a model that :func:`can_take` accepts, compiled by ``compile_classifier``."""

    def __init__(self, model):
        self._logits, self._calls = _direct_calls(model)
        self._divides = self._calls is not None and _learns_each_item_alone(model)
        self._variables = list(model.trainable_variables)
        self._values = [variable.value for variable in self._variables]
        if self._variables and not model.optimizer.built:
            model.optimizer.build(self._variables)
        self._adam = _Adam(model.optimizer, self._variables) if _fuses(model.optimizer, self._variables) else None

    def take(self, model, average, x, y, weights=None):
        """Take one step and return the loss and the accuracy.

        Args:
            average: function from this process's gradients to those of the whole batch; None with one process.
            y: (batch, ..., classes) labels.
            weights: (batch,) weight of each item; None weights all equally.
        """
        y = keras.ops.convert_to_tensor(y)
        figures, gradients = self._in_halves(model, x, y, weights) or self._part(model, x, y, weights)
        if self._values:
            gradients = _laid_out(self._values, gradients)
            if self._adam is None:
                with torch.no_grad():
                    model.optimizer.apply(gradients, self._variables)  # averages them too
            else:
                self._adam.move(gradients if average is None else average(gradients))
        return figures.tolist()

    def _in_halves(self, model, x, y, weights):
        """Compute the two halves of a batch in parallel, in one thread each.

        Return None unless there are two threads (other numbers were not measured) and two independent items.
        """
        if not self._divides or torch.get_num_threads() != 2 or len(y) < 2:
            return None
        middle = len(y) // 2
        halves = [
            _threads().submit(self._part, model, x[cut], y[cut], None if weights is None else weights[cut])
            for cut in (slice(middle), slice(middle, None))
        ]
        (figures, gradients), (others, added) = (half.result() for half in halves)
        share = middle / len(y)
        learn = [place for place, each in enumerate(gradients) if each is not None]
        means = torch._foreach_mul([gradients[place] for place in learn], share)
        torch._foreach_add_(means, [added[place] for place in learn], alpha=1.0 - share)
        for place, mean in zip(learn, means):
            gradients[place] = mean
        return figures * share + others * (1.0 - share), gradients

    def _part(self, model, x, y, weights):
        """Return the loss and the accuracy as a tensor, and each weight's gradient (None for unused weights)."""
        loss, predicted = self._loss(model, x, y, weights)
        gradients = list(torch.autograd.grad(loss, self._values, allow_unused=True)) if self._values else []
        with torch.no_grad():
            right = (predicted.argmax(-1) == y.argmax(-1)).to(loss.dtype).mean()
            return torch.stack([loss.detach(), right]), gradients

    def _loss(self, model, x, y, weights):
        if self._logits is not None:
            x = keras.ops.convert_to_tensor(x, self._logits.inputs[0].dtype)
            predicted = _at_least_float32(self._logits._run_through_graph([x], self._calls.__getitem__))
            log = torch.log_softmax(predicted, -1)
        else:  # as in Keras
            predicted = _at_least_float32(model(x, training=True))
            smallest = keras.config.epsilon()
            log = torch.log(torch.clip(predicted / predicted.sum(-1, keepdim=True), smallest, 1.0 - smallest))
        losses = -(y * log).sum(-1)
        if weights is not None:
            weights = keras.ops.convert_to_tensor(weights, dtype=losses.dtype)
            losses = losses * weights.reshape(-1, *[1] * (losses.dim() - 1))
        return sum(model.losses, losses.mean()), predicted  # model.losses: regularization


def _laid_out(values, gradients):
    """Return gradients with the strides of their weights, and no shared memory: they are changed in place."""
    taken, rows = set(), []
    for value, gradient in zip(values, gradients):
        if gradient is not None:
            if gradient.stride() != value.stride() or gradient.data_ptr() in taken:
                gradient = torch.empty_like(value).copy_(gradient)
            taken.add(gradient.data_ptr())
        rows.append(gradient)
    return rows


@functools.lru_cache(maxsize=None)
def _threads():
    """Return a pool of two threads whose operations are single-threaded."""
    pool, both = ThreadPoolExecutor(2), threading.Barrier(2)

    def begin():
        torch.set_num_threads(1)
        torch.get_num_threads()  # the first query fixes the number for this thread
        both.wait()  # so that each thread runs this once

    for begun in [pool.submit(begin) for _ in range(2)]:
        begun.result()
    torch.set_num_threads(2)  # also the initial number of later threads
    return pool


def _direct_calls(model):
    """Return the model up to its logits, and functions that call its layers in training without Keras's overhead.

    Return (None, None) if a layer is neither plain nor one of the transformer, or if the last layer has no softmax.
    """
    last, node, _ = model.outputs[0]._keras_history
    dense = type(last) is keras.layers.Dense
    ends = dense or type(last) is keras.layers.Activation
    if len(model.inputs) != 1 or not ends or last.activation is not keras.activations.softmax:
        return None, None
    # Not `last.input`: a layer shared by several models has one for each of them.
    logits = model.outputs if dense else last._inbound_nodes[node].input_tensors
    part = keras.Model(model.inputs[0], logits[0], name="logits_of_" + model.name)
    layers = [layer for layer in part.operations if not isinstance(layer, keras.layers.InputLayer)]
    shared = dense and len(last._inbound_nodes) > 1  # elsewhere, its softmax is needed
    if shared or not all(_is_simple(layer) for layer in layers):
        return None, None
    return part, {layer: _direct_call(layer, _linear if layer is last else type(layer).call) for layer in layers}


def _is_simple(layer):
    if type(layer).__module__.startswith("zoo.models.transformer"):
        return True
    changed = getattr(layer, "lora_enabled", False) or getattr(layer.dtype_policy, "quantization_mode", None)
    plain = type(layer) in [getattr(keras.layers, name) for name in PLAIN]
    return plain and not changed and layer.activity_regularizer is None


def _linear(layer, x):
    product = keras.ops.matmul(x, layer.kernel)
    return product if layer.bias is None else keras.ops.add(product, layer.bias)


def _direct_call(layer, function):
    scope = keras.src.backend.common.variables.AutocastScope
    learns = {"training": True} if "training" in inspect.signature(function).parameters else {}
    kind, mixed = getattr(torch, layer.compute_dtype), layer.compute_dtype != layer.variable_dtype

    def call(x, training=None, mask=None):  # True here, and None because of `can_take`
        x = [_as(kind, each) for each in x] if isinstance(x, (list, tuple)) else _as(kind, x)
        if not mixed:
            return function(layer, x, **learns)
        with scope(layer.compute_dtype):
            return function(layer, x, **learns)

    return call


def _as(kind, tensor):
    return tensor.to(kind) if tensor.is_floating_point() else tensor


def _learns_each_item_alone(model):
    """Return whether items of a batch are independent: on the CPU, without random draws, statistics or penalties."""
    draws = any(getattr(layer, "seed_generator", None) is not None for layer in model.layers)
    on_processor = all(weight.value.device.type == "cpu" for weight in model.weights)
    return on_processor and not draws and not model.losses and not model.non_trainable_variables


def _at_least_float32(tensor):
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))


class _Adam:
    """Adam on the CPU, in one pass over all weights.

    PyTorch adds epsilon to the root of the second moment after the bias correction, Keras before it. The epsilon for
    PyTorch is Keras's divided by the root of the correction.
    """

    def __init__(self, optimizer, variables):
        self._optimizer = optimizer
        places = [optimizer._get_variable_index(variable) for variable in variables]
        rows = [
            (variable.value, optimizer._momentums[place].value, optimizer._velocities[place].value)
            for variable, place in zip(variables, places)
        ]
        shrinks = [bool(optimizer.weight_decay) and optimizer._use_weight_decay(each) for each in variables]
        self._rows, self._shrinks = rows, shrinks

    @torch.no_grad()
    def move(self, gradients):
        """Update all weights with the gradients of a step; the gradient of an unused weight is None."""
        optimizer = self._optimizer
        done, rate = int(optimizer.iterations.value), float(optimizer._learning_rate.value)
        used, scale = [each for each in gradients if each is not None], None
        if optimizer.global_clipnorm and used:  # the divisor that clips the global norm of the gradients
            scale = (torch.nn.utils.get_total_norm(used) / optimizer.global_clipnorm).clamp_(min=1.0)
        for shrinking in (True, False):
            rows = [
                (value, gradient, first, second)
                for (value, first, second), gradient, shrinks in zip(self._rows, gradients, self._shrinks)
                if gradient is not None and shrinks is shrinking
            ]
            if not rows:
                continue
            values, present, first, second = (list(column) for column in zip(*rows))
            steps = list(torch.full((len(rows),), float(done)).unbind())
            adamw(
                values, present, first, second, [], steps, fused=True, grad_scale=scale, amsgrad=False,
                beta1=optimizer.beta_1, beta2=optimizer.beta_2, lr=rate, maximize=False,
                weight_decay=float(optimizer.weight_decay) if shrinking else 0.0,
                eps=optimizer.epsilon / (1.0 - optimizer.beta_2 ** (done + 1)) ** 0.5,
            )  # fmt: skip
        optimizer.iterations.assign_add(1)


def can_take(model, names):
    """Return whether a :class:`Step` does everything that Keras does for this model, its optimizer and metrics."""
    if names != ("accuracy",) or model.loss != "categorical_crossentropy":
        return False
    if len(getattr(model, "outputs", None) or []) != 1:
        return False
    if any(getattr(type(model), name) is not getattr(keras.Model, name) for name in OVERRIDABLE):
        return False
    masks = any(getattr(layer, "mask_zero", False) or type(layer) is keras.layers.Masking
                for layer in model._flatten_layers())  # fmt: skip
    return not masks and not isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)


def _fuses(optimizer, variables):
    """Return whether the fused operation applies: measured on CPUs only, and missing from older PyTorch."""
    if not hasattr(torch.nn.utils, "get_total_norm"):  # the fused operation on CPUs is older
        return False
    if not isinstance(optimizer, keras.optimizers.Adam) or any(getattr(optimizer, name) for name in UNFUSED):
        return False
    values = [variable.value for variable in variables if variable.constraint is None]
    plain = all(value.device.type == "cpu" and value.dtype == torch.float32 for value in values)
    return plain and len(values) == len(variables)

"""Change the end of a network for its kind of target, and compute numbers in their unit."""

import numpy as np

from zoo.models import compat
from zoo.protocol.targets import CLASSES, KINDS, NUMBER


def for_target(model, kind):
    """Return a classifier with the last activation of a kind of target, and new weights in its last layer.

    The last layer is the softmax, or a layer with weights that ends in it.
    """
    if kind == CLASSES:
        return model
    last = model.outputs[0]._keras_history[0]
    config = dict(last.get_config(), activation=KINDS[kind].activation)
    outputs = type(last).from_config(config)(last.input)
    return compat.keras.models.Model(inputs=model.inputs[0], outputs=outputs, name=model.name)


def in_unit(model, target):
    """Return a trained model whose output is in the unit of its target: a last layer applies mean and scale."""
    if target is None or target.kind != NUMBER:
        return model
    unit = compat.keras.layers.Dense(1, name="unit", **compat.full_precision())
    whole = compat.keras.models.Model(inputs=model.inputs[0], outputs=unit(model.outputs[0]), name=model.name)
    unit.set_weights([np.array([[target.scale]], np.float32), np.array([target.mean], np.float32)])
    return whole


def for_file(model, target):
    """Return a trained model to save as a file of Keras, which states by its loss what the model predicts."""
    if target is None:
        return model
    whole = in_unit(model, target)
    whole.compile(loss=target.loss or KINDS[target.kind].loss, optimizer="sgd")
    return whole


def loss(target):
    """Return the loss of a request's target: a name in Keras, or a function."""
    if target is None:
        return KINDS[CLASSES].loss
    return compat.weighted_cross_entropy(target.weights) if target.weights else target.loss or KINDS[target.kind].loss

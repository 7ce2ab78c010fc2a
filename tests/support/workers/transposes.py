"""Cancels the transposes of small graphs; runs inside the OpenVINO stack."""

import numpy as np
import openvino
from openvino import opset13 as ops

from zoo.worker.inference import openvino_transposes

LAST, FRONT = [0, 2, 3, 1], [0, 3, 1, 2]
SHAPE = (2, 3, 5, 7)  # batch, channels, height, width: all different


def constant(*shape):
    return ops.constant(np.random.RandomState(sum(shape)).uniform(0.5, 1.5, shape).astype(np.float32))


def normalised(x):
    swapped = ops.transpose(x, [0, 3, 2, 1])
    numbers = [constant(3) for _ in range(4)]
    return ops.transpose(ops.batch_norm_inference(swapped, *numbers, 1e-3), [0, 3, 2, 1])


def padded(x):
    return ops.pad(x, np.array([0, 1, 0, 0]), np.array([0, 2, 3, 0]), "constant", np.float32(0.5))


# From feature maps with the channels last to others.
GRAPHS = {
    "clamp": lambda x: ops.clamp(x, 0.1, 0.6),
    "scalar": lambda x: ops.multiply(x, ops.constant(np.float32(2))),
    "channels": lambda x: ops.add(ops.multiply(x, constant(3)), constant(1, 1, 1, 3)),
    "places": lambda x: ops.subtract(constant(5, 7, 3), x),
    "pad": padded,
    "normalised": normalised,
    "two readers": lambda x: ops.add(ops.relu(x), ops.sigmoid(x)),
    "mean kept": lambda x: ops.subtract(x, ops.reduce_mean(x, np.array([1, 2]), True)),
    "softmax": lambda x: ops.softmax(x, 3),
    "concat": lambda x: ops.concat([x, ops.relu(x)], 3),
    "shifted": lambda x: ops.add(x, ops.transpose(ops.transpose(x, [0, 2, 1, 3]), [0, 2, 1, 3])),
}  # fmt: skip
# From feature maps with the channels last to what is no longer one.
ENDS = {
    "mean": lambda x: ops.reduce_mean(x, np.array([1, 2]), False),
    "sum over channels": lambda x: ops.reduce_sum(x, np.array([3]), False),
    "sum over rows and channels": lambda x: ops.reduce_sum(x, np.array([1, 3]), False),
    "maximum by names from the end": lambda x: ops.reduce_max(x, np.array([-1]), True),
}


def graph(act, back):
    front = ops.parameter(SHAPE, openvino.Type.f32)
    result = act(ops.transpose(ops.relu(front), LAST))
    return openvino.Model([ops.result(ops.relu(ops.transpose(result, FRONT)) if back else result)], [front])


def computed(model):
    x = np.random.RandomState(0).uniform(-1, 1, SHAPE).astype(np.float32)
    return openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]


def changed(act, back):
    model = graph(act, back)
    before, count = computed(model), sum(node.get_type_name() == "Transpose" for node in model.get_ops())
    left = openvino_transposes.cancel(model)
    after = computed(model)
    return [count, left, float(np.abs(before - after).max()) if before.shape == after.shape else 1e9]


def answer(request):
    """Transposes before, those left, and the largest difference, by the name of the graph."""
    graphs = {name: changed(act, True) for name, act in GRAPHS.items()}
    graphs.update((name, changed(act, False)) for name, act in ENDS.items())
    return graphs

"""Remove the transposes from a graph for OpenVINO.

Keras keeps feature maps as (batch, height, width, channels), but OpenVINO's convolutions need the channels first.
Keras therefore adds a transpose before and after every convolution and every batch normalization. OpenVINO 2026.4
executes them, which took two thirds of the time of MobileNet. Moved down past elementwise operations, each transpose
meets its inverse and both are removed. Only the order in memory changes, not the numbers.
"""

import numpy as np

# Operations that compute each element from the elements at the same position.
ELEMENTWISE = frozenset((
    "Abs", "Add", "Clamp", "Convert", "Divide", "Elu", "Exp", "Gelu", "HSigmoid", "HSwish", "Log", "Maximum",
    "Minimum", "Mish", "Multiply", "Negative", "Power", "Relu", "Sigmoid", "SoftPlus", "Sqrt", "SquaredDifference",
    "Subtract", "Swish", "Tanh",
))  # fmt: skip
REDUCTIONS = frozenset(("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"))


def cancel(graph):
    """Move every transpose of an ``openvino.Model`` down as far as possible; two inverse ones cancel.

    Return the number of transposes of feature maps that remain.
    """
    from openvino.passes import ConstantFolding, Manager

    fold = Manager()
    fold.register_pass(ConstantFolding())
    fold.run_passes(graph)
    for node in graph.get_ordered_ops():
        _move(node)
    graph.validate_nodes_and_infer_types()
    return sum(_order(node.output(0)) is not None for node in graph.get_ordered_ops() if node.get_output_size())


def _move(node):
    """Connect a node to the inputs of the transposes before it, and transpose its result instead."""
    orders = [_order(value) for value in node.input_values()]
    order = next((permutation for permutation in orders if permutation), None)
    if order is None:
        return
    kind = node.get_type_name()
    if kind == "Transpose":
        _merge(node, order)
    elif kind in ELEMENTWISE:
        _elementwise(node, orders, order)
    elif kind == "BatchNormInference" and order[1] == 1:
        _take(node, order)
    elif kind == "Pad" and orders[0]:
        _pad(node, order)
    elif kind in REDUCTIONS and orders[0]:
        _reduce(node, order)


def _merge(node, before):
    after = _order(node.output(0))
    if after is None:
        return
    source = _beyond(node.input_value(0))
    both = [before[axis] for axis in after]
    node.output(0).replace(source if both == sorted(both) else _transposed(source, both))


def _elementwise(node, orders, order):
    """Move a transpose past an operation whose inputs all have the same transpose or are constants."""
    constants = [_constant(value) for value in node.input_values()]
    if any(permutation != order and constant is None for permutation, constant in zip(orders, constants)):
        return
    for place, constant in enumerate(constants):
        if constant is not None and constant.size > 1:
            shaped = constant.reshape((1,) * (len(order) - constant.ndim) + constant.shape)
            _feed(node, place, shaped.transpose(np.argsort(order)))
    _take(node, order, [place for place, permutation in enumerate(orders) if permutation])


def _pad(node, order):
    begin, end = (_constant(value) for value in node.input_values()[1:3])
    if begin is not None and end is not None:
        back = np.argsort(order)
        _feed(node, 1, begin[back])
        _feed(node, 2, end[back])
        _take(node, order)


def _reduce(node, order):
    axes = _constant(node.input_value(1))
    if axes is None:
        return
    gone = [order[axis] for axis in np.ravel(axes)]
    _feed(node, 1, np.array(gone, np.int64))
    if not node.get_attributes()["keep_dims"]:
        left = [axis for axis in order if axis not in gone]
        order = [sorted(left).index(axis) for axis in left]
    _take(node, order)


def _take(node, order, places=(0,)):
    """Connect these inputs to the sources of their transposes, and transpose the result for all readers."""
    for place in places:
        node.input(place).replace_source_output(_beyond(node.input_value(place)))
    if order == sorted(order):
        return
    readers = node.output(0).get_target_inputs()
    result = _transposed(node.output(0), order)
    for reader in readers:
        reader.replace_source_output(result)


def _beyond(value):
    return value.get_node().input_value(0)


def _order(value):
    """Return the order of axes of a transpose with a constant order, or None."""
    node = value.get_node()
    permutation = _constant(node.input_value(1)) if node.get_type_name() == "Transpose" else None
    return [int(axis) for axis in permutation] if permutation is not None and permutation.size else None


def _constant(value):
    node = value.get_node()
    return node.get_data() if node.get_type_name() == "Constant" else None


def _feed(node, place, array):
    from openvino import opset13

    node.input(place).replace_source_output(opset13.constant(np.ascontiguousarray(array)).output(0))


def _transposed(value, order):
    from openvino import opset13

    return opset13.transpose(value, order).output(0)

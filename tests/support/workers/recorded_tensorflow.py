"""The worker, with a record of TensorFlow's operations: `python recorded_tensorflow.py REQUEST`, in a stack's Python.

Each operation, eager or in a graph, is appended once to the file that OPERATIONS names, with the types of its
tensors, after "default:" if TensorFlow itself has a kernel for these types that any device can use, as those of
plug-ins do. It runs on Python 3.6.
"""

import os
import runpy
import sys

from tensorflow.python.framework import kernels, op_callbacks

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
KNOWN = set()


def has_default(name, types):
    """Return whether a kernel for the device ``DEFAULT`` takes the types of an operation's attributes."""
    for kernel in kernels.get_registered_kernels_for_op(name).kernel:
        wanted = {row.name: set(row.allowed_values.list.type) for row in kernel.constraint}
        if kernel.device_type == "DEFAULT" and all(types.get(key) in wanted[key] for key in wanted if wanted[key]):
            return True
    return False


def add(op_type, inputs, attributes, outputs, op_name=None, graph=None):
    """Write an operation that is new; called by TensorFlow after each."""
    name = op_type.decode("ascii") if isinstance(op_type, bytes) else op_type
    if name.startswith("__inference"):
        return  # a function: its operations are recorded when it is traced
    tensors = [each for each in list(inputs) + list(outputs or ()) if hasattr(each, "dtype")]
    types = sorted({each.dtype.base_dtype.name for each in tensors})
    if (name, tuple(types)) in KNOWN:
        return
    KNOWN.add((name, tuple(types)))
    given = {attributes[at]: attributes[at + 1] for at in range(0, len(attributes), 2)}
    default = has_default(name, {key: getattr(value, "type", value) for key, value in given.items()})
    with open(os.environ["OPERATIONS"], "a", encoding="utf-8") as stream:
        stream.write(" ".join([name, ("default:" if default else "") + ",".join(types)]) + "\n")


op_callbacks.add_op_callback(add)
sys.argv[0] = os.path.join(ROOT, "zoo", "worker", "__main__.py")
runpy.run_path(sys.argv[0], run_name="__main__")

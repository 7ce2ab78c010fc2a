"""The worker, with a record of MLX's operations: `python recorded_mlx.py REQUEST`, in the environment of stack mlx.

Before arrays are evaluated, the operations of their graph are appended once to the file that OPERATIONS names.
"""

import functools
import io
import os
import re
import runpy
import sys

import mlx.core as mx
import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
KNOWN = set()


def add(value):
    """Write the operations in the graph of an array, or of a tree of arrays, that are new."""
    arrays = list(leaves(value))
    if not arrays:
        return
    graph = io.StringIO()
    mx.export_to_dot(graph, *arrays)
    new = set(re.findall(r'label ="([^"]+)"', graph.getvalue())) - KNOWN
    KNOWN.update(new)
    with open(os.environ["OPERATIONS"], "a", encoding="utf-8") as stream:
        stream.writelines(name.replace(" ", "") + "\n" for name in sorted(new))


def leaves(value):
    if isinstance(value, mx.array):
        yield value
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each)


def record(owner, name):
    """Record what a function evaluates."""
    plain = getattr(owner, name)

    @functools.wraps(plain)
    def recorded(*args, **kwargs):
        add(args)
        return plain(*args, **kwargs)

    setattr(owner, name, recorded)


for function in ("eval", "async_eval"):
    record(mx, function)
for method in ("item", "tolist", "__bool__", "__float__", "__int__", "__dlpack__"):
    record(mx.array, method)
for function in ("array", "asarray"):
    record(numpy, function)
sys.argv[0] = os.path.join(ROOT, "zoo", "worker", "__main__.py")
runpy.run_path(sys.argv[0], run_name="__main__")

"""NumPy on the CPU: the cost of a product without any framework."""

import numpy as np

OPERATIONS = ("product",)


def places():
    return [("numpy", "cpu")]


def prepare(what, arrays, place):
    return (lambda: np.dot(*arrays)), np.asarray

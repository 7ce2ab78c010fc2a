"""Save the weights alone, as plain arrays that every stack reads."""

from zoo.worker import weights

KIND = "weights"
NAME = "weights.npz"
NEEDS = ()


def export(model, path):
    """Write ``weights.npz``."""
    weights.save(model, path)

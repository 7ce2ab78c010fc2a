"""Save a model in the format of the stack's own Keras."""

from zoo.models import compat

KIND = "model"
NAME = "model" + compat.native_suffix()
NEEDS = ()


def export(model, path):
    """Write ``model.keras`` or, before Keras 3, ``model.h5``."""
    compat.save(model, path)

"""Check the outputs of a network before they are used."""

import numpy as np

from zoo.worker.errors import UserError


def finite(values):
    """Return a network's outputs, or raise UserError for NaN or infinity."""
    if not np.isfinite(values).all():
        raise UserError(
            "the network's outputs are not finite numbers (NaN or infinity): its weights are damaged or too large "
            "for this input and precision"
        )
    return values

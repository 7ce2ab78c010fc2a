"""Check what a network computed before anything is made of it."""

import numpy as np

from zoo.worker.errors import UserError


def finite(values):
    """Return a network's outputs; refuse them where one is no finite number.

    Raises:
        UserError: NaN or infinity is among them.
    """
    if not np.isfinite(values).all():
        raise UserError(
            "the network's outputs are not finite numbers (NaN or infinity): its weights are damaged or too large "
            "for this input and precision"
        )
    return values

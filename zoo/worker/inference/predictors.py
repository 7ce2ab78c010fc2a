"""Select a framework's fastest function from pixels to probabilities."""

from zoo.models import compat
from zoo.worker.errors import UserError

# Keras's names of the precisions.
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def prepare(device, precision):
    """Set the precision ``float32``, ``float16`` or ``bfloat16``; call it before the model is built.

    ``device`` is the framework's module in ``zoo.worker.devices``.
    """
    if hasattr(device, "compute_in"):
        device.compute_in(precision)
        return
    try:
        compat.set_precision(POLICIES[precision])
    except ValueError as error:
        raise UserError("%s; precision=float32 works everywhere" % error) from error


def of(device, model, preprocess, shape):
    """Return the fastest function from uint8 batches of one shape to float32 (batch, classes).

    ``preprocess`` maps pixels to the model's input; ``shape`` is (batch, height, width, channels).
    """
    if hasattr(device, "predictor"):
        return device.predictor(lambda x: compat.predict(model, x), preprocess, shape)
    return lambda pixels: compat.predict(model, preprocess(pixels))

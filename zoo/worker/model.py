"""Building the model a request asks for, and running it over many pictures."""

import numpy as np

from zoo.models import compat, module_of
from zoo.worker.errors import RefusalError


def build(request):
    """Build the request's model.

    Among the arguments of the model there may be ``normalise``: (mean, scale) by channel, of pixels 0..255, instead
    of what the network was made for.

    Returns:
        (model, preprocess): the Keras model, and the function from stored pixels to its input.

    Raises:
        RefusalError: the model cannot be built with these settings.
    """
    module = module_of(request["model"]["name"])
    arguments = dict(request["model"]["args"])
    own = arguments.pop("normalise", None)
    try:
        return module.build(compat, **arguments), normalising(*own) if own else module.preprocess
    except ValueError as error:
        raise RefusalError("the model %s cannot be built: %s" % (request["model"]["name"], error)) from error


def normalising(mean, scale):
    """The function from pixels, channels last, to (pixels - mean) / scale as float32."""
    mean, scale = np.array(mean, np.float32), np.array(scale, np.float32)
    return lambda pixels: (np.asarray(pixels, np.float32) - mean) / scale


def probabilities(model, preprocess, pixels, batch_size, stop=None, progress=None):
    """Predict every picture in batches of one size; the last is padded, since a new shape means compiling anew.

    Args:
        model: the Keras model.
        preprocess: from stored pixels to its input.
        pixels: (n, height, width, channels), may be memory-mapped.
        batch_size: pictures at a time.
        stop: looked at between batches; when asked to, the rest is left out.
        progress: called with the number of pictures done so far.

    Returns:
        (n, classes) float32.
    """
    parts = []
    batch_size = min(batch_size, len(pixels))
    for begin in range(0, len(pixels), batch_size):
        batch = preprocess(pixels[begin : begin + batch_size])
        missing = batch_size - len(batch)
        if missing:
            batch = np.concatenate([batch, np.zeros((missing, *batch.shape[1:]), batch.dtype)])
        parts.append(compat.predict(model, batch)[: batch_size - missing])
        if progress:
            progress(begin + batch_size - missing)
        if stop is not None and stop.asked:
            break
    return np.concatenate(parts)


def score(predicted, labels):
    """Mean cross-entropy (nats) and accuracy, computed here so that they mean the same on every stack.

    Args:
        predicted: (n, classes) probabilities.
        labels: (n,) integer classes.
    """
    chosen = predicted[np.arange(len(labels)), labels].astype(np.float64)
    loss = float(-np.log(np.maximum(chosen, 1e-7)).mean())
    return loss, float((predicted.argmax(axis=1) == labels).mean())

"""Split off the last layer of a classifier, to train it on the features of the layers before it.

These features are computed once and kept in a file: while only the last layer learns, they do not change.
"""

import numpy as np

from zoo.models import compat
from zoo.worker import distributed
from zoo.worker.prediction import predict_batches, slices


def split_at_head(model):
    """Cut a classifier in two before its last layer with weights and the dropout before it.

    Returns:
        (trunk, head, name): two models that share the layers of the whole, and the name of that last layer.
    """
    layers = list(model.layers)
    last = max(index for index, layer in enumerate(layers) if layer.weights)
    first = last
    while type(layers[first - 1]).__name__ == "Dropout":
        first -= 1
    between = layers[first].input
    start = compat.keras.layers.Input(shape=compat.static_shape(between)[1:])
    x = start
    for layer in layers[first:]:
        x = layer(x)
    make = compat.keras.models.Model
    return make(inputs=model.inputs[0], outputs=between), make(inputs=start, outputs=x), layers[last].name


def features(trunk, preprocess, part, batch_size, path, stop, group=None):
    """Return the part with the trunk's features, in a .npy file at ``path``, instead of its images.

    Args:
        trunk: the model of the layers before the head; ``preprocess`` maps stored pixels to its input.
        part: part of the data; see :mod:`zoo.worker.training.image_batches`.
        stop: checked between batches; after a stop the rest remains zero.
        group: the processes that share the images; each writes its part of the file.
    """
    if not len(part):
        return part
    group = group or distributed.Group()
    shape = compat.static_shape(trunk.outputs[0])[1:]
    if group.rank == 0:
        np.lib.format.open_memmap(path, "w+", "<f4", (len(part), *shape)).flush()
    group.agree(None)  # the file exists
    begin, end = group.bounds(len(part))
    size = max(1, min(batch_size, end - begin))
    some = part.rows.between(begin, end) if group.size > 1 else part.rows
    for maps in predict_batches(trunk, slices(some, size, preprocess), size, stop):
        np.load(path, mmap_mode="r+")[begin : begin + len(maps)] = maps
        begin += len(maps)
    group.agree(None)  # all parts are written
    return part.through(path)

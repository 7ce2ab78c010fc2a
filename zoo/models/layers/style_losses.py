"""Content, style and roughness of pictures as layers, so that they are computed by every Keras alike.

Gatys et al. 2015 (https://arxiv.org/abs/1508.06576); roughness as in the style-transfer example of Keras.
All take tensors of (batch, height, width, channels) of known height and width.
"""


def gram(compat, x, name=None, mask=None):
    """Gram matrices: how strongly each two channels of a feature map fire together, whatever the place.

    Args:
        compat: the Keras at hand.
        x: feature map.
        name: of the layer.
        mask: (1, height, width, 1) tensor of weights that sum to one; None: every place counts the same.

    Returns:
        (batch, channels, channels): mean over the places, so that pictures of any size compare.
    """
    from zoo.models.layers.spatial import products

    _, rows, columns, channels = compat.static_shape(x)
    ops = compat.ops

    def flat(x):
        return ops.reshape(x, (-1, rows * columns, channels))

    def whole(x):
        x = flat(x)
        return products(x, x) / float(rows * columns)

    def part(both):
        return products(flat(both[0]), flat(both[0] * both[1]))

    # In the maps' own precision: a copy of the first maps of a large picture in float32 takes gigabytes.
    if mask is None:
        return compat.computed(whole, x, (channels, channels), name, compat.precision_of(x))
    return compat.computed(part, [x, mask], (channels, channels), name, compat.precision_of(x))


def distance(compat, a, b, name=None):
    """Sum of the squared differences of each picture of two tensors.

    Args:
        compat: the Keras at hand.
        a: (batch, ...).
        b: the same, or (1, ...) to hold against every picture of the batch.
        name: of the layer.

    Returns:
        (batch, 1).
    """
    size = 1
    for edge in compat.static_shape(a)[1:]:
        size *= edge
    ops = compat.ops

    def squared(both):
        return ops.sum_rows(ops.reshape(ops.square(both[0] - both[1]), (-1, size)))

    return compat.computed(squared, [a, b], (1,), name)


def total_variation(compat, x, name=None):
    """Roughness: each pixel against its neighbours below and to the right, to the power of 2.5, summed.

    Returns:
        (batch, 1).
    """
    _, rows, columns, channels = compat.static_shape(x)
    ops, size = compat.ops, (rows - 1) * (columns - 1) * channels

    def rough(x):
        here = x[:, : rows - 1, : columns - 1, :]
        down, right = x[:, 1:, : columns - 1, :], x[:, : rows - 1, 1:, :]
        steps = ops.square(here - down) + ops.square(here - right)
        return ops.sum_rows(ops.reshape(ops.power(steps, 1.25), (-1, size)))

    return compat.computed(rough, x, (1,), name)


def weighted(compat, terms, weights, name=None):
    """Sum of (batch, 1) terms, each times its weight.

    Args:
        compat: the Keras at hand.
        terms: list of tensors.
        weights: list of numbers.
        name: of the layer.
    """

    def add(terms):
        terms = terms if isinstance(terms, (list, tuple)) else [terms]
        total = terms[0] * float(weights[0])
        for term, weight in zip(terms[1:], weights[1:]):
            total = total + term * float(weight)
        return total

    return compat.computed(add, list(terms) if len(terms) > 1 else terms[0], (1,), name)


def constant(compat, value, like, name):
    """A fixed array as a tensor of a model.

    Args:
        compat: the Keras at hand.
        value: numpy array (1, ...).
        like: any tensor of the model, which ties the layer to its inputs.
        name: of the layer.
    """
    layer = compat.Held(value.shape, trainable=False, name=name)
    found = layer(like)
    layer.set_weights([value])
    return found

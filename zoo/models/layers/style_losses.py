"""Content, style and smoothness losses of images as layers, with the same result on every Keras.

Gatys et al. 2015 (https://arxiv.org/abs/1508.06576); total variation as in the style-transfer example of Keras.
All functions take tensors of (batch, height, width, channels) with known height and width.
"""


def gram_matrix(compat, x, mask=None):
    """Compute Gram matrices (batch, channels, channels): mean products of all pairs of channels of a feature map.

    ``mask`` is a (1, height, width, 1) tensor of weights that sum to one; None weights all positions equally.
    """
    from zoo.models.compat.tensors import reshape
    from zoo.models.layers.spatial import channel_products

    _, rows, columns, channels = compat.static_shape(x)

    def flat(x):
        return reshape(x, (-1, rows * columns, channels))

    def products(inputs):
        if mask is not None:
            return channel_products(flat(inputs[0]), flat(inputs[0] * inputs[1]))
        maps = flat(inputs)
        return channel_products(maps, maps) / float(rows * columns)

    # In the maps' own dtype: a float32 copy of the first maps of a large image takes gigabytes.
    inputs = x if mask is None else [x, mask]
    return compat.lambda_layer(products, inputs, (channels, channels), precision=compat.dtype_of(x))


def squared_distance(compat, a, b):
    """Sum the squared differences of each image of ``a`` from ``b``, which may be a single image: (batch, 1)."""
    from zoo.models.compat.tensors import reshape, square, sum_rows

    size = 1
    for length in compat.static_shape(a)[1:]:
        size *= length

    def distance(inputs):
        return sum_rows(reshape(square(inputs[0] - inputs[1]), (-1, size)))

    return compat.lambda_layer(distance, [a, b], (1,))


def total_variation(compat, x):
    """Sum the differences of each pixel from its neighbors below and to the right, to the power 2.5: (batch, 1)."""
    from zoo.models.compat.tensors import power, reshape, square, sum_rows

    _, rows, columns, channels = compat.static_shape(x)
    size = (rows - 1) * (columns - 1) * channels

    def variation(x):
        here = x[:, : rows - 1, : columns - 1, :]
        down, right = x[:, 1:, : columns - 1, :], x[:, : rows - 1, 1:, :]
        steps = square(here - down) + square(here - right)
        return sum_rows(reshape(power(steps, 1.25), (-1, size)))

    return compat.lambda_layer(variation, x, (1,))


def tone_distance(compat, a, b):
    """Measure how much light and dark areas of images, (batch, height, width, 3) RGB 0..255, differ.

    The mean brightness of squares of 8 x 8 pixels is compared. Contrast has no effect. Return (batch, 1): 0 if the
    same areas are light, 2 for unrelated images, 4 if light and dark are swapped.
    """
    from zoo.models.compat.tensors import mean, reshape, sqrt, square

    pool = compat.keras.layers.AveragePooling2D((8, 8))
    small = [pool(picture) for picture in (a, b)]
    _, rows, columns, _ = compat.static_shape(small[0])

    def normal(x):
        light = reshape(x[:, :, :, 0] * 0.299 + x[:, :, :, 1] * 0.587 + x[:, :, :, 2] * 0.114, (-1, rows * columns))
        centered = light - mean(light, axis=1, keepdims=True)
        return centered / sqrt(mean(square(centered), axis=1, keepdims=True) + 1.0)

    def distance(inputs):
        return mean(square(normal(inputs[0]) - normal(inputs[1])), axis=1, keepdims=True)

    return compat.lambda_layer(distance, small, (1,))


def weighted_sum(compat, terms, weights, name=None):
    def add(terms):
        terms = terms if isinstance(terms, (list, tuple)) else [terms]
        first, *rest = (term * float(weight) for term, weight in zip(terms, weights))
        return sum(rest, first)

    return compat.lambda_layer(add, list(terms) if len(terms) > 1 else terms[0], (1,), name)


def constant(compat, value, like, name):
    """Add a fixed array (1, ...) to a model as a tensor; ``like``, any tensor of the model, connects it."""
    layer = compat.TrainableConstant(value.shape, trainable=False, name=name)
    tensor = layer(like)
    layer.set_weights([value])
    return tensor

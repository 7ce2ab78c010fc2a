"""Build the objective of style transfer at one size: a function from an image to its losses and their gradient.

Gatys et al. 2015, https://arxiv.org/abs/1508.06576, with each loss divided by the size of its target. An image
without any features has a style loss of 1, for any network, layer and size. The targets are computed once; the image
is the trainable weight of a layer before the frozen network.
"""

from collections import namedtuple

import numpy as np

from zoo.models import compat
from zoo.models.layers import style_losses as losses
from zoo.worker.errors import UserError
from zoo.worker.resample import pad, resize
from zoo.worker.style.feature_model import frozen

MULTIPLE, LEAST, MARGIN = 16, 64, 8
# Scales the roughness of a typical photo to about one.
ROUGH = 1000.0
# Allowed relative difference of losses from NumPy's; bfloat16 differs by a hundredth.
TOLERANCE, NOTHING = 0.05, 1e-3


def padded(picture):
    """Return an image with mirrored edges, whose sides are multiples of ``MULTIPLE``, as networks need it."""
    return pad(picture, MULTIPLE, LEAST, MARGIN)


def cropped(picture, rows, columns):
    return picture[MARGIN : MARGIN + rows, MARGIN : MARGIN + columns]


class Target(namedtuple("Target", "content grams shares masks")):
    """The target of the optimization.

    Args:
        content: (height, width, 3) float32, from :func:`padded`.
        grams: for each style, its mean Gram matrix by layer, from :func:`grams`.
        shares: weight of each style; they sum to one.
        masks: for each style None, or (height, width) float32 0..1: where it applies.
    """


def grams(features, layers, picture):
    """Return the Gram matrices of a style image, (height, width, 3) float32, by layer."""
    model = frozen(features, layers, picture.shape)
    return [_gram(maps) for maps in compat.outputs(model, picture[None])]


def _gram(maps):
    flat = maps.reshape(-1, maps.shape[-1]).astype(np.float32)
    return flat.T.dot(flat) / len(flat)


def build(features, layers, target, weights):
    """Build the function from (height, width, 3) float32 to ``([style, content, roughness], gradient)``.

    Each loss is multiplied by its weight. UserError is raised if the stack computes wrong losses.

    ``features``, ``layers`` and ``weights`` are a FeatureNetworkPart, LayersPart and LossWeightsPart of
    :mod:`zoo.protocol.request`; ``target`` is a :class:`Target`.
    """
    wanted = list(layers.style) + [name for name in layers.content if name not in layers.style]
    network = frozen(features, wanted, target.content.shape)
    aims = dict(zip(wanted, compat.outputs(network, target.content[None])))
    own = [_gram(aims[name]) for name in layers.style]
    aims = {name: aims[name] for name in layers.content}
    start = compat.keras.layers.Input(shape=(1,))
    layer = compat.TrainableConstant((1, *target.content.shape), trainable=True, name="picture")
    picture = layer(start)
    maps = dict(zip(wanted, compat.as_list(network(picture))))
    terms = [
        _style(layers.style, maps, target, weights.style, start),
        _content(layers.content, maps, aims, weights.content, start),
        _rough(picture, target.content.shape, weights.total_variation),
    ]
    function = compat.value_and_grad(compat.keras.models.Model(inputs=start, outputs=terms), layer)
    if not any(mask is not None for mask in target.masks):
        _prove(function, layers, target, own, weights)
    return function


def _prove(function, layers, target, own, weights):
    """Compare the losses of the content image with those that NumPy computes from its feature maps.

    PlaidML 0.7 computes every layer of VGG19 right, but wrong losses with several of them in one graph.
    """
    wanted = 0.0
    for number in range(len(layers.style)):
        mean = sum(share * grams[number] for share, grams in zip(target.shares, target.grams))
        apart = float(np.square(own[number] - mean, dtype=np.float64).sum())
        wanted += weights.style / len(layers.style) * apart * inverse(mean)
    (style, content, _), _ = function(target.content)
    # An image in its own style has almost no loss, of which rounding is a large share.
    near = abs(style - wanted) <= TOLERANCE * wanted + NOTHING * weights.style
    if not (near and abs(content) <= NOTHING * weights.content):
        raise UserError(
            "this stack computes wrong losses: style %.6g where %.6g is right, content %.6g where 0 is right; "
            "use another stack, or features=random" % (style, wanted, content)
        )


def _style(names, maps, target, weight, start):
    """Return the distance of the Gram matrices: to the mean of all unmasked styles, and to each masked one."""
    open_ones = [index for index, mask in enumerate(target.masks) if mask is None]
    terms, shares = [], []
    for number, name in enumerate(names):
        if open_ones:
            share = sum(target.shares[index] for index in open_ones)
            mean = sum(target.shares[index] * target.grams[index][number] for index in open_ones) / share
            terms.append(distance(losses.gram_matrix(compat, maps[name]), mean, start, "aim_%s" % name))
            shares.append(share * inverse(mean))
        for index in set(range(len(target.masks))) - set(open_ones):
            aim, where = target.grams[index][number], "%s_%d" % (name, index)
            mask = losses.constant(compat, _shrunk(target.masks[index], maps[name]), start, "mask_" + where)
            terms.append(distance(losses.gram_matrix(compat, maps[name], mask=mask), aim, start, "aim_" + where))
            shares.append(target.shares[index] * inverse(aim))
    return losses.weighted_sum(compat, terms, [weight * share / len(names) for share in shares], "style")


def _content(names, maps, aims, weight, start):
    terms = [distance(maps[name], aims[name][0], start, "aim_content_%s" % name) for name in names]
    shares = [weight / len(names) * inverse(aims[name]) for name in names]
    return losses.weighted_sum(compat, terms, shares, "content")


def _rough(picture, shape, weight):
    size = (shape[0] - 1) * (shape[1] - 1) * shape[2]
    roughness = [losses.total_variation(compat, picture)]
    return losses.weighted_sum(compat, roughness, [weight / size / ROUGH], "roughness")


def distance(x, aim, start, name):
    """Return the squared distance of a tensor from a fixed array, (batch, 1); ``start`` is any tensor of the model."""
    return losses.squared_distance(compat, x, losses.constant(compat, aim[None].astype(np.float32), start, name))


def inverse(aim):
    """Return the factor that makes the distance of zeros from an array 1."""
    return 1.0 / max(1e-12, float(np.square(aim, dtype=np.float64).sum()))


def _shrunk(mask, maps):
    """Return a mask as weights that sum to one over the positions of a feature map."""
    _, rows, columns, _ = compat.static_shape(maps)
    small = resize(mask[:, :, None], rows, columns)
    return (small / max(1e-12, float(small.sum())))[None].astype(np.float32)

"""Build a frozen feature network and fill it with weights."""

from zoo.models import compat, features
from zoo.models.preprocessing import CAFFE_LAYER
from zoo.worker import devices, weights
from zoo.worker.errors import UserError


def frozen(settings, layers, input_shape):
    """Build a feature network, see :func:`zoo.models.features.build`, and fill it.

    ``settings`` is a :class:`zoo.protocol.request.FeatureNetworkPart`, ``input_shape`` (height, width, 3).
    """
    wrong = devices.capabilities()["wrong_features"]
    if settings.network in wrong:
        raise UserError(wrong[settings.network])
    try:
        model = features.build(compat, settings.network, layers, input_shape, settings.seed, settings.precision)
    except ValueError as error:
        raise UserError(str(error)) from error
    if settings.weights:
        weights.load_part(model, settings.weights, own=(CAFFE_LAYER,))
    return model


def available_layers(settings):
    """Return the feature layers, first to last, for which ``settings`` of :func:`frozen` has enough weights."""
    layers = features.network(settings.network).LAYERS
    if not settings.weights:
        return layers
    names = weights.names(settings.weights)
    has = [any(name.startswith((layer + "/", layer + "_")) for name in names) for layer in layers]
    count = [*has, False].index(False)
    if not count:
        words = "the weights in %s are not of %s: they have no layer %r"
        raise UserError(words % (settings.weights, settings.network, layers[0]))
    return layers[:count]

"""Layers without copies against those of Keras on PyTorch, and a picture that is too large; runs inside a stack."""

import types

import numpy as np
import torch

from zoo.models import compat
from zoo.models.layers import spatial
from zoo.protocol import memory
from zoo.worker.errors import UserError
from zoo.worker.style import memory_estimate

LAYERS = compat.keras.layers
CASES = ((3, 1, "same"), (1, 1, "same"), (3, 2, "valid"), (3, 2, "same"), (5, 1, "same"))


def answer(_request):
    """Largest differences of layers and of products, and the words of the refusal."""
    draw, chunk = np.random.RandomState(0), spatial.CHUNK
    layers = max(layer_differences(draw))
    return {"chunk": chunk, "layers": layers, "products": list(products(draw)), "refusal": refusal()}


def layer_differences(draw):
    array = draw.normal(size=(2, 12, 9, 3)).astype("f4")
    same = {"kernel_initializer": "ones", "activation": "relu"}
    for edge, step, pad in CASES:
        pair = [kind(4, edge, strides=step, padding=pad, **same) for kind in (spatial.Convolution, LAYERS.Conv2D)]
        yield difference(array, *pair)
    for edge in (2, 3):
        yield difference(array, spatial.MaxPooling(edge, strides=2), LAYERS.MaxPooling2D(edge, strides=2))


def difference(array, own, theirs):
    """Between what two layers give, and between their gradients."""
    pairs = []
    for layer in (own, theirs):
        x = torch.tensor(array, requires_grad=True)
        y = layer(x)
        (y * torch.arange(y.numel()).reshape(y.shape).sin()).sum().backward()
        pairs.append((y.detach().numpy(), x.grad.numpy()))
    return max(float(abs(one - other).max()) for one, other in zip(pairs[0], pairs[1], strict=True))


def products(draw):
    """Of two matrices and of one with itself: kind, type of the result, and differences of it and of its gradient."""
    spatial.CHUNK = 40
    for kind in (torch.float32, torch.bfloat16):
        a, b = (torch.tensor(draw.normal(size=(2, 108, n)), dtype=kind, requires_grad=True) for n in (3, 4))
        for one, other in ((a, b), (a, a)):
            product = spatial.channel_products(one, other)
            wanted = torch.einsum("bpm,bpn->bmn", one.double(), other.double())
            weight = torch.tensor(draw.normal(size=product.shape))
            gradients = [torch.autograd.grad((each * weight).sum(), [one])[0] for each in (product, wanted)]
            apart = [abs(product - wanted).max(), abs(gradients[0] - gradients[1]).max()]
            yield [str(kind), str(product.dtype)] + [float(each) for each in apart]


def refusal():
    """What is said of a picture that does not fit, after two that do."""
    features = types.SimpleNamespace(network="vgg19", precision="float32")
    memory_estimate.check(features, 1536, 2048, 8e9)
    assert memory.available_bytes() > 1e8
    memory_estimate.check(features, 64, 64)
    try:
        memory_estimate.check(features, 3072, 4096, 8e9)
    except UserError as error:
        return str(error)
    return ""

"""The subject of an export: the model, built in float32 with its weights, and real items to compare outputs on."""

import types

import numpy as np

from zoo.models import compat
from zoo.worker import weights
from zoo.worker.errors import UserError
from zoo.worker.exporting import programs
from zoo.worker.model import build_trained
from zoo.worker.training.setup import build_trained_for_texts

# Items of a question (a batch of inputs): several, to check that the exported file accepts batches.
BATCH = 20


class Subject:
    """A model, and the inputs to compare it on.

    Attributes:
        kind: ``images`` and ``texts`` are classifiers, ``pictures`` are style networks; or ``next_token``.
        inputs: (name, shape, dtype) of each input; None in a shape means any size.
        questions: function that returns an ``ItemData`` as batches of a size, each a list of arrays, one per input.
        preprocessing: how pixels are scaled, see :func:`affine`; None if they are not.
        request: the ``export`` part of the request.
        before: conversion of the first input inside of the exported files, if any.
    """

    before = None

    def __init__(self, kind, model, inputs, outputs, ask, preprocessing=None, request=None):
        self.kind, self.model, self.inputs, self.outputs = kind, model, inputs, outputs
        self.preprocessing, self.request, self.questions = preprocessing, request, ask

    def named(self, question):
        """Return the arrays of a question by the names of the inputs."""
        return dict(zip((name for name, _, _ in self.inputs), question))

    def answers(self, questions):
        """Return the outputs of the Keras model: for each question a list of float32 arrays, one per output."""
        return [compat.outputs(self.model, question if len(question) > 1 else question[0]) for question in questions]


def of(request):
    """Build the subject of a request, whose ``export`` part names the kind."""
    kind = request.export.kind
    subject = {"images": _images, "texts": _texts, "pictures": _pictures, "next_token": _next_token}[kind](request)
    subject.request = request.export
    return subject


def _images(request):
    model, preprocess = build_trained(request)

    def ask(data, size=BATCH):
        pixels = np.load(data.x, mmap_mode="r", allow_pickle=False)
        return [[preprocess(np.array(pixels[begin : begin + size]))] for begin in range(0, len(pixels), size)]

    pixels = np.load(request.data.x, mmap_mode="r", allow_pickle=False)
    inputs = [("image", (None, *preprocess(np.array(pixels[:1])).shape[1:]), "float32")]
    return Subject("images", model, inputs, ["probabilities"], ask, affine(preprocess, pixels.shape[-1]))


def _texts(request):
    from zoo.worker.training.text_batches import open_texts

    model, arguments = build_trained_for_texts(request), request.model.args

    def ask(data, size=BATCH):
        texts = open_texts(data, arguments["length"], arguments["fixed"])
        rows = np.arange(len(texts))
        return [[texts.batch(rows[begin : begin + size])] for begin in range(0, len(rows), size)]

    return Subject("texts", model, [("tokens", (None, None), "int32")], ["probabilities"], ask)


def _pictures(request):
    from zoo.models.style_transfer import fast

    model = fast.build(compat, initializer="zeros", **request.model.args)
    weights.load(model, request.weights)

    how = types.SimpleNamespace(multiple=fast.GRAIN, least=fast.LEAST_EDGE)

    def ask(data, _=BATCH):
        pixels = (np.load(path, allow_pickle=False) for path in data.pictures)
        return [[programs.padded(each, how)[None]] for each in pixels]

    return Subject("pictures", model, [("image", (None, None, None, 3), "float32")], ["restyled"], ask)


def _next_token(request):
    from zoo.models.transformer import decoding
    from zoo.worker.inference.decoder import STEP_ARGUMENTS

    whole = build_trained_for_texts(request)
    arguments = {name: value for name, value in request.model.args.items() if name in STEP_ARGUMENTS}
    model = decoding.build(compat, **arguments)
    model.set_weights(whole.get_weights())
    depth, length, width = (len(model.inputs) - 3) // 2, arguments["length"], compat.static_shape(model.inputs[3])[2]
    names = ["%s%d" % (kind, number) for number in range(1, depth + 1) for kind in ("keys", "values")]
    inputs = [
        ("tokens", (None, 1), "int32"), ("places", (None, 1), "int32"), ("filled", (None, length + 1), "float32"),
    ]  # fmt: skip
    inputs += [(name, (None, length, width), "float32") for name in names]
    outputs = ["logits", *("new_" + name for name in names)]

    def ask(data, _=BATCH):
        if data.x:
            return list(_steps(model, np.load(data.x, allow_pickle=False)[:length], len(names), length, width))
        tokens, offsets = (np.load(path, allow_pickle=False) for path in (data.tokens, data.offsets))
        texts = [tokens[max(begin, end - length) : end] for begin, end in zip(offsets, offsets[1:])]
        return [list(_steps(model, text, len(names), length, width))[-1] for text in texts]

    return Subject("next_token", model, inputs, outputs, ask)


def _steps(model, tokens, count, length, width):
    """Yield the inputs of each decoding step of a text, with the cache filled from the model's own outputs."""
    filled, caches = np.zeros((1, length + 1), np.float32), np.zeros((count, 1, length, width), np.float32)
    filled[:, -1] = 1
    for place, token in enumerate(tokens):
        whole = [np.array([[token]], np.int32), np.array([[place]], np.int32), filled.copy(), *caches.copy()]
        yield whole
        for cache, new in zip(caches, compat.outputs(model, whole)[1:]):
            cache[:, place] = new[:, 0]
        filled[:, place] = 1


def affine(preprocess, channels):
    """Return the linear preprocessing of pixels: order of channels, and numbers to subtract and to divide by.

    Returns:
        ``{"layout": ..., "channels": ..., "subtract": [...], "divide": [...]}``: channels are RGB, BGR or gray; the
        network takes (pixels 0 to 255 - subtract) / divide.
    """
    start = _response(preprocess, np.zeros(channels))
    steps = [(_response(preprocess, color) - start) / 255.0 for color in 255.0 * np.eye(channels)]
    matrix, probe = np.array(steps, np.float64), np.arange(60, 60 + 40 * channels, 40)
    if np.abs(_response(preprocess, probe) - probe @ matrix - start).max() > 1e-3 * max(1.0, np.abs(start).max()):
        raise UserError("the preprocessing of this model is not a linear function of each color")
    slopes = matrix.sum(axis=0)
    subtract, divide = ([float("%.7g" % number) for number in row] for row in (0.0 - start / slopes, 1 / slopes))
    return {"layout": "channels last", "channels": _channels(matrix), "subtract": subtract, "divide": divide}


def _response(preprocess, color):
    pixels = np.zeros((1, 2, 2, len(color)), np.uint8)
    pixels[:] = color
    return np.asarray(preprocess(pixels), np.float64)[0, 0, 0]


def _channels(matrix):
    if matrix.shape[1] == 1:
        return "gray"
    return "BGR" if np.abs(np.diag(matrix[::-1])).sum() > np.abs(np.diag(matrix)).sum() else "RGB"

"""A language model one token at a time: keys and values of tokens that went before are kept, not computed again.

The step model has the weights of the language model, by name and order, and takes what was kept as an input; arrays
go in and out, so that it works on every Keras. PlaidML and OpenVINO compile it once, as all sizes are fixed.
"""

import numpy as np

from zoo.models import compat
from zoo.models.compat import tensors
from zoo.models.transformer import embeddings, lm
from zoo.models.transformer.layers import EncoderLayer, Normalisation, saved


@saved
class StepLayer(EncoderLayer):
    """An encoder layer for the newest position: [x, keys, values, filled] to [y, key, value].

    x, y, key and value are (batch, 1, width); keys and values (batch, length, width); filled (batch, length + 1) is 1
    for places that hold a position, 0 for the rest, and 1 at the end, for the newest.
    """

    def call(self, inputs, training=None):
        x, keys, values, filled = inputs
        first = self.settings["norm_first"]
        made = tensors.linear(self._normalise(x, "norm1") if first else x, self.attention_kernel, self.attention_bias)
        q, k, v = tensors.parts(made, 3)
        keys, values = tensors.joined([keys, k], 1), tensors.joined([values, v], 1)
        x = x + self._project(tensors.attend(q, keys, values, self.settings["heads"], filled, False, None), False)
        if first:
            return [x + self._feed(self._normalise(x, "norm2"), False), k, v]
        x = self._normalise(x, "norm1")
        return [self._normalise(x + self._feed(x, False), "norm2"), k, v]

    def compute_output_shape(self, input_shape):
        return [tensors.first_shape(input_shape)] * 3


def build(compat, vocabulary, length, **settings):
    """Build the step model of a language model; its arguments are those of ``transformer.lm.build``.

    Returns:
        A model from [tokens (batch, 1), places (batch, 1), filled (batch, length + 1), keys and values of each layer
        (batch, length, d_model)] to [logits (batch, 1, vocabulary), key and value of each layer (batch, 1, d_model)].
    """
    given = dict(lm.DEFAULTS, **settings)
    width, make = given["d_model"], compat.keras.layers.Input
    tokens, places = make(shape=(1,), dtype="int32", name="text"), make(shape=(1,), dtype="int32", name="places")
    filled, kept, made = make(shape=(length + 1,), name="filled"), [], []
    embedding = embeddings.TextEmbedding(vocabulary, length, width, 0.0, name="embedding")
    x = embedding([tokens, places])
    for number in range(1, given["layers"] + 1):
        old = [make(shape=(length, width), name="%s%d" % (kind, number)) for kind in ("keys", "values")]
        layer = StepLayer(
            given["heads"],
            given["d_ff"] or 4 * width,
            0.0,
            0.0,
            given["activation"],
            given["norm_first"],
            name="layer%d" % number,
        )
        x, key, value = layer([x, *old, filled])
        kept, made = kept + old, [*made, key, value]
    x = Normalisation(name="norm")(x) if given["norm_first"] else x
    outputs = [embeddings.logits(x, embedding, vocabulary, given["tied"], given["deviation"]), *made]
    return compat.keras.models.Model(inputs=[tokens, places, filled, *kept], outputs=outputs, name="transformer_step")


class Cached:
    """A language model with its memory of one text, or of several of one length.

    Args:
        arguments: those that the language model was built with.
        arrays: its weights, in its order.
        batch: number of texts.
    """

    def __init__(self, arguments, arrays, batch=1):
        self._model = build(compat, **arguments)
        self._model.set_weights(arrays)
        self._sizes = (batch, arguments["length"], dict(lm.DEFAULTS, **arguments)["d_model"])
        self._layers = (len(self._model.inputs) - 3) // 2
        self.forget()

    @property
    def length(self):
        """Number of tokens that it holds at most."""
        return self._sizes[1]

    def forget(self):
        """Begin anew."""
        self.place = 0
        self._filled = np.zeros((self._sizes[0], self.length + 1), np.float32)
        self._filled[:, -1] = 1
        self._kept = [np.zeros(self._sizes, np.float32) for _ in range(2 * self._layers)]

    def next(self, tokens):
        """Take one token a text and tell what may follow.

        Args:
            tokens: (batch,) integers.

        Returns:
            (batch, vocabulary) float32 logits.

        Raises:
            ValueError: all places are taken; call :meth:`forget` and give the last tokens again.
        """
        if self.place >= self.length:
            raise ValueError("the model holds %d tokens and all places are taken" % self.length)
        tokens = np.asarray(tokens, np.int32).reshape(-1, 1)
        inputs = [tokens, np.full_like(tokens, self.place), self._filled, *self._kept]
        logits, *made = compat.outputs(self._model, inputs)
        for kept, new in zip(self._kept, made):
            kept[:, self.place] = new[:, 0]
        self._filled[:, self.place] = 1
        self.place += 1
        return logits[:, 0]

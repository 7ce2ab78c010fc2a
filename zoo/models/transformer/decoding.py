"""Decode a language model one token at a time with a key/value cache.

The step model has the weights of the language model, in the same order, and takes the cache as an input. Inputs and
outputs are arrays, so that it works on every Keras. All sizes are fixed, so that PlaidML and OpenVINO compile once.
"""

import numpy as np

from zoo.models import compat
from zoo.models.compat import tensors
from zoo.models.compat.attention import attention
from zoo.models.transformer import embeddings, lm
from zoo.models.transformer.layers import EncoderLayer, LayerNorm


@compat.registered("StepLayer")
class StepLayer(EncoderLayer):
    """Encoder layer for the newest position, from [x, keys, values, filled] to [y, key, value].

    x, y, key and value are (batch, 1, width); keys and values are (batch, length, width). filled (batch, length + 1)
    is 1 for occupied positions of the cache and for the newest position, the last entry; 0 elsewhere.
    """

    def call(self, inputs, training=None):
        (x, *caches, filled), newest = inputs, []

        def attend(q, *pair):
            newest.extend(pair)
            keys, values = (tensors.concatenate(both, 1) for both in zip(caches, pair))
            return attention(q, keys, values, self.settings["heads"], filled, False, None)

        return [self._encode(x, attend, False), *newest]

    def compute_output_shape(self, input_shape):
        return [tensors.first_shape(input_shape)] * 3


def build(compat, vocabulary, length, **settings):
    """Build the step model of a language model; its arguments are those of ``transformer.lm.build``.

    Returns:
        A model from [tokens (batch, 1), positions (batch, 1), filled (batch, length + 1), keys and values of each
        layer (batch, length, d_model)] to [logits (batch, 1, vocabulary), key and value of each layer
        (batch, 1, d_model)].
    """
    arguments = dict(lm.DEFAULTS, **settings)
    width, Input = arguments["d_model"], compat.keras.layers.Input
    tokens, positions = Input(shape=(1,), dtype="int32", name="text"), Input(shape=(1,), dtype="int32", name="places")
    filled, caches, newest = Input(shape=(length + 1,), name="filled"), [], []
    embedding = embeddings.TextEmbedding(vocabulary, length, width, 0.0, name="embedding")
    x = embedding([tokens, positions])
    step = {name: arguments[name] for name in ("heads", "activation", "norm_first")}
    step.update(d_ff=arguments["d_ff"] or 4 * width, dropout=0.0)
    for number in range(1, arguments["layers"] + 1):
        cache = [Input(shape=(length, width), name="%s%d" % (kind, number)) for kind in ("keys", "values")]
        x, key, value = StepLayer(name="layer%d" % number, **step)([x, *cache, filled])
        caches, newest = caches + cache, [*newest, key, value]
    x = LayerNorm(name="norm")(x) if arguments["norm_first"] else x
    logits = embeddings.logits(x, embedding, vocabulary, arguments["tied"], arguments["deviation"])
    inputs, outputs = [tokens, positions, filled, *caches], [logits, *newest]
    return compat.keras.models.Model(inputs=inputs, outputs=outputs, name="transformer_step")


class CachedDecoder:
    """A language model with a key/value cache for one text, or for several of equal length.

    Args:
        arguments: arguments that the language model was built with.
        arrays: its weights, in its order.

    Attributes:
        position: number of tokens in the cache.
        length: largest number of tokens in the cache.
    """

    def __init__(self, arguments, arrays, batch=1):
        self._model = build(compat, **arguments)
        self._model.set_weights(arrays)
        self.length = arguments["length"]
        self._sizes = (batch, self.length, dict(lm.DEFAULTS, **arguments)["d_model"])
        self.reset()

    def reset(self):
        self.position = 0
        self._filled = np.zeros((self._sizes[0], self.length + 1), np.float32)
        self._filled[:, -1] = 1
        self._caches = [np.zeros(self._sizes, np.float32) for _ in self._model.inputs[3:]]

    def step(self, tokens):
        """Append one token to each text, (batch,) integers; return (batch, vocabulary) float32 logits of the next.

        If the cache is full, raise ValueError: call :meth:`reset` and append the last tokens again.
        """
        if self.position >= self.length:
            raise ValueError("the model's context of %d tokens is full" % self.length)
        tokens = np.asarray(tokens, np.int32).reshape(-1, 1)
        inputs = [tokens, np.full_like(tokens, self.position), self._filled, *self._caches]
        logits, *newest = compat.outputs(self._model, inputs)
        for cache, array in zip(self._caches, newest):
            cache[:, self.position] = array[:, 0]
        self._filled[:, self.position] = 1
        self.position += 1
        return logits[:, 0]

    def read(self, tokens):
        """Append tokens to a single text; return the logits after the last, (vocabulary,) float32."""
        for token in tokens:
            logits = self.step([token])
        return logits[0]

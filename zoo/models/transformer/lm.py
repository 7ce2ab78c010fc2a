"""Texts that go on: a causal encoder between token embeddings and the chances of the token that follows.

Radford et al. 2019 (GPT-2): normalisation first, GELU, kernels drawn with a deviation of 0.02, those before the sums
with less the more layers there are.
"""

import math

import numpy as np

DEFAULTS = {
    "layers": 4,
    "d_model": 128,
    "heads": 4,
    "d_ff": None,
    "activation": "gelu",
    "norm_first": True,
    "tied": True,
    "deviation": 0.02,
}


def preprocess(tokens):
    """Token numbers of any integer type as int32."""
    return np.asarray(tokens, dtype=np.int32)


def build(
    compat,
    vocabulary,
    length,
    layers=DEFAULTS["layers"],
    d_model=DEFAULTS["d_model"],
    heads=DEFAULTS["heads"],
    d_ff=DEFAULTS["d_ff"],
    dropout=0.0,
    activation=DEFAULTS["activation"],
    norm_first=DEFAULTS["norm_first"],
    tied=DEFAULTS["tied"],
    fixed=False,
    probabilities=False,
    deviation=DEFAULTS["deviation"],
):
    """Build the language model.

    Args:
        compat: the Keras at hand, ``zoo.models.compat``.
        vocabulary: number of tokens.
        length: most tokens that are looked at.
        layers, heads, dropout, activation, norm_first: see ``zoo.models.transformer.encode``.
        d_model: width of embeddings and encoder.
        d_ff: width inside the feed-forward networks; None is four times d_model.
        tied: compute the outputs with the table of embeddings; else with a kernel of their own.
        fixed: all inputs have ``length`` tokens, which PlaidML asks for; else any number up to it.
        probabilities: end in softmax; else in logits.
        deviation: standard deviation of the first weights.

    Returns:
        A model from (batch, length) int32 tokens to (batch, length, vocabulary) float32, at every place for the
        token that follows.

    Raises:
        ValueError: with the value received.
    """
    from zoo.models import transformer
    from zoo.models.transformer import embeddings

    embeddings.check(vocabulary, length)
    tokens = compat.keras.layers.Input(shape=(length if fixed else None,), dtype="int32", name="text")
    embedding = embeddings.TextEmbedding(vocabulary, length, d_model, dropout, deviation, name="embedding")
    x = transformer.encode(
        compat,
        embedding(tokens),
        None,
        layers,
        heads,
        d_ff or 4 * d_model,
        dropout,
        activation,
        norm_first,
        causal=True,
        final_norm=norm_first,
        deviation=deviation,
        out_deviation=deviation / math.sqrt(2 * layers),
    )
    x = embeddings.logits(x, embedding, vocabulary, tied, deviation)
    if probabilities:
        x = compat.keras.layers.Activation("softmax", name="probabilities", dtype="float32")(x)
    return compat.keras.models.Model(inputs=tokens, outputs=x, name="transformer_lm")

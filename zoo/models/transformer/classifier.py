"""Texts to classes: embeddings of tokens and positions, an encoder, pooling, one dense layer.

Token 0 is padding: it is attended to by nobody and left out of the pooling.
"""

import numpy as np


def preprocess(tokens):
    """Token numbers of any integer type as int32."""
    return np.asarray(tokens, dtype=np.int32)


def build(
    compat,
    vocabulary,
    length,
    classes,
    layers=2,
    d_model=128,
    heads=4,
    d_ff=512,
    dropout=0.1,
    attention_dropout=0.0,
    pooled_dropout=None,
    activation="gelu",
    norm_first=True,
    pooling="mean",
    fixed=False,
    probabilities=True,
):
    """Build the classifier.

    Args:
        compat: the Keras at hand, ``zoo.models.compat``.
        vocabulary: number of tokens, the padding 0 among them.
        length: most tokens of a text.
        classes: number of outputs.
        layers, heads, d_ff, dropout, activation, norm_first: see ``zoo.models.transformer.encode``.
        attention_dropout: share of attention weights dropped; 0 lets the framework's fused attention train.
        pooled_dropout: share dropped of what was pooled; None is ``dropout``. Dropping nowhere else is much faster on
            a CPU, where drawing takes longer than the products; hiding tokens (``trainer.word_dropout``) replaces it.
        d_model: width of embeddings and encoder.
        pooling: mean or max over the tokens, or first.
        fixed: all inputs have ``length`` tokens, which PlaidML asks for; else any number up to it.
        probabilities: end in softmax; else in logits.

    Returns:
        A model from (batch, length) int32 tokens to (batch, classes) float32.

    Raises:
        ValueError: with the value received.
    """
    from zoo.models import transformer
    from zoo.models.transformer import embeddings

    embeddings.check(vocabulary, length, classes=classes)
    if pooling not in ("mean", "max", "first"):
        raise ValueError("`pooling` should be mean, max or first. Received pooling=%r" % (pooling,))
    tokens = compat.keras.layers.Input(shape=(length if fixed else None,), dtype="int32", name="text")
    keep = embeddings.Kept(name="kept")(tokens)
    x = embeddings.TextEmbedding(vocabulary, length, d_model, dropout, name="embedding")(tokens)
    x = transformer.encode(
        compat,
        x,
        keep,
        layers,
        heads,
        d_ff,
        dropout,
        activation,
        norm_first,
        final_norm=norm_first,
        attention_dropout=attention_dropout,
    )
    x = embeddings.Pooling(pooling, name="pooling")([x, keep])
    x = compat.dropout(dropout if pooled_dropout is None else pooled_dropout, name="dropout")(x)
    x = embeddings.Wide(name="wide")(compat.keras.layers.Dense(classes, name="predictions")(x))
    if probabilities:
        x = compat.keras.layers.Activation("softmax", name="probabilities", dtype="float32")(x)
    return compat.keras.models.Model(inputs=tokens, outputs=x, name="transformer_classifier")

"""Text classification: token and position embeddings, an encoder, pooling, one dense layer.

Token 0 is padding: attention masks it and pooling ignores it.
"""

from zoo.models.preprocessing import to_tokens as preprocess  # noqa: F401


def build(
    compat, vocabulary, length, classes, layers=2, d_model=128, heads=4, d_ff=512, dropout=0.1, attention_dropout=0.0,
    pooled_dropout=None, activation="gelu", norm_first=True, pooling="mean", pair_buckets=0, spelling=False,
    scaled=False, fixed=False, probabilities=True,
):  # fmt: skip
    """Build the classifier.

    Args:
        vocabulary: number of tokens, padding included.
        length: largest number of tokens of a text.
        layers, heads, d_ff, dropout, activation, norm_first: see :func:`zoo.models.transformer.TransformerEncoder`.
        attention_dropout: dropout rate of the attention weights; 0 allows fused attention in training.
        pooled_dropout: dropout rate of the pooled vector; None means ``dropout``. On CPUs, random draws take longer
            than matrix products: use dropout only here, with ``trainer.word_dropout``, for speed.
        d_model: width of embeddings and encoder.
        pooling: mean or max over the tokens, or first.
        pair_buckets: number of hash buckets for pairs of neighboring tokens, for a linear classifier added to the
            encoder; 0 adds none. See :class:`zoo.models.transformer.embeddings.WordPairLogits`.
        spelling: the linear classifier also uses combinations of stems, and is fitted with parts of words.
        scaled: the linear classifier divides its sums by the square root of the number of features, for numbers.
        fixed: all inputs have ``length`` tokens, which PlaidML requires; if False, any number up to it.
        probabilities: end in softmax; if False, return logits.

    Returns:
        A model from (batch, length) int32 tokens to (batch, classes) float32.
    """
    from zoo.models import transformer
    from zoo.models.transformer import embeddings

    transformer.check_sizes(vocabulary=vocabulary, length=length, classes=classes)
    if pooling not in ("mean", "max", "first"):
        raise ValueError("`pooling` should be mean, max or first. Received pooling=%r" % (pooling,))
    encoder = {"layers": layers, "heads": heads, "d_ff": d_ff, "dropout": dropout, "norm_first": norm_first,
               "final_norm": norm_first, "activation": activation,
               "attention_dropout": attention_dropout}  # fmt: skip
    tokens = embeddings.token_input(length, fixed)
    keep = embeddings.PaddingMask(name="kept")(tokens)
    x = embeddings.TextEmbedding(vocabulary, length, d_model, dropout, name="embedding")(tokens)
    x = transformer.encode(compat, x, keep, **encoder)
    x = embeddings.Pooling(pooling, name="pooling")([x, keep])
    x = compat.dropout(dropout if pooled_dropout is None else pooled_dropout, name="dropout")(x)
    x = embeddings.CastFloat32(name="wide")(compat.keras.layers.Dense(classes, name="predictions")(x))
    if pair_buckets:
        pairs = embeddings.WordPairLogits(
            vocabulary, pair_buckets, classes, spelling, scaled, name="pairs", **compat.full_precision()
        )
        x = compat.keras.layers.add([x, pairs([tokens, keep])], name="sum")
    return embeddings.model(tokens, x, probabilities, "transformer_classifier")

"""Language model: a causal encoder between token embeddings and the logits of the next token.

Like GPT-2 (Radford et al. 2019): pre-normalization, GELU, and initial kernels with a standard deviation of 0.02,
divided by sqrt(2 * layers) before residual sums.
"""

import math

from zoo.models.preprocessing import to_tokens as preprocess  # noqa: F401

DEFAULTS = {
    "layers": 4, "d_model": 128, "heads": 4, "d_ff": None, "activation": "gelu", "norm_first": True, "tied": True,
    "deviation": 0.02,
}  # fmt: skip


def build(
    compat, vocabulary, length, layers=DEFAULTS["layers"], d_model=DEFAULTS["d_model"], heads=DEFAULTS["heads"],
    d_ff=DEFAULTS["d_ff"], dropout=0.0, activation=DEFAULTS["activation"], norm_first=DEFAULTS["norm_first"],
    tied=DEFAULTS["tied"], fixed=False, probabilities=False, deviation=DEFAULTS["deviation"],
):  # fmt: skip
    """Build the language model.

    Args:
        length: size of the context window in tokens.
        layers, heads, dropout, activation, norm_first: see :func:`zoo.models.transformer.TransformerEncoder`.
        d_model: width of embeddings and encoder.
        d_ff: width of the hidden layers of the feed-forward networks; None means four times d_model.
        tied: use the token embeddings as the output kernel; if False, a separate kernel.
        fixed: all inputs have ``length`` tokens, which PlaidML requires; if False, any number up to it.
        probabilities: end in softmax; if False, return logits.
        deviation: standard deviation of the initial weights.

    Returns:
        A model from (batch, length) int32 tokens to (batch, length, vocabulary) float32 scores of the next tokens.
    """
    from zoo.models import transformer
    from zoo.models.transformer import embeddings

    transformer.check_sizes(vocabulary=vocabulary, length=length)
    encoder = {"layers": layers, "heads": heads, "d_ff": d_ff or 4 * d_model, "dropout": dropout, "causal": True,
               "activation": activation, "norm_first": norm_first, "final_norm": norm_first, "deviation": deviation,
               "out_deviation": deviation / math.sqrt(2 * layers)}  # fmt: skip
    tokens = embeddings.token_input(length, fixed)
    embedding = embeddings.TextEmbedding(vocabulary, length, d_model, dropout, deviation, name="embedding")
    x = transformer.encode(compat, embedding(tokens), **encoder)
    x = embeddings.logits(x, embedding, vocabulary, tied, deviation)
    return embeddings.model(tokens, x, probabilities, "transformer_lm")

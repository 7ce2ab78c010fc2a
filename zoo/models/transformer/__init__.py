"""The transformer's encoder, with the numbers of ``torch.nn.TransformerEncoder``, on every Keras.

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762. ``model=transformer`` is the bare encoder, which takes vectors;
``transformer/classifier`` and ``transformer/lm`` put it between tokens and what is asked of them. Nothing here
imports Keras before a builder is called.
"""


def preprocess(vectors):
    """Vectors are what the bare encoder takes."""
    return vectors


def build(compat, length=None, masked=False, **settings):
    """Build the bare encoder.

    Args:
        compat: the Keras at hand, ``zoo.models.compat``.
        length: positions of every input; None takes any length, which PlaidML cannot.
        masked: take a second input, (batch, length): 1 for positions that count, 0 for padding.
        settings: see :func:`encode`; ``d_model`` is the width of the vectors, 512 if not given.

    Returns:
        A model from (batch, length, d_model) float32 to the same.

    Raises:
        ValueError: with the value received.
    """
    make = compat.keras.layers.Input
    x = make(shape=(length, settings.pop("d_model", 512)), name="vectors")
    keep = make(shape=(length,), name="keep") if masked else None
    outputs = encode(compat, x, keep, **settings)
    return compat.keras.models.Model(inputs=[x, keep] if masked else x, outputs=outputs, name="transformer")


def TransformerEncoder(  # noqa: N802  (named like the class of PyTorch that it stands for)
    layers=6,
    d_model=512,
    heads=8,
    d_ff=2048,
    dropout=0.1,
    activation="relu",
    norm_first=False,
    causal=False,
    final_norm=False,
    epsilon=1e-5,
    attention_dropout=None,
    length=None,
    masked=False,
):
    """Build the encoder as a model of your own Keras.

    The arguments after ``d_ff`` are those of ``torch.nn.TransformerEncoderLayer``, and the same weights give the same
    numbers; ``python -m zoo weights convert`` turns one's weights into the other's.

    Args:
        layers: how many, one on the other.
        d_model: width of the vectors, in and out.
        heads: parts that attention is split into; they must divide d_model.
        d_ff: width of the feed-forward networks between their two products.
        dropout: share dropped while training, 0 <= dropout < 1.
        activation: relu or gelu.
        norm_first: normalise what goes into attention and feed-forward, instead of the sums.
        causal: let a position see only itself and those before it.
        final_norm: normalise what comes out of the last layer.
        epsilon: of the normalisations.
        attention_dropout: share of attention weights dropped; None means ``dropout``.
        length: positions of every input; None takes any length, which PlaidML cannot.
        masked: take a second input, (batch, length): 1 for positions that count, 0 for padding.

    Returns:
        A model that is not compiled, from (batch, length, d_model) float32 to the same.

    Raises:
        ValueError: with the value received.
    """
    given = dict(locals())
    from zoo.models import compat

    return build(compat, **given)


def encode(
    compat,
    x,
    keep=None,
    layers=6,
    heads=8,
    d_ff=2048,
    dropout=0.1,
    activation="relu",
    norm_first=False,
    causal=False,
    final_norm=False,
    epsilon=1e-5,
    attention_dropout=None,
    deviation=None,
    out_deviation=None,
):
    """Put an encoder on a Keras tensor.

    Args:
        compat: the Keras at hand.
        x: (batch, length, width).
        keep: (batch, length), 1 for positions that count, 0 for padding; None where all count.
        deviation: standard deviation of the first kernels; None is Glorot uniform.
        out_deviation: the same for the products before the sums; None is ``deviation``.
        layers, heads, d_ff, dropout, activation, norm_first, causal, final_norm, epsilon, attention_dropout:
            see :func:`TransformerEncoder`.

    Returns:
        (batch, length, width).

    Raises:
        ValueError: with the value received.
    """
    settings = {
        "heads": heads,
        "d_ff": d_ff,
        "dropout": dropout,
        "attention_dropout": dropout if attention_dropout is None else attention_dropout,
        "activation": activation,
        "norm_first": norm_first,
        "causal": causal,
        "epsilon": epsilon,
        "deviation": deviation,
        "out_deviation": out_deviation,
    }
    check(compat.static_shape(x)[-1], layers, settings)
    from zoo.models.transformer.layers import EncoderLayer, Normalisation

    for number in range(1, layers + 1):
        x = EncoderLayer(name="layer%d" % number, **settings)(x if keep is None else [x, keep])
    return Normalisation(epsilon, name="norm")(x) if final_norm else x


def check(width, layers, settings):
    """Refuse what no encoder can be built from.

    Raises:
        ValueError: with the value received.
    """
    for name, value in (("layers", layers), ("heads", settings["heads"]), ("d_ff", settings["d_ff"])):
        if value < 1:
            raise ValueError("`%s` should be at least 1. Received %s=%r" % (name, name, value))
    if width % settings["heads"]:
        raise ValueError("`heads` should divide d_model, %d. Received heads=%r" % (width, settings["heads"]))
    for name in ("dropout", "attention_dropout"):
        if not 0 <= settings[name] < 1:
            raise ValueError("`%s` should be from 0 to below 1. Received %s=%r" % (name, name, settings[name]))
    if settings["activation"] not in ("relu", "gelu"):
        raise ValueError("`activation` should be relu or gelu. Received activation=%r" % (settings["activation"],))

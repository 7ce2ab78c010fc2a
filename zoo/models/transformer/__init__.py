"""The transformer's encoder, numerically equal to ``torch.nn.TransformerEncoder``, on every Keras.

Vaswani et al. 2017, https://arxiv.org/abs/1706.03762. ``model=transformer`` is the bare encoder, which takes vectors;
``transformer/classifier`` and ``transformer/lm`` add token embeddings before it and an output after it. Keras is
imported only when a builder is called.
"""

# PyTorch's name of an argument -> the zoo's name and default.
TORCH_NAMES = {"nhead": ("heads", 8), "dim_feedforward": ("d_ff", 2048), "num_encoder_layers": ("layers", 6)}


def preprocess(vectors):
    """Return the vectors unchanged: the bare encoder needs no preprocessing."""
    return vectors


def build(compat, length=None, masked=False, d_model=512, **settings):
    """Build the bare encoder.

    Args:
        length: number of positions of every input; None accepts any number, except on PlaidML.
        masked: take a second input, (batch, length): 1 for positions that count, 0 for padding.
        d_model: width of the vectors.
        settings: see :func:`encode`.

    Returns:
        A model from (batch, length, d_model) float32 to the same shape.
    """
    Input = compat.keras.layers.Input
    x = Input(shape=(length, d_model), name="vectors")
    keep = Input(shape=(length,), name="keep") if masked else None
    outputs = encode(compat, x, keep, **settings)
    return compat.keras.models.Model(inputs=[x, keep] if masked else x, outputs=outputs, name="transformer")


def TransformerEncoder(  # noqa: N802  (named like the class of PyTorch that it replaces)
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
    nhead=None,
    dim_feedforward=None,
    num_encoder_layers=None,
):
    """Build the encoder as a model of your own Keras.

    It computes the same as ``torch.nn.TransformerEncoder`` with the same weights; ``python -m zoo weights convert``
    converts them in both directions. If all positions that a position may attend to are padding, it attends to all
    positions, including later ones. PyTorch returns NaN in this case.

    Args:
        d_model: width of the vectors, in and out; a multiple of heads.
        heads: number of attention heads.
        d_ff: width of the hidden layers of the feed-forward networks.
        dropout: dropout rate, 0 <= dropout < 1.
        activation: relu or gelu.
        norm_first: normalize the inputs of attention and feed-forward network, instead of the residual sums.
        causal: let each position attend only to itself and earlier positions.
        final_norm: normalize the output of the last layer.
        attention_dropout: dropout rate of the attention weights; None means ``dropout``.
        length: number of positions of every input; None accepts any number, except on PlaidML.
        masked: take a second input, (batch, length): 1 for positions that count, 0 for padding.
        nhead, dim_feedforward, num_encoder_layers: PyTorch's names of ``heads``, ``d_ff`` and ``layers``.

    Returns:
        An uncompiled model from (batch, length, d_model) float32 to the same shape.

    Raises:
        ValueError: an argument is invalid, or given twice with different values.
    """
    arguments = dict(locals())
    for theirs, (ours, default) in TORCH_NAMES.items():
        value = arguments.pop(theirs)
        if value is None:
            continue
        if arguments[ours] not in (default, value):
            raise ValueError(
                "`%s` and `%s` are the same argument. Received %r and %r" % (theirs, ours, value, arguments[ours])
            )
        arguments[ours] = value
    from zoo.models import compat

    return build(compat, **arguments)


def encode(compat, x, keep=None, layers=6, final_norm=False, **settings):
    """Apply an encoder to a Keras tensor (batch, length, width); return the same shape.

    Args:
        keep: (batch, length), 1 for positions that count, 0 for padding; None without padding.
        settings: arguments of :func:`TransformerEncoder` from ``heads`` to ``attention_dropout``. ``deviation`` is
            the standard deviation of the initial kernels, None for Glorot uniform. ``out_deviation`` replaces it for
            the projections before residual sums, unless it is None. ``layers.DEFAULTS`` has their defaults.
    """
    from zoo.models.transformer.layers import DEFAULTS, EncoderLayer, LayerNorm

    unknown = sorted(set(settings).difference(DEFAULTS))
    if unknown:
        raise TypeError("the encoder has no setting %s" % ", ".join(unknown))
    settings = dict(DEFAULTS, **settings)
    if settings["attention_dropout"] is None:
        settings["attention_dropout"] = settings["dropout"]
    check_sizes(layers=layers, heads=settings["heads"], d_ff=settings["d_ff"])
    width = compat.static_shape(x)[-1]
    if width % settings["heads"]:
        raise ValueError("`heads` should divide d_model, %d. Received heads=%r" % (width, settings["heads"]))
    for name in ("dropout", "attention_dropout"):
        if not 0 <= settings[name] < 1:
            raise ValueError("`%s` should be from 0 to below 1. Received %s=%r" % (name, name, settings[name]))
    if settings["activation"] not in ("relu", "gelu"):
        raise ValueError("`activation` should be relu or gelu. Received activation=%r" % (settings["activation"],))
    for number in range(1, layers + 1):
        x = EncoderLayer(name="layer%d" % number, **settings)(x if keep is None else [x, keep])
    return LayerNorm(settings["epsilon"], name="norm")(x) if final_norm else x


def check_sizes(**sizes):
    """Check that sizes are positive, or raise ValueError."""
    for name, value in sizes.items():
        if value < 1:
            raise ValueError("`%s` should be at least 1. Received %s=%r" % (name, name, value))

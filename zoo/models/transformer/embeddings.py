"""What stands before and behind an encoder of text: embeddings, padding, pooling."""

from zoo.models.compat import tensors
from zoo.models.transformer.layers import Own, saved

PADDING = 0


@saved
class TextEmbedding(Own):
    """Rows of two tables, one by token and one by position, summed; and back, by the same table of tokens.

    Called with tokens (batch, length) it gives (batch, length, width); with [tokens, positions] the positions are
    taken from the second; with (batch, length, width) it gives the products with every token's row,
    (batch, length, vocabulary): tied embeddings (Press and Wolf 2017, https://arxiv.org/abs/1608.05859).

    Args:
        vocabulary: number of tokens.
        length: most positions.
        width: of the rows.
        dropout: share dropped of the sum.
        deviation: standard deviation of the first rows.
    """

    def __init__(self, vocabulary, length, width, dropout=0.1, deviation=0.02, **kwargs):
        super(TextEmbedding, self).__init__(**kwargs)
        self.settings = {
            "vocabulary": vocabulary,
            "length": length,
            "width": width,
            "dropout": dropout,
            "deviation": deviation,
        }
        self._seeded([dropout])

    def build(self, input_shape):
        width, deviation = self.settings["width"], self.settings["deviation"]
        self._make(
            {
                "tokens": ((self.settings["vocabulary"], width), deviation),
                "positions": ((self.settings["length"], width), deviation),
            }
        )
        super(TextEmbedding, self).build(input_shape)

    def call(self, inputs, training=None):
        tokens, places = inputs if isinstance(inputs, (list, tuple)) else (inputs, None)
        if tensors.rank(tokens) == 3:
            return tensors.against(tokens, self.tokens)
        found = tensors.take(self.tokens, tokens)
        if places is None:
            found = found + tensors.begin(self.positions, tensors.shape(tokens)[1])
        else:
            found = found + tensors.take(self.positions, places)
        return self._drop(found, self.settings["dropout"], training, "found")

    def compute_output_shape(self, input_shape):
        first = tensors.first_shape(input_shape)
        last = self.settings["vocabulary" if len(first) == 3 else "width"]
        return (first[0], first[1], last)

    def get_config(self):
        return dict(super(TextEmbedding, self).get_config(), **self.settings)


@saved
class Kept(Own):
    """1 where a token counts, 0 where it is padding: tokens (batch, length) to numbers of that shape."""

    def call(self, inputs):
        return tensors.unequal(inputs, PADDING)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


@saved
class Pooling(Own):
    """One row of many: [x (batch, length, width), keep (batch, length)] to (batch, width); padding is left out.

    Args:
        kind: ``mean``, ``max``, or ``first``, the first position. A text without a token gives zeros, in ``first``
            what the padding became.
    """

    def __init__(self, kind="mean", **kwargs):
        super(Pooling, self).__init__(**kwargs)
        self.kind = kind

    def call(self, inputs):
        x, keep = inputs
        return tensors.pooled(x, keep, self.kind)

    def compute_output_shape(self, input_shape):
        first = tensors.first_shape(input_shape)
        return (first[0], first[-1])

    def get_config(self):
        return dict(super(Pooling, self).get_config(), kind=self.kind)


@saved
class Outputs(Own):
    """One product: (batch, length, width) to (batch, length, vocabulary).

    Args:
        vocabulary: number of tokens.
        deviation: standard deviation of the first kernel.
    """

    def __init__(self, vocabulary, deviation=0.02, **kwargs):
        super(Outputs, self).__init__(**kwargs)
        self.settings = {"vocabulary": vocabulary, "deviation": deviation}

    def build(self, input_shape):
        sizes = (self.settings["vocabulary"], int(tuple(input_shape)[-1]))
        self._make({"tokens": (sizes, self.settings["deviation"])})
        super(Outputs, self).build(input_shape)

    def call(self, inputs):
        return tensors.against(inputs, self.tokens)

    def compute_output_shape(self, input_shape):
        return (*tuple(input_shape)[:2], self.settings["vocabulary"])

    def get_config(self):
        return dict(super(Outputs, self).get_config(), **self.settings)


@saved
class Wide(Own):
    """The same numbers in float32, whatever precision the layers compute in."""

    def call(self, inputs):
        return tensors.wide(inputs)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def check(vocabulary, length, classes=1):
    """Refuse what no model of text can be built from.

    Raises:
        ValueError: with the value received.
    """
    for name, value in (("vocabulary", vocabulary), ("length", length), ("classes", classes)):
        if value < 1:
            raise ValueError("`%s` should be at least 1. Received %s=%r" % (name, name, value))


def logits(x, embedding, vocabulary, tied, deviation):
    """Outputs over the vocabulary, float32, by the embedding's own table or by a kernel."""
    return Wide(name="logits")(embedding(x) if tied else Outputs(vocabulary, deviation, name="outputs")(x))

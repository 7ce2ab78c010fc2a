"""Inputs and outputs of an encoder of text: embeddings, padding mask, pooling, logits."""

import functools
import operator

import numpy as np

from zoo.models import compat
from zoo.models.compat import tensors
from zoo.models.transformer.layers import ZooLayer
from zoo.protocol import text_features

PADDING = 0


@compat.registered("TextEmbedding")
class TextEmbedding(ZooLayer):
    """Sum of a token embedding and a position embedding; also the transposed product with the token table.

    Called with tokens (batch, length) it returns (batch, length, width); with [tokens, positions] it takes the
    positions from the second. Called with (batch, length, width) it returns the products with every token's row,
    (batch, length, vocabulary): tied embeddings (Press and Wolf 2017, https://arxiv.org/abs/1608.05859).

    Args:
        length: largest number of positions.
        dropout: dropout rate of the sum.
        deviation: standard deviation of the initial embeddings.
    """

    def __init__(self, vocabulary, length, width, dropout=0.1, deviation=0.02, **kwargs):
        super(TextEmbedding, self).__init__(**kwargs)
        self.settings = {
            "vocabulary": vocabulary, "length": length, "width": width, "dropout": dropout, "deviation": deviation,
        }  # fmt: skip
        self._use_dropout([dropout])

    def build(self, input_shape):
        vocabulary, length, width = (self.settings[name] for name in ("vocabulary", "length", "width"))
        deviation = self.settings["deviation"]
        self._add_weights({"tokens": ((vocabulary, width), deviation), "positions": ((length, width), deviation)})
        super(TextEmbedding, self).build(input_shape)

    def call(self, inputs, training=None):
        tokens, positions = inputs if isinstance(inputs, (list, tuple)) else (inputs, None)
        if tensors.rank(tokens) == 3:
            return tensors.matmul_transposed(tokens, self.tokens)
        if positions is None:
            rows = tensors.weight(self.positions)[: tensors.shape(tokens)[1]]
        else:
            rows = tensors.take(self.positions, positions)
        embedded = tensors.take(self.tokens, tokens) + rows
        # On TensorFlow's Keras 2 the name determines what is dropped; renaming it would change resumed trainings.
        return self._drop(embedded, self.settings["dropout"], training, "found")

    def compute_output_shape(self, input_shape):
        first = tensors.first_shape(input_shape)
        last = self.settings["vocabulary" if len(first) == 3 else "width"]
        return (first[0], first[1], last)


@compat.registered("Kept")
class PaddingMask(ZooLayer):
    """1 where a token counts, 0 where it is padding: (batch, length) to (batch, length) float32."""

    def call(self, inputs):
        return tensors.not_equal(inputs, PADDING)


@compat.registered("Pooling")
class Pooling(ZooLayer):
    """Pool [x (batch, length, width), keep (batch, length)] to (batch, width), ignoring padding.

    Args:
        kind: ``mean``, ``max``, or ``first``, the first position. For a text without tokens, ``first`` returns the
            encoder's output at the padding; ``mean`` and ``max`` return zeros.
    """

    def __init__(self, kind="mean", **kwargs):
        super(Pooling, self).__init__(**kwargs)
        self.settings = {"kind": kind}

    def call(self, inputs):
        x, keep = inputs
        return tensors.pool(x, keep, self.settings["kind"])

    def compute_output_shape(self, input_shape):
        first = tensors.first_shape(input_shape)
        return (first[0], first[-1])


@compat.registered("WordPairLogits")
class WordPairLogits(ZooLayer):
    """Linear classifier of the tokens of a text and combinations of tokens, added to an encoder.

    Called with [tokens, keep], both (batch, length), it returns logits (batch, classes), as in NBSVM (Wang and
    Manning 2012, https://aclanthology.org/P12-2018). These are sums over all features without padding, of the
    log-count ratio in each class times a learned gain. :func:`zoo.protocol.text_features.combinations` hashes
    combinations to ``buckets`` numbers. The host fits ratios and first gains (:mod:`zoo.tasks.text.linear`); the
    ratios stay fixed.

    Args:
        buckets: number of hash buckets for combinations.
        spelling: combine the stems of tokens too. Stem numbers are 0 until training sets them.
        scaled: divide the sums by the square root of the number of features. So a number does not grow with the
            length of a text.
    """

    # The gain is FIRST_GAIN plus GAIN_RATE times the weight.
    FIRST_GAIN, GAIN_RATE = 0.02, 0.5
    # Stored ratios are larger by this factor, so that gains are trained faster than other weights by this factor.
    SCALE = 7.0

    def __init__(self, vocabulary, buckets, classes, spelling=False, scaled=False, **kwargs):
        super(WordPairLogits, self).__init__(**kwargs)
        self.settings = {"vocabulary": vocabulary, "buckets": buckets, "classes": classes, "spelling": spelling,
                         "scaled": scaled}  # fmt: skip

    def build(self, input_shape):
        vocabulary, classes = self.settings["vocabulary"], self.settings["classes"]
        features = vocabulary + self.settings["buckets"]
        self._add_weights({"gains": ((features, 1), "zeros")})
        fixed = {"initializer": "zeros", "trainable": False}
        self.ratios = self.add_weight(name="ratios", shape=(features, classes), **fixed)
        if self.settings["spelling"]:
            # Integers stay exact when files are written in half precision.
            self.stems = self.add_weight(name="stems", shape=(vocabulary,), dtype="int32", **fixed)
        super(WordPairLogits, self).build(input_shape)

    def start(self, ratios, gains, stems=None):
        """Set ratios, (vocabulary + buckets, classes), gains, (vocabulary + buckets,), and stems, (vocabulary,)."""
        gains = (gains[:, np.newaxis] / self.SCALE - self.FIRST_GAIN) / self.GAIN_RATE
        self.set_weights([gains.astype(np.float32), self.SCALE * ratios] + ([] if stems is None else [stems]))

    def call(self, inputs):
        tokens, keep = inputs
        vocabulary, buckets = self.settings["vocabulary"], self.settings["buckets"]
        stems = tensors.take(self.stems, tokens) if self.settings["spelling"] else None
        combined = text_features.combinations(tokens, keep, stems, vocabulary, buckets, tensors.modulo)
        pairs = [(tokens, keep)] + [(vocabulary + numbers, kept) for numbers, kept in combined]
        logits = [self._logits(features, kept) for features, kept in tensors.joined(pairs)]
        whole = functools.reduce(operator.add, logits)
        return whole / tensors.root_of_counts([kept for _, kept in pairs]) if self.settings["scaled"] else whole

    def _logits(self, features, kept):
        # Compute only the gains of these texts, not of all features (up to a million).
        gains = self.FIRST_GAIN + self.GAIN_RATE * tensors.take_values(self.gains, features)
        return tensors.weighted_sum(tensors.take(self.ratios, features), gains, kept)

    def compute_output_shape(self, input_shape):
        return (tensors.first_shape(input_shape)[0], self.settings["classes"])


@compat.registered("Outputs")
class VocabularyProjection(ZooLayer):
    """Linear layer without bias: (batch, length, width) to (batch, length, vocabulary)."""

    def __init__(self, vocabulary, deviation=0.02, **kwargs):
        super(VocabularyProjection, self).__init__(**kwargs)
        self.settings = {"vocabulary": vocabulary, "deviation": deviation}

    def build(self, input_shape):
        sizes = (self.settings["vocabulary"], int(tuple(input_shape)[-1]))
        self._add_weights({"tokens": (sizes, self.settings["deviation"])})
        super(VocabularyProjection, self).build(input_shape)

    def call(self, inputs):
        return tensors.matmul_transposed(inputs, self.tokens)

    def compute_output_shape(self, input_shape):
        return (*tuple(input_shape)[:2], self.settings["vocabulary"])


@compat.registered("Wide")
class CastFloat32(ZooLayer):
    """Cast to float32, or to float64 if all layers compute in float64."""

    def call(self, inputs):
        return tensors.to_full_precision(inputs)


def token_input(length, fixed):
    """Create the input of a text model, (batch, length) int32, of any length unless ``fixed``."""
    return compat.keras.layers.Input(shape=(length if fixed else None,), dtype="int32", name="text")


def logits(x, embedding, vocabulary, tied, deviation):
    """Compute float32 logits over the vocabulary, with the embedding's own table or with a kernel."""
    project = embedding if tied else VocabularyProjection(vocabulary, deviation, name="outputs")
    return CastFloat32(name="logits")(project(x))


def model(tokens, outputs, probabilities, name):
    if probabilities:
        kind = compat.keras.backend.floatx()
        softmax = compat.keras.layers.Activation("softmax", name="probabilities", dtype=kind)
        outputs = softmax(outputs)
    return compat.keras.models.Model(inputs=tokens, outputs=outputs, name=name)

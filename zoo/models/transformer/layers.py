"""The Keras layers that transformers are made of, the same on every Keras.

Every weight is a layer's own, so that its path is ``layer/weight`` everywhere. ``drawn`` of a layer names the
weights that are to be drawn anew from a seed: a standard deviation, or None for Glorot uniform.
"""

from zoo.models import compat
from zoo.models.compat import tensors

Layer = compat.keras.layers.Layer


def saved(cls):
    """Tell this Keras of a class, so that it can read its own model files."""
    for place in ("saving", "utils"):
        register = getattr(getattr(compat.keras, place, None), "register_keras_serializable", None)
        if register:
            return register(package="zoo")(cls)
    compat.keras.utils.get_custom_objects()[cls.__name__] = cls
    return cls


def _initializer(deviation):
    if deviation is None:
        return "glorot_uniform"
    if deviation in ("zeros", "ones"):
        return deviation
    return compat.keras.initializers.RandomNormal(stddev=deviation)


class Own(Layer):
    """What the layers share: making weights from a table, and generators of seeds for dropout."""

    def _make(self, table):
        """Add weights: name -> (shape, initial), where initial is zeros, ones, a deviation or None for Glorot."""
        for name, (sizes, initial) in table.items():
            made = self.add_weight(name=name, shape=sizes, initializer=_initializer(initial), trainable=True)
            setattr(self, name, made)
        self.drawn = {name: initial for name, (_, initial) in table.items() if initial not in ("zeros", "ones")}

    def _seeded(self, rates):
        """Say that training differs from the rest where anything is dropped."""
        self.uses_learning_phase = any(rates)
        self.seed_generator = compat.keras.random.SeedGenerator() if compat.MAJOR >= 3 and any(rates) else None

    def _drop(self, x, rate, training, place):
        return tensors.dropout(x, rate, self.seed_generator, training, self.name + "/" + place)


@saved
class EncoderLayer(Own):
    """Self-attention and feed-forward with their residual sums: one layer of an encoder.

    Called with x (batch, length, width), or with [x, keep], keep (batch, length) being 1 for positions that count
    and 0 for padding.

    Args:
        heads: parts that attention is split into.
        d_ff: width of the feed-forward network between its two products.
        dropout: share dropped after attention, inside and after the feed-forward network.
        attention_dropout: share of attention weights dropped.
        activation: relu or gelu.
        norm_first: normalise what goes into attention and feed-forward, instead of the sums.
        causal: let a position see only itself and those before it.
        epsilon: of the normalisations.
        deviation: standard deviation of the first kernels; None is Glorot uniform.
        out_deviation: the same for the two products before the sums; None is ``deviation``.
    """

    def __init__(
        self,
        heads,
        d_ff,
        dropout=0.1,
        attention_dropout=0.1,
        activation="relu",
        norm_first=False,
        causal=False,
        epsilon=1e-5,
        deviation=None,
        out_deviation=None,
        **kwargs,
    ):
        super(EncoderLayer, self).__init__(**kwargs)
        self.settings = {
            "heads": heads,
            "d_ff": d_ff,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "activation": activation,
            "norm_first": norm_first,
            "causal": causal,
            "epsilon": epsilon,
            "deviation": deviation,
            "out_deviation": out_deviation,
        }
        self._seeded([dropout, attention_dropout])

    def build(self, input_shape):
        width, inner = int(tensors.first_shape(input_shape)[-1]), self.settings["d_ff"]
        deviation, out = self.settings["deviation"], self.settings["out_deviation"]
        out = deviation if out is None else out
        self._make(
            {
                "attention_kernel": ((width, 3 * width), deviation),
                "attention_bias": ((3 * width,), "zeros"),
                "output_kernel": ((width, width), out),
                "output_bias": ((width,), "zeros"),
                "norm1_gamma": ((width,), "ones"),
                "norm1_beta": ((width,), "zeros"),
                "inner_kernel": ((width, inner), deviation),
                "inner_bias": ((inner,), "zeros"),
                "outer_kernel": ((inner, width), out),
                "outer_bias": ((width,), "zeros"),
                "norm2_gamma": ((width,), "ones"),
                "norm2_beta": ((width,), "zeros"),
            }
        )
        super(EncoderLayer, self).build(input_shape)

    def call(self, inputs, training=None):
        x, keep = inputs if isinstance(inputs, (list, tuple)) else (inputs, None)

        def attend(y):
            return self._attention(y, keep, training)

        def feed(y):
            return self._feed(y, training)

        if self.settings["norm_first"]:
            x = x + attend(self._normalise(x, "norm1"))
            return x + feed(self._normalise(x, "norm2"))
        x = self._normalise(x + attend(x), "norm1")
        return self._normalise(x + feed(x), "norm2")

    def _attention(self, x, keep, training):
        q, k, v = tensors.parts(tensors.linear(x, self.attention_kernel, self.attention_bias), 3)
        drop = self._drop_weights(training)
        attended = tensors.attend(q, k, v, self.settings["heads"], keep, self.settings["causal"], drop)
        return self._project(attended, training)

    def _project(self, attended, training):
        projected = tensors.linear(attended, self.output_kernel, self.output_bias)
        return self._drop(projected, self.settings["dropout"], training, "projected")

    def _drop_weights(self, training):
        """What drops attention weights; None where that cannot happen, so that fused attention can be used."""
        rate = self.settings["attention_dropout"]
        if not rate or (compat.MAJOR >= 3 and not training):
            return None
        return lambda weights: self._drop(weights, rate, training, "weights")

    def _feed(self, x, training):
        inner = tensors.activate(tensors.linear(x, self.inner_kernel, self.inner_bias), self.settings["activation"])
        inner = self._drop(inner, self.settings["dropout"], training, "inner")
        outer = tensors.linear(inner, self.outer_kernel, self.outer_bias)
        return self._drop(outer, self.settings["dropout"], training, "outer")

    def _normalise(self, x, name):
        gamma, beta = getattr(self, name + "_gamma"), getattr(self, name + "_beta")
        return tensors.normalise(x, gamma, beta, self.settings["epsilon"])

    def compute_output_shape(self, input_shape):
        return tensors.first_shape(input_shape)

    def get_config(self):
        return dict(super(EncoderLayer, self).get_config(), **self.settings)


@saved
class Normalisation(Own):
    """Layer normalisation over the last axis, with weights gamma and beta; tf.keras 1.8 and Keras 2.2 have none."""

    def __init__(self, epsilon=1e-5, **kwargs):
        super(Normalisation, self).__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, input_shape):
        width = int(tuple(input_shape)[-1])
        self._make({"gamma": ((width,), "ones"), "beta": ((width,), "zeros")})
        super(Normalisation, self).build(input_shape)

    def call(self, inputs):
        return tensors.normalise(inputs, self.gamma, self.beta, self.epsilon)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return dict(super(Normalisation, self).get_config(), epsilon=self.epsilon)

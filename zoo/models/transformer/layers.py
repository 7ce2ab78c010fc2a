"""The Keras layers of a transformer, the same on every Keras.

Every weight belongs to a layer directly, so that its path is ``layer/weight`` everywhere.
"""

from zoo.models import compat
from zoo.models.compat import tensors
from zoo.models.compat.attention import attention

# The arguments of :class:`EncoderLayer`.
DEFAULTS = {
    "heads": 8, "d_ff": 2048, "dropout": 0.1, "activation": "relu", "norm_first": False, "causal": False,
    "epsilon": 1e-5, "attention_dropout": None, "deviation": None, "out_deviation": None,
}  # fmt: skip


class ZooLayer(compat.keras.layers.Layer):
    """Base of layers that create their weights from a table and may drop values in training.

    Attributes:
        settings: the layer's own arguments by name, to store it in model files.
        initial_deviations: standard deviation of each randomly initialized weight, None for Glorot uniform.
    """

    def _add_weights(self, table):
        """Create weights as attributes: name -> (shape, value for :func:`zoo.models.compat.initializer`)."""
        for name, (sizes, initial) in table.items():
            instance = compat.initializer(initial)
            setattr(self, name, self.add_weight(name=name, shape=sizes, initializer=instance, trainable=True))
        drawn = {name: initial for name, (_, initial) in table.items() if initial not in ("zeros", "ones")}
        self.initial_deviations = drawn

    def _use_dropout(self, rates):
        """Declare that training differs from inference if any rate is above zero."""
        self.uses_learning_phase = any(rates)
        # Keras 2 needs no generator of a layer's own.
        self.seed_generator = compat.keras.random.SeedGenerator() if any(rates) and compat.MAJOR >= 3 else None

    def _drop(self, x, rate, training, name):
        return tensors.dropout(x, rate, self.seed_generator, training, self.name + "/" + name)

    def get_config(self):
        return dict(super(ZooLayer, self).get_config(), **getattr(self, "settings", {}))

    def compute_output_shape(self, input_shape):
        """Return the shape of the first input, for layers that keep it."""
        return tensors.first_shape(input_shape)


@compat.registered("EncoderLayer")
class EncoderLayer(ZooLayer):
    """One layer of an encoder: self-attention and feed-forward network with residual sums.

    Call it with x (batch, length, width), or with [x, keep], where keep (batch, length) is 1 for positions that
    count and 0 for padding. See :func:`zoo.models.transformer.encode` for the arguments.
    """

    def __init__(self, **kwargs):
        settings = {name: kwargs.pop(name, default) for name, default in DEFAULTS.items()}
        super(EncoderLayer, self).__init__(**kwargs)
        self.settings = settings
        self._use_dropout([settings["dropout"], settings["attention_dropout"]])

    def build(self, input_shape):
        width, inner = int(tensors.first_shape(input_shape)[-1]), self.settings["d_ff"]
        deviation, out = self.settings["deviation"], self.settings["out_deviation"]
        out = deviation if out is None else out
        self._add_weights({
            "attention_kernel": ((width, 3 * width), deviation), "attention_bias": ((3 * width,), "zeros"),
            "output_kernel": ((width, width), out), "output_bias": ((width,), "zeros"),
            "norm1_gamma": ((width,), "ones"), "norm1_beta": ((width,), "zeros"),
            "inner_kernel": ((width, inner), deviation), "inner_bias": ((inner,), "zeros"),
            "outer_kernel": ((inner, width), out), "outer_bias": ((width,), "zeros"),
            "norm2_gamma": ((width,), "ones"), "norm2_beta": ((width,), "zeros"),
        })  # fmt: skip
        super(EncoderLayer, self).build(input_shape)

    def call(self, inputs, training=None):
        x, keep = inputs if isinstance(inputs, (list, tuple)) else (inputs, None)
        rate = self.settings["attention_dropout"]
        drops = rate and not tensors.is_inference(training)  # attention without dropout may be fused
        drop = (lambda weights: self._drop(weights, rate, training, "weights")) if drops else None

        def attend(q, k, v):
            return attention(q, k, v, self.settings["heads"], keep, self.settings["causal"], drop)

        return self._encode(x, attend, training)

    def _encode(self, x, attend, training):
        """Compute the layer; ``attend`` is a function of queries, keys and values."""
        if self.settings["norm_first"]:
            x = x + self._attention(self._normalize(x, "norm1"), attend, training)
            return x + self._feed_forward(self._normalize(x, "norm2"), training)
        x = self._normalize(x + self._attention(x, attend, training), "norm1")
        return self._normalize(x + self._feed_forward(x, training), "norm2")

    def _attention(self, x, attend, training):
        qkv = tensors.split(tensors.linear(x, self.attention_kernel, self.attention_bias), 3)
        projected = tensors.linear(attend(*qkv), self.output_kernel, self.output_bias)
        return self._drop(projected, self.settings["dropout"], training, "projected")

    def _feed_forward(self, x, training):
        inner = tensors.linear(x, self.inner_kernel, self.inner_bias)
        inner = tensors.activation(inner, self.settings["activation"])
        inner = self._drop(inner, self.settings["dropout"], training, "inner")
        outer = tensors.linear(inner, self.outer_kernel, self.outer_bias)
        return self._drop(outer, self.settings["dropout"], training, "outer")

    def _normalize(self, x, name):
        gamma, beta = getattr(self, name + "_gamma"), getattr(self, name + "_beta")
        return tensors.layer_norm(x, gamma, beta, self.settings["epsilon"])


@compat.registered("Normalisation")
class LayerNorm(ZooLayer):
    """Layer normalization over the last axis, which tf.keras 1.8 and Keras 2.2 lack."""

    def __init__(self, epsilon=1e-5, **kwargs):
        super(LayerNorm, self).__init__(**kwargs)
        self.settings = {"epsilon": epsilon}

    def build(self, input_shape):
        width = int(tuple(input_shape)[-1])
        self._add_weights({"gamma": ((width,), "ones"), "beta": ((width,), "zeros")})
        super(LayerNorm, self).build(input_shape)

    def call(self, inputs):
        return tensors.layer_norm(inputs, self.gamma, self.beta, self.settings["epsilon"])

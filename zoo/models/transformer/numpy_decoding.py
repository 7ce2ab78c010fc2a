"""Decode a language model with NumPy and a key/value cache, for one text.

The matrix products for one token take microseconds on a CPU; a call of Keras takes milliseconds.
"""

import math

import numpy as np

# Coefficients of the error function's complement, Abramowitz and Stegun 7.1.26, halved; its error is below 1.5e-7.
SLOPE = 0.3275911 / math.sqrt(2.0)
COMPLEMENT = [each / 2 for each in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)]
EPSILON = 1e-5
# Number of tokens of a long prompt processed at a time, to limit the memory of attention.
AT_ONCE = 256


class NumpyDecoder:
    """Equivalent of :class:`zoo.models.transformer.decoding.CachedDecoder` in float32 on the CPU.

    Args:
        weights: arrays of the language model by name, ``layer/weight``.
        heads, activation, norm_first: arguments that the model was built with.

    Attributes:
        position: number of tokens in the cache.
        length: largest number of tokens in the cache.
    """

    def __init__(self, weights, heads, activation, norm_first):
        self._weights = {name: np.asarray(array, np.float32) for name, array in weights.items()}
        self._heads, self._norm_first = heads, norm_first
        self._activation = {"relu": lambda x: np.maximum(x, 0), "gelu": gelu}[activation]
        self._depth = sum(name.endswith("/inner_kernel") for name in weights)
        self.length, width = self._weights["embedding/positions"].shape
        self._average = np.full((width, 1), 1.0 / width, np.float32)
        self._project = self._weights.get("outputs/tokens", self._weights["embedding/tokens"]).T
        self.reset()

    def reset(self):
        """Empty the cache; a copy of the decoder then has its own cache."""
        self.position, size = 0, len(self._average) // self._heads
        self._keys = np.empty((self._depth, self._heads, size, self.length), np.float32)
        self._values = np.empty((self._depth, self._heads, self.length, size), np.float32)

    def read(self, tokens):
        """Append tokens; return the logits after the last, (vocabulary,) float32.

        If the cache has too little room, raise ValueError: call :meth:`reset` and append the last tokens again.
        """
        if self.position + len(tokens) > self.length:
            raise ValueError("the model's context of %d tokens is full" % self.length)
        for first in range(0, len(tokens), AT_ONCE):
            x = self._encode(np.asarray(tokens[first : first + AT_ONCE]))
        return (self._normalize(x[-1:], "norm/") if self._norm_first else x[-1:]).dot(self._project)[0]

    def _encode(self, tokens):
        end = self.position + len(tokens)
        x = self._weights["embedding/tokens"][tokens] + self._weights["embedding/positions"][self.position : end]
        for number in range(self._depth):
            prefix = "layer%d/" % (number + 1)
            norm1, norm2 = prefix + "norm1_", prefix + "norm2_"
            if self._norm_first:
                x = x + self._attend(self._normalize(x, norm1), number, prefix)
                x = x + self._feed_forward(self._normalize(x, norm2), prefix)
            else:
                x = self._normalize(x + self._attend(x, number, prefix), norm1)
                x = self._normalize(x + self._feed_forward(x, prefix), norm2)
        self.position = end
        return x

    def _attend(self, x, number, prefix):
        """Append x (tokens, width) to the cache and attend to the cache, causally."""
        begin, end, size = self.position, self.position + len(x), self._keys.shape[2]
        q, k, v = self._linear(x, prefix + "attention").reshape(len(x), 3, self._heads, size).transpose(1, 2, 0, 3)
        self._keys[number, :, :, begin:end] = k.transpose(0, 2, 1)
        self._values[number, :, begin:end] = v
        scores = np.matmul(q * size**-0.5, self._keys[number, :, :, :end])
        if len(x) > 1:
            scores += np.triu(np.full((len(x), end), -np.inf, np.float32), begin + 1)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        attended = np.matmul(scores, self._values[number, :, :end])
        return self._linear(attended.transpose(1, 0, 2).reshape(x.shape), prefix + "output")

    def _feed_forward(self, x, prefix):
        return self._linear(self._activation(self._linear(x, prefix + "inner")), prefix + "outer")

    def _linear(self, x, name):
        return x.dot(self._weights[name + "_kernel"]) + self._weights[name + "_bias"]

    def _normalize(self, x, name):
        x = x - x.dot(self._average)
        x *= 1.0 / np.sqrt((x * x).dot(self._average) + EPSILON)
        return x * self._weights[name + "gamma"] + self._weights[name + "beta"]


def gelu(x):
    """Compute the exact GELU as relu(x) minus a correction that is even in x."""
    size = np.abs(x)
    t = 1.0 / (1.0 + SLOPE * size)
    series = COMPLEMENT[0] * t
    for coefficient in COMPLEMENT[1:]:
        series += coefficient
        series *= t
    return np.maximum(x, 0) - series * size * np.exp(-0.5 * x * x)

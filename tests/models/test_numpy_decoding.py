"""NumPy's decoder: its cache, its limits, and its error function."""

import math
from typing import Any

import numpy as np
import pytest

from zoo.models.transformer import numpy_decoding

WIDTH, LENGTH, VOCABULARY = 8, 600, 11


@pytest.fixture
def decoder() -> Any:
    random = np.random.RandomState(1)
    shapes = {"attention": (WIDTH, 3 * WIDTH), "output": (WIDTH, WIDTH), "inner": (WIDTH, 12), "outer": (12, WIDTH)}
    weights = {
        "embedding/tokens": random.randn(VOCABULARY, WIDTH),
        "embedding/positions": random.randn(LENGTH, WIDTH),
    }
    for layer in ("layer1/", "layer2/"):
        weights |= {f"{layer}{name}_kernel": random.randn(*shape) for name, shape in shapes.items()}
        weights |= {f"{layer}{name}_bias": random.randn(shape[1]) for name, shape in shapes.items()}
    for norm in ("layer1/norm1_", "layer1/norm2_", "layer2/norm1_", "layer2/norm2_", "norm/"):
        weights |= {f"{norm}gamma": random.randn(WIDTH), f"{norm}beta": random.randn(WIDTH)}
    return numpy_decoding.NumpyDecoder(weights, 2, "gelu", norm_first=True)


def test_tokens_read_together_give_the_logits_of_tokens_read_singly(decoder: Any) -> None:
    tokens = np.random.RandomState(2).randint(0, VOCABULARY, LENGTH)
    together = decoder.read(tokens)  # more than are read at once
    assert together.dtype == np.float32
    assert together.shape == (VOCABULARY,)
    decoder.reset()
    singly = [decoder.read([token]) for token in tokens][-1]
    np.testing.assert_allclose(singly, together, rtol=1e-4, atol=1e-4)
    assert decoder.position == LENGTH


def test_a_full_cache_takes_no_further_token(decoder: Any) -> None:
    decoder.read([2] * (LENGTH - 1))
    with pytest.raises(ValueError, match="600 tokens"):
        decoder.read([2, 3])
    assert decoder.read([2]).shape == (VOCABULARY,)


def test_gelu_is_the_exact_one() -> None:
    x = np.linspace(-9, 9, 2001).astype(np.float32)
    right = [value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in x.astype(float)]
    np.testing.assert_allclose(numpy_decoding.gelu(x), right, rtol=2e-7, atol=3e-7)

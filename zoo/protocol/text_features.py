"""Features of texts: tokens and hashed combinations of tokens."""

import operator
from typing import Any, List, Tuple

import numpy as np

# A bucket times STEP stays below 2 to the 24th: OpenVINO and PlaidML compute integers as float32.
MOST_BUCKETS, STEP, STEPS = 1 << 20, 15, 4
# Number of kinds of features: tokens and pairs of tokens; with stems, three more.
KINDS, KINDS_WITH_STEMS = 2, 5
# Texts whose features are sorted and counted together.
TOGETHER = 1000


def shortened(tokens: Any, length: int) -> Any:
    """Return the tokens that the model reads; if a text is too long, half of them are from each end."""
    first = length // 2
    return tokens if len(tokens) <= length else np.concatenate([tokens[:first], tokens[first - length :]])


def combinations(
    tokens: Any, keep: Any, stems: Any, vocabulary: int, count: int, modulo: Any = operator.mod
) -> List[Tuple[Any, Any]]:
    """Return the hash buckets of pairs of neighboring tokens and, with stems, of combinations of stems.

    The combinations are pairs of neighboring stems, pairs with one stem between them, and three stems in a row.

    Args:
        tokens: (n, length) int32, an array or a tensor.
        keep: (n, length): 1 for tokens, 0 for padding.
        stems: (n, length) int32 numbers of the tokens' stems, below ``vocabulary``; None for only pairs of tokens.
        count: number of buckets; raise ValueError if it is out of range.
        modulo: function that computes remainders of such arrays or tensors.

    Returns:
        For each kind of combination, its buckets below ``count``, (n, less than length), and a mask: 1 for
        combinations without padding, 0 elsewhere.
    """
    if not 1 <= count <= MOST_BUCKETS:
        raise ValueError("`pair_buckets` should be from 0 to %d. Received pair_buckets=%r" % (MOST_BUCKETS, count))

    def buckets(first: Any, second: Any) -> Any:
        first = modulo(first, count)
        for _ in range(STEPS):
            first = modulo(first * STEP, count)
        return modulo(first + second, count)

    both = keep[:, :-1] * keep[:, 1:]
    pairs = (buckets(tokens[:, :-1], tokens[:, 1:]), both)
    if stems is None:
        return [pairs]
    # Separate ranges of numbers, so that a stem is not a token, and an open pair is not a pair of neighbors.
    stems = stems + vocabulary
    near = buckets(stems[:, :-1], stems[:, 1:])
    open_pairs = buckets(stems[:, :-2] + vocabulary, stems[:, 2:])
    threes = buckets(near[:, :-1], stems[:, 2:])
    ends = keep[:, :-2] * keep[:, 2:]
    return [pairs, (near, both), (open_pairs, ends), (threes, ends * keep[:, 1:-1])]


def features(rows: Any, stems: Any, vocabulary: int, count: int) -> Any:
    """Return the features of texts: their tokens, and combinations of tokens, numbered after the vocabulary.

    Args:
        rows: (n, length) int32 tokens, 0 for padding.
        stems: (vocabulary,) int32 number of each token's stem; None for only pairs of tokens.
        count: number of buckets.

    Returns:
        (n, features) integers; 0 for features that contain padding.
    """
    keep = rows != 0
    # For a power of two, in a tenth of the time; the numbers are not negative.
    modulo = operator.mod if count & (count - 1) else lambda numbers, power: numbers & (power - 1)
    combined = combinations(rows, keep, None if stems is None else stems[rows], vocabulary, count, modulo)
    return np.concatenate([rows, *(np.where(kept, vocabulary + numbers, 0) for numbers, kept in combined)], axis=1)

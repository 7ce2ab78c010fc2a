"""Features of texts: tokens, hashed combinations of tokens, and how much more common each one is in a class."""

import operator

import numpy as np

# A bucket times STEP stays below 2 to the 24th: OpenVINO and PlaidML compute integers as float32.
MOST_BUCKETS, STEP, STEPS = 1 << 20, 15, 4
# Kinds of features: tokens and pairs of them; with stems, three more.
KINDS, KINDS_WITH_STEMS = 2, 5
# Texts whose features are sorted and counted together.
TOGETHER = 1000


def combinations(tokens, keep, stems, vocabulary, count, modulo=operator.mod):
    """Return the buckets of pairs of neighboring tokens and, with stems, of three kinds of combinations of stems.

    These are pairs of neighboring stems, pairs of stems with one between them, and three in a row.

    Args:
        tokens: (n, length) int32, an array or a tensor.
        keep: (n, length): 1 where a token counts, 0 where it is padding.
        stems: (n, length) int32 numbers of the tokens' stems, below ``vocabulary``; None for only pairs of tokens.
        count: number of buckets.
        modulo: computes remainders of such tensors.

    Returns:
        For each kind of combination its buckets, (n, fewer than length), below ``count``, and 1 where all of its
        tokens count, 0 elsewhere.

    Raises:
        ValueError: ``count`` is out of range.
    """
    if not 1 <= count <= MOST_BUCKETS:
        raise ValueError("`pair_buckets` should be from 0 to %d. Received pair_buckets=%r" % (MOST_BUCKETS, count))

    def buckets(first, second):
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


def features(rows, stems, vocabulary, count):
    """Return the features of some texts: their tokens, and their combinations, numbered after the vocabulary.

    Args:
        rows: (n, length) int32 tokens, 0 for padding.
        stems: (vocabulary,) int32 number of each token's stem; None for only pairs of tokens.
        count: number of buckets.

    Returns:
        (n, features) integers; 0 where a token of the feature is padding.
    """
    keep = rows != 0
    modulo = operator.mod if count & (count - 1) else _of_power  # a tenth of the time
    combined = combinations(rows, keep, None if stems is None else stems[rows], vocabulary, count, modulo)
    return np.concatenate([rows, *(np.where(kept, vocabulary + numbers, 0) for numbers, kept in combined)], axis=1)


def _of_power(numbers, power):
    """Return the remainders of non-negative integers divided by a power of two."""
    return numbers & (power - 1)


def counts(batches, total, classes):
    """Count the texts of each class that contain each feature.

    Args:
        batches: pairs of features, from :func:`features`, and (n,) integer classes.
        total: number of possible features: the vocabulary, and the buckets.

    Returns:
        (total, classes) float64; 0 for padding.
    """
    texts = np.zeros((total, classes))
    for numbers, labels in batches:
        for kind in np.unique(labels):
            texts[:, kind] += _texts_with(numbers[labels == kind], total)
    texts[0] = 0
    return texts


def log_count_ratios(texts):
    """Return how much more common each feature is in each class's texts than in all other texts.

    See Wang and Manning 2012 (https://aclanthology.org/P12-2018), section 2. Each value is the logarithm of the ratio
    of the shares of texts that have the feature, each count raised by one. Here, each class is compared with all
    remaining ones.

    Args:
        texts: (features, classes), from :func:`counts`.

    Returns:
        (features, classes) float32; 0 for a feature that no text has.
    """
    raised = texts + 1
    others = raised.sum(axis=1, keepdims=True) - raised
    ratios = np.log(raised / raised.sum(axis=0)) - np.log(others / others.sum(axis=0))
    ratios[texts.sum(axis=1) == 0] = 0
    return ratios.astype(np.float32)


def _texts_with(numbers, total):
    """Return (total,) number of texts, rows of features, that have each feature at least once."""
    numbers = np.sort(numbers, axis=1)
    first = np.ones(numbers.shape, bool)
    first[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    return np.bincount(numbers[first], minlength=total)

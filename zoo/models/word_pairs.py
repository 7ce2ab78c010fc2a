"""Pairs of neighbouring tokens as features: their numbers, and how much commoner each is in one class."""

import operator

import numpy as np

# A bucket times STEP stays below 2 to the 24th: OpenVINO and PlaidML compute with integers as float32.
MOST_BUCKETS, STEP, STEPS = 1 << 20, 15, 4
# Texts counted at a time: as many features of them are sorted together.
TOGETHER = 1000


def buckets(tokens, count, modulo=operator.mod):
    """Return the bucket, below ``count``, of each two neighbouring tokens: (n, length) to (n, length - 1).

    ``tokens`` is int32, an array or a tensor. A bucket is the second plus 15 ** 4 times the first, modulo the count.
    ``modulo`` computes remainders of such tensors.

    Raises:
        ValueError: there are too many buckets, or none.
    """
    if not 1 <= count <= MOST_BUCKETS:
        raise ValueError("`pair_buckets` should be from 0 to %d. Received pair_buckets=%r" % (MOST_BUCKETS, count))
    first = modulo(tokens[:, :-1], count)
    for _ in range(STEPS):
        first = modulo(first * STEP, count)
    return modulo(first + tokens[:, 1:], count)


def features(rows, vocabulary, count):
    """Return the features of some texts: their tokens, and their pairs, numbered after the vocabulary.

    Args:
        rows: (n, length) int32 tokens, 0 for padding.
        vocabulary: number of tokens.
        count: number of buckets.

    Returns:
        (n, 2 length - 1) integers; 0 where a token of the feature is padding.
    """
    pairs = vocabulary + buckets(rows, count)
    pairs[(rows[:, :-1] == 0) | (rows[:, 1:] == 0)] = 0
    return np.concatenate([rows, pairs], axis=1)


def log_count_ratios(batches, total, classes):
    """Return how much commoner each feature is in the texts of each class than in the others.

    As Wang and Manning 2012 (https://aclanthology.org/P12-2018), section 2: the logarithm of the ratio of the shares
    of texts that have the feature, each count raised by one; here of each class against all others.

    Args:
        batches: of (features, labels): what :func:`features` returns, and (n,) integer classes.
        total: number of features that there are: the vocabulary, and the buckets.
        classes: number of classes.

    Returns:
        (total, classes) float32; 0 for padding.
    """
    counts = np.ones((total, classes))
    for numbers, labels in batches:
        for kind in np.unique(labels):
            counts[:, kind] += _texts_with(numbers[labels == kind], total)
    counts[0] = 1
    others = counts.sum(axis=1, keepdims=True) - counts
    ratios = np.log(counts / counts.sum(axis=0)) - np.log(others / others.sum(axis=0))
    ratios[0] = 0
    return ratios.astype(np.float32)


def _texts_with(numbers, total):
    """(total,) number of texts, rows of features, that have each feature at least once."""
    numbers = np.sort(numbers, axis=1)
    first = np.ones(numbers.shape, bool)
    first[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    return np.bincount(numbers[first], minlength=total)

"""Pairs of neighbouring tokens as features: their numbers, and how much commoner each is in one class."""

import operator

import numpy as np

# A bucket times STEP stays below 2 to the 24th: OpenVINO and PlaidML compute with integers as float32.
MOST_BUCKETS, STEP, STEPS = 1 << 20, 15, 4
# Texts counted at a time: as many features of them are sorted together.
TOGETHER = 1000
# How far apart the first logits of the texts that were counted are, as a standard deviation.
FIRST_SPREAD = 0.75


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


def log_count_ratios(batches, vocabulary, count, classes):
    """Return how much commoner each token and each pair is in the texts of each class than in the others.

    As Wang and Manning 2012 (https://aclanthology.org/P12-2018), section 2: the logarithm of the ratio of the shares
    of texts that have the feature, each count raised by one; here of each class against all others.

    Args:
        batches: of (rows, labels): (n, length) int32 tokens, 0 for padding, and (n,) integer classes.
        vocabulary: number of tokens.
        count: number of buckets.
        classes: number of classes.

    Returns:
        (vocabulary + count, classes) float32; 0 for padding.
    """
    counts = np.ones((vocabulary + count, classes))
    for rows, labels in batches:
        for kind in np.unique(labels):
            counts[:, kind] += _texts_with(rows[labels == kind], vocabulary, count)
    counts[0] = 1
    others = counts.sum(axis=1, keepdims=True) - counts
    ratios = np.log(counts / counts.sum(axis=0)) - np.log(others / others.sum(axis=0))
    ratios[0] = 0
    return ratios.astype(np.float32)


def first_gain(batches, ratios, count):
    """Return the gain with which the logits of some texts spread by ``FIRST_SPREAD``.

    The sums of ratios of long texts are many times larger than those of short ones.

    Args:
        batches: of rows, (n, length) int32 tokens, 0 for padding.
        ratios: (vocabulary + count, classes), see :func:`log_count_ratios`.
        count: number of buckets.

    Returns:
        A number; 0 where nothing tells the classes apart.
    """
    vocabulary = len(ratios) - count
    sums = [ratios[rows].sum(axis=1) + ratios[_pairs(rows, vocabulary, count)].sum(axis=1) for rows in batches]
    spread = float(np.concatenate(sums).std())
    return FIRST_SPREAD / spread if spread else 0.0


def _pairs(rows, vocabulary, count):
    """(n, length - 1) the feature of each two neighbours; that of padding where one is padding."""
    pairs = vocabulary + buckets(rows, count)
    pairs[(rows[:, :-1] == 0) | (rows[:, 1:] == 0)] = 0
    return pairs


def _texts_with(rows, vocabulary, count):
    """(vocabulary + count,) number of texts, rows of tokens, that have each feature at least once."""
    features = np.sort(np.concatenate([rows, _pairs(rows, vocabulary, count)], axis=1), axis=1)
    first = np.ones(features.shape, bool)
    first[:, 1:] = features[:, 1:] != features[:, :-1]
    return np.bincount(features[first], minlength=vocabulary + count)

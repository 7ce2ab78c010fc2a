"""Pairs of neighbouring tokens as features."""

import numpy as np
import pytest

from zoo.models import word_pairs

VOCABULARY, BUCKETS = 6, 1000


def ratios(rows: list[list[int]], labels: list[int], classes: int = 2) -> np.ndarray:
    batch = (word_pairs.features(np.array(rows, np.int32), VOCABULARY, BUCKETS), np.array(labels))
    given: np.ndarray = word_pairs.log_count_ratios([batch], VOCABULARY + BUCKETS, classes)
    return given


def bucket(first: int, second: int) -> int:
    ((number,),) = word_pairs.buckets(np.array([[first, second]], np.int32), BUCKETS)
    return VOCABULARY + int(number)


def test_what_is_commoner_in_a_class_speaks_for_it() -> None:
    given = ratios([[2, 3, 0], [2, 3, 4], [3, 2, 4], [3, 2, 0]], [0, 0, 1, 1])
    assert given[bucket(2, 3)][0] == pytest.approx(np.log(3)) == -given[bucket(2, 3)][1]
    assert given[bucket(3, 2)][1] == pytest.approx(np.log(3))
    assert np.abs(given[[2, 3, 4, 5]]).max() < 1e-6, "as common in both classes"


def test_a_text_counts_once_and_padding_never() -> None:
    once, often = ratios([[2, 0, 0], [3, 0, 0]], [0, 1]), ratios([[2, 0, 0], [3, 3, 3]], [0, 1])
    assert once[3][1] == pytest.approx(np.log(2))
    assert often[2][0] == pytest.approx(np.log(2 / (1006 + 1)) - np.log(1 / (1006 + 2)))
    assert not once[0].any()
    assert not once[bucket(2, 0)].any()


def test_several_batches_count_together() -> None:
    rows, labels = np.array([[2, 3], [3, 4], [4, 5], [5, 2]], np.int32), np.array([0, 1, 2, 0])
    numbers = word_pairs.features(rows, VOCABULARY, BUCKETS)
    parts = [(numbers[:1], labels[:1]), (numbers[1:], labels[1:])]
    given = word_pairs.log_count_ratios(parts, VOCABULARY + BUCKETS, 3)
    assert np.array_equal(given, ratios(rows.tolist(), labels.tolist(), 3))


def test_buckets_are_those_of_exact_arithmetic_with_numbers_that_float32_holds() -> None:
    tokens = np.array([[999_999, 999_998, 7]])
    for count in (262_144, word_pairs.MOST_BUCKETS):
        exact = [(first * 15**4 + second) % count for first, second in zip(tokens[0], tokens[0][1:], strict=False)]
        assert word_pairs.buckets(tokens, count)[0].tolist() == exact
        assert word_pairs.buckets(tokens.astype(np.float32), count)[0].tolist() == exact


def test_common_words_share_few_buckets() -> None:
    first, second = np.divmod(np.arange(300 * 300), 300)
    given = word_pairs.buckets(np.stack([first, second], axis=1), 262_144)
    alone = len(np.unique(given)) / len(given)
    assert alone > 0.84, "of as many random numbers 0.85 would differ"


def test_features_are_tokens_and_pairs_and_padding_is_none() -> None:
    (numbers,) = word_pairs.features(np.array([[2, 3, 0]], np.int32), VOCABULARY, BUCKETS)
    assert numbers.tolist() == [2, 3, 0, bucket(2, 3), 0]


@pytest.mark.parametrize("count", [-1, 1 << 21])
def test_other_numbers_of_buckets_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="pair_buckets"):
        word_pairs.buckets(np.zeros((1, 2), np.int32), count)

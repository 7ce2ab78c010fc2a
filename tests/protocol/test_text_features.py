"""Tokens and combinations of them as features of texts."""

import numpy as np
import pytest

from zoo.protocol import text_features

VOCABULARY, BUCKETS = 6, 1000


def features(rows: list[list[int]], stems: list[int] | None = None, count: int = BUCKETS) -> np.ndarray:
    numbers = None if stems is None else np.array(stems, np.int32)
    given: np.ndarray = text_features.features(np.array(rows, np.int32), numbers, VOCABULARY, count)
    return given


def pairs(tokens: np.ndarray, count: int) -> np.ndarray:
    ((numbers, _),) = text_features.combinations(tokens, np.ones_like(tokens), None, VOCABULARY, count)
    return numbers


def bucket(first: int, second: int) -> int:
    ((number,),) = pairs(np.array([[first, second]], np.int32), BUCKETS)
    return VOCABULARY + int(number)


def test_buckets_are_those_of_exact_arithmetic_with_numbers_that_float32_holds() -> None:
    tokens = np.array([[999_999, 999_998, 7]])
    for count in (262_144, text_features.MOST_BUCKETS):
        exact = [(first * 15**4 + second) % count for first, second in zip(tokens[0], tokens[0][1:], strict=False)]
        assert pairs(tokens, count)[0].tolist() == exact
        assert pairs(tokens.astype(np.float32), count)[0].tolist() == exact


def test_common_words_share_few_buckets() -> None:
    first, second = np.divmod(np.arange(300 * 300), 300)
    given = pairs(np.stack([first, second], axis=1), 262_144)
    alone = len(np.unique(given)) / len(given)
    assert alone > 0.84, "of as many random numbers 0.85 would differ"


def test_features_are_tokens_and_pairs_and_padding_is_none() -> None:
    (numbers,) = features([[2, 3, 0]])
    assert numbers.tolist() == [2, 3, 0, bucket(2, 3), 0]


@pytest.mark.parametrize("count", [-1, 1 << 21])
def test_other_numbers_of_buckets_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="pair_buckets"):
        pairs(np.zeros((1, 2), np.int32), count)


STEMS = [0, 1, 2, 3, 2, 5]  # tokens 2 and 4 have the same


def test_with_stems_words_of_the_same_one_share_combinations_but_not_themselves_nor_their_pairs() -> None:
    one, other = features([[2, 5, 3], [4, 5, 3]], STEMS, text_features.MOST_BUCKETS)
    # Tokens, pairs of tokens, of stems, of stems with one between, three stems.
    assert (one == other).tolist() == [False, True, True, False, True, True, True, True, True]
    assert len(set(one)) == 9, "no two of them are the same feature"
    apart = features([[5, 2, 3]], STEMS, text_features.MOST_BUCKETS)[0]
    assert not set(one[3:]) & set(apart[3:]), "their order counts"


def test_a_long_text_has_about_as_many_features_as_tokens_of_each_kind() -> None:
    tokens = [[2, 3] * 500]
    assert len(features(tokens)[0]) == pytest.approx(1000 * text_features.KINDS, rel=0.01)
    assert len(features(tokens, STEMS)[0]) == pytest.approx(1000 * text_features.KINDS_WITH_STEMS, rel=0.01)


def test_with_stems_padding_is_none_and_short_texts_have_fewer() -> None:
    (numbers,) = features([[2, 3, 0]], STEMS)
    assert (numbers != 0).tolist() == [True, True, False, True, False, True, False, False, False]
    assert features([[2]], STEMS).tolist() == [[2]]

"""Stems and parts of words."""

import numpy as np

from zoo.protocol import word_parts


def test_words_of_the_same_first_four_letters_have_one_stem() -> None:
    stems = word_parts.stems(["", "", "wonder", "won", "wonderful", "\u0447\u0443\u0434\u043e", "won"])
    assert stems.tolist() == [0, 1, 2, 3, 2, 5, 3]
    assert stems.dtype == np.int32


def test_parts_are_runs_of_letters_with_the_ends_marked() -> None:
    parts = word_parts.Parts(["", "cat", "at"])
    # <ca cat at> <cat cat> <cat>, and <at at> <at>
    assert parts.count == 8
    assert np.bincount(parts.words_of).tolist() == [0, 6, 3]
    assert sorted(np.bincount(parts.parts)) == [1, 1, 1, 1, 1, 1, 1, 2]


def test_a_part_counts_as_often_as_it_is_in_a_word() -> None:
    parts = word_parts.Parts(["aaaaa"])
    assert np.bincount(parts.parts).max() == 3


def test_of_a_text_without_blanks_only_its_beginning_counts() -> None:
    assert word_parts.Parts(["ab" * 5000]).count == word_parts.Parts(["ab" * (word_parts.MOST_LETTERS // 2)]).count
    assert word_parts.Parts(["".join(map(str, range(2000)))]).count < 4 * (word_parts.MOST_LETTERS + 2)


def test_where_no_word_has_letters_there_are_none() -> None:
    parts = word_parts.Parts(["", ""])
    assert parts.count == len(parts.words_of) == len(parts.parts) == 0

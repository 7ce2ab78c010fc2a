"""Stems and parts of words, from their letters only."""

from typing import Any, Dict, List

import numpy as np

STEM = 4
SHORTEST, LONGEST = 3, 6
# Largest number of letters used of a word, because a text without spaces may be one word.
MOST_LETTERS = 50


def words_of(pieces: List[str]) -> List[str]:
    """Return the word of each token, without spaces; ``pieces`` are its bytes, written as one character each."""
    return [piece.encode("latin-1").decode("utf-8", "ignore").strip() for piece in pieces]


def stems(words: List[str]) -> Any:
    """Return the number of the stem (the first four letters) of each word: (words,) int32.

    It is the number of the first word with that stem. An empty word has its own number.
    """
    numbers: Dict[Any, int] = {}
    firsts = [numbers.setdefault(word[:STEM] or number, number) for number, word in enumerate(words)]
    return np.array(firsts, np.int32)


class Parts:
    """Character n-grams of three to six letters in words with marked ends, as in Bojanowski et al. 2017.

    https://aclanthology.org/Q17-1010, section 3.2. An n-gram counts as often as it occurs in a word. Only the first
    fifty letters of a word are used. An empty word has no n-grams.

    Attributes:
        count: number of different parts.
        words_of, parts: the word and the part of each occurrence of a part.
    """

    def __init__(self, words: List[str]) -> None:
        numbers: Dict[str, int] = {}
        words_of, parts = [], []
        for number, word in enumerate(words):
            marked = "<" + word[:MOST_LETTERS] + ">" if word else ""
            for size in range(SHORTEST, LONGEST + 1):
                for begin in range(len(marked) - size + 1):
                    words_of.append(number)
                    parts.append(numbers.setdefault(marked[begin : begin + size], len(numbers)))
        self.count = len(numbers)
        self.words_of, self.parts = np.array(words_of, np.int32), np.array(parts, np.int32)

"""Texts keep to plain English: no banned phrase in pages, messages and docstrings, and short sentences."""

import pytest

from tests.support import scripts

MOST_WORDS_A_SENTENCE = 15.0
LONG = 25
# Lower them whenever the number of long sentences falls.
MOST_LONG = {"documentation": 0, "messages": 5, "docstrings": 4}


@pytest.mark.parametrize("kind", MOST_LONG)
def test_sentences_are_short_and_without_banned_phrases(kind: str) -> None:
    prose = scripts.load("maintenance/prose")
    texts = list(prose.KINDS[kind]())
    assert not prose.violations(texts)
    lengths = [words for words, _ in prose.sentences(texts)]
    assert sum(lengths) / len(lengths) <= MOST_WORDS_A_SENTENCE
    assert len([words for words in lengths if words > LONG]) <= MOST_LONG[kind]


def test_programs_in_strings_are_no_messages() -> None:
    prose = scripts.load("maintenance/prose")
    assert prose.PROGRAM.search("import os, sys\nprint(os.name)")
    assert not prose.PROGRAM.search("Cannot import os.\nAsk for help with the function X")


def test_a_banned_phrase_is_listed_with_its_line() -> None:
    prose = scripts.load("maintenance/prose")
    text = prose.Text("page.md", 7, "The body is no JSON.\nThe grey picture is written anew.\nThere is no fallback.")
    places = [place.rsplit(": ", 1)[0] for place in prose.violations([text])]
    assert places == ["page.md:7: is no ", "page.md:8: picture", "page.md:8: anew", "page.md:8: grey"]


def test_words_of_sentences_are_counted() -> None:
    prose = scripts.load("maintenance/prose")
    text = prose.Text("page.md", 1, "One two three four. One two.\n\nOne two three")
    assert [words for words, _ in prose.sentences([text])] == [4, 3]

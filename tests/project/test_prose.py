"""Texts keep to plain English: no banned phrase in pages, messages and docstrings, and short sentences."""

import pytest

from tests.support import scripts

MOST_WORDS_A_SENTENCE = 15.0
LONG = 25
# Lower them whenever the number of long sentences falls.
MOST_LONG = {"documentation": 12, "messages": 24, "docstrings": 12}


def test_pages_have_no_banned_phrase() -> None:
    prose = scripts.load("maintenance/prose")
    assert not prose.violations(list(prose.documentation()))


def test_sentences_of_pages_are_short() -> None:
    prose = scripts.load("maintenance/prose")
    lengths = [words for words, _ in prose.sentences(list(prose.documentation()))]
    assert sum(lengths) / len(lengths) <= MOST_WORDS_A_SENTENCE


@pytest.mark.parametrize("kind", MOST_LONG)
def test_few_sentences_are_long(kind: str) -> None:
    prose = scripts.load("maintenance/prose")
    lengths = prose.sentences(list(prose.KINDS[kind]()))
    assert len([place for words, place in lengths if words > LONG]) <= MOST_LONG[kind]


def test_programs_in_strings_are_no_messages() -> None:
    prose = scripts.load("maintenance/prose")
    assert prose.PROGRAM.search("import os, sys\nprint(os.name)")
    assert not prose.PROGRAM.search("Cannot import os.\nAsk for help with the function X")


@pytest.mark.parametrize("kind", ["messages", "docstrings"])
def test_program_has_no_banned_phrase(kind: str) -> None:
    prose = scripts.load("maintenance/prose")
    assert not prose.violations(list(prose.KINDS[kind]()))


def test_a_banned_phrase_is_listed_with_its_line() -> None:
    prose = scripts.load("maintenance/prose")
    text = prose.Text("page.md", 7, "The body is no JSON.\nThe grey picture is written anew.\nThere is no fallback.")
    places = [place.rsplit(": ", 1)[0] for place in prose.violations([text])]
    assert places == ["page.md:7: is no ", "page.md:8: picture", "page.md:8: anew", "page.md:8: grey"]


def test_words_of_sentences_are_counted() -> None:
    prose = scripts.load("maintenance/prose")
    text = prose.Text("page.md", 1, "One two three four. One two.\n\nOne two three")
    assert [words for words, _ in prose.sentences([text])] == [4, 3]

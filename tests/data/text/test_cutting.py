"""zoo.data.text.cutting: what an export copies cuts texts as the program does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.data.text import cutting, tokenization

CORPUS = "It's the cat's 12 hats; we'll see, they're done.\n\n  Straße ½ ²  naïve 日本 e\u0301 <b>bold</b>\t'tis!? " * 9
LETTERS = st.sampled_from(
    [*"abcT 'strevmld\n\t.,!?_-\"12\u00bd\u00b2\u2167\u00e9\u00df\u65e5\U0001f642\u0301\u00a0\u2003\u200b\x1c"]
)
TEXTS = st.one_of(st.text(max_size=60), st.text(LETTERS, max_size=60))


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("kind", ["words", "characters", "bpe"])
def test_numbers_are_those_of_the_program(kind: str, lowercase: bool) -> None:
    tokenizer = tokenization.learn(kind, [CORPUS], 330, lowercase)
    vocabulary = {"pieces": tokenizer.tokens, "rules": tokenizer.rules}

    @settings(max_examples=400, deadline=None)
    @given(TEXTS.filter(lambda text: text.isprintable() or "\ud800" not in text))
    def check(text: str) -> None:
        assert cutting.numbers_of(text, vocabulary, tokenizer.cutting) == tokenizer.encode_all([text])[0].tolist()

    check()


@pytest.mark.parametrize("kind", ["characters", "bpe"])
def test_tokens_add_up_to_their_text(kind: str) -> None:
    tokenizer = tokenization.learn(kind, [CORPUS], 330, lowercase=False)
    added = cutting.bytes_of(tokenizer.tokens, tokenizer.cutting)
    assert b"".join(added[number] for number in tokenizer.encode(CORPUS)).decode() == CORPUS

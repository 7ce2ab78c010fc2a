"""Texts to numbers and back."""

import json
from pathlib import Path

import pytest

from zoo.config.schemas.text import TOKENIZERS
from zoo.core.errors import ZooError
from zoo.data.text import tokenization

TEXTS = ["The film isn't good. The END.\n", "A <br />good film, naïve: 日本 🎬"]


def test_words_are_ranked_by_frequency() -> None:
    tokenizer = tokenization.learn("words", TEXTS, 8, True)
    assert tokenizer.tokens == ["<pad>", "<unknown>", "film", "good", "the", ".", "\n", ","][:8] or len(tokenizer) == 8
    assert tokenizer.encode("THE good <b>unheard</b>film") == [tokenizer.tokens.index(w) for w in ("the", "good")] + [
        1, tokenizer.tokens.index("film"),
    ]  # fmt: skip
    assert tokenizer.missing("the unheard one") == ["unheard", "one"]


def test_words_keep_their_apostrophes_and_lines_their_ends() -> None:
    tokenizer = tokenization.learn("words", TEXTS, 100, False)
    assert {"isn't", "naïve", "日本", "🎬", "\n"} <= set(tokenizer.tokens)
    assert "br" not in tokenizer.tokens


def test_characters_are_all_of_them() -> None:
    tokenizer = tokenization.learn("characters", TEXTS, 100, False)
    assert set(tokenizer.tokens[2:]) == set("".join(TEXTS))
    assert "".join(tokenizer.tokens[number] for number in tokenizer.encode(TEXTS[1])) == TEXTS[1]


@pytest.mark.parametrize("text", [*TEXTS, "never seen: \u0416 \x07 \U0001f600"])
def test_bpe_of_bytes_knows_every_text(text: str) -> None:
    tokenizer = tokenization.learn("bpe", TEXTS * 20, 300, False)
    assert 258 < len(tokenizer) <= 300
    numbers = tokenizer.encode(text)
    assert tokenization.UNKNOWN not in numbers
    assert "".join(tokenizer.token_bytes()[number] for number in numbers).encode("latin-1").decode() == text
    assert [list(each) for each in tokenizer.encode_all([text])] == [numbers]


def test_what_words_add_to_a_text() -> None:
    tokenizer = tokenization.learn("words", TEXTS, 100, False)
    additions = tokenizer.token_bytes()
    written = "".join(additions[number] for number in tokenizer.encode("The naïve film.")).encode("latin-1").decode()
    assert written == " The naïve film."


def test_characters_of_a_long_text_are_counted_as_those_of_a_short_one() -> None:
    text = "Ab\u4e2d\U0001f600\n" * 20_000
    for lowercase in (False, True):
        long = tokenization.learn("characters", [text], 6, lowercase)
        assert long == tokenization.learn("characters", [text[:5]] * 20_000, 6, lowercase)
        assert long.encode_all([text])[0].tolist() == long.encode(text)
        assert tokenization.UNKNOWN in long.encode(text)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_a_vocabulary_is_read_back(tmp_path: Path, kind: str) -> None:
    tokenizer = tokenization.learn(kind, TEXTS, 300, True)
    tokenizer.save(tmp_path / "vocabulary.json")
    again = tokenization.load(tmp_path / "vocabulary.json")
    assert again == tokenizer
    assert again.encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


@pytest.mark.parametrize(
    "change",
    [{"format": 9}, {"kind": "os.system"}, {"pieces": [1, 2, 3]}, {"pieces": []}, {"rules": None},
     {"pieces": ["film"] * 9}],
)  # fmt: skip
def test_a_stranger_s_vocabulary_is_checked(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "vocabulary.json"
    tokenization.learn("words", TEXTS, 300, True).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ZooError, match="cannot be used"):
        tokenization.load(path)


def test_rules_of_bpe_from_a_stranger_are_checked(tmp_path: Path) -> None:
    tokenizer = tokenization.Tokenizer("bpe", False, ["", "x"], '{"model": "nonsense"}')
    with pytest.raises(ZooError, match="BPE rules"):
        tokenizer.encode("x")


def test_what_cannot_be_learnt_is_told() -> None:
    with pytest.raises(ZooError, match="no tokenizer called 'wrods'; did you mean 'words'"):
        tokenization.learn("wrods", TEXTS, 10, True)
    with pytest.raises(ZooError, match="needs 258 or more"):
        tokenization.learn("bpe", TEXTS, 100, True)

"""Long texts piece by piece: the same tokens as of the whole, and the same words about what is no text."""

from pathlib import Path

import numpy as np
import pytest

from zoo.core.errors import ZooError
from zoo.data.text import pieces, tokenization


def long_text(seed: int, alphabet: str) -> str:
    return "".join(np.random.default_rng(seed).choice(list(alphabet), 3000))


@pytest.mark.parametrize("kind", ["characters", "words", "bpe"])
@pytest.mark.parametrize(
    "alphabet", ["ab  \n", "aB'<>/b \r\n", "Σσ, \t\n\x1c\u3000", "aé中😀", "<a> ", "\n ", "x"], ids=ascii
)
def test_no_token_of_a_long_text_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, alphabet: str
) -> None:
    monkeypatch.setattr(pieces, "PIECE", 100)
    for seed in range(4):
        text = long_text(seed, alphabet)
        (tmp_path / "text.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
        read, encoding = pieces.read_and_tell(tmp_path / "text.txt", "auto")
        assert encoding.startswith("utf-8")
        assert list(read()) == list(read()), "the second reading begins anew"
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        assert "".join(read()) == text
        tokenizer = tokenization.learn(kind, [text], 300, lowercase=True)
        assert tokenization.learn(kind, read(), 300, lowercase=True) == tokenizer
        numbers = [number for piece in read() for number in tokenizer.encode(piece)]
        assert numbers == tokenizer.encode(text)


@pytest.mark.parametrize("most", [100, 1 << 22])
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_of_all_systems_are_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, most: int
) -> None:
    monkeypatch.setattr(pieces, "PIECE", most)
    (tmp_path / "text.txt").write_bytes(f"A line, and its end.{end}".encode() * 100)
    assert "".join(pieces.read_and_tell(tmp_path / "text.txt", "auto")[0]()) == "A line, and its end.\n" * 100


def test_a_long_text_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 100)
    (tmp_path / "text.txt").write_text("A line, and its end.\n" * 100, encoding="utf-8")
    lengths = [len(piece) for piece in pieces.read_and_tell(tmp_path / "text.txt", "utf-8")[0]()]
    assert len(lengths) >= 10
    assert max(lengths) <= 200


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"a line\n" * 50 + b"\0", "line 51: a NUL byte"), (b"a line\n" * 50 + "中".encode()[:2], "line 51: byte 0xe4")],
)
def test_a_long_text_that_is_none_is_told_as_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    monkeypatch.setattr(pieces, "PIECE", 100)
    (tmp_path / "text.txt").write_bytes(content)
    with pytest.raises(ZooError, match=words):
        pieces.read_and_tell(tmp_path / "text.txt", "utf-8")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_a_long_text_in_another_encoding_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr(pieces, "PIECE", 100)
    text = "na\u00efve, and so on\n" * 50
    (tmp_path / "text.txt").write_bytes(text.encode(encoding))
    read, recognized = pieces.read_and_tell(tmp_path / "text.txt", "auto")
    assert ("".join(read()), recognized) == (text, encoding)
